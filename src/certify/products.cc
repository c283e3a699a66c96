// SPDX-License-Identifier: Apache-2.0
#include "certify/products.h"

#include <algorithm>

#include "certify/code_bounds.h"
#include "certify/computed_factors.h"
#include "certify/unexamined.h"
#include "core/format.h"
#include "graph/domains.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/native/recurrent.h"
#include "ops/op.h"
#include "ops/qdq/site.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/tables.h"

namespace octet {

namespace {

constexpr int kNoInput = -1;

/// Inputs of an operator on codes, by index.
struct ProductForm {
  std::string_view op, domain;
  int a, a_zero, b, b_scale, b_zero, bias;
  bool dynamic = false, rows = false;
};
constexpr ProductForm kProductForms[] = {
    {"QLinearConv", "", 0, 2, 3, 4, 5, 8},
    {"QLinearMatMul", "", 0, 2, 3, 4, 5, kNoInput},
    {"ConvInteger", "", 0, 2, 1, kNoInput, 3, kNoInput},
    {"MatMulInteger", "", 0, 2, 1, kNoInput, 3, kNoInput},
    {"MatMulIntegerToFloat", kMicrosoft, 0, 4, 1, 3, 5, kNoInput},
    {"QGemm", kMicrosoft, 0, 2, 3, 4, 5, 6},
    {"DynamicQuantizeMatMul", kMicrosoft, 0, kNoInput, 1, 2, 3, kNoInput, true},
    {"QAttention", kMicrosoft, 0, 6, 1, 4, 7, kNoInput},
    {"QDynamicGemm", kNative, 0, kNoInput, 1, 2, kNoInput, kNoInput, true, true},
};

ValueId input_at(const Node& node, int index) {
  return index < 0 ? ValueId{} : node.input(static_cast<size_t>(index));
}

InputAt place_of(const Node& node, int index) {
  if (!input_at(node, index).valid()) return {};
  return {node.id, static_cast<size_t>(index)};
}

/// The DequantizeLinear behind a value that has only moved since.
const Node* dequantizer_of(const Graph& graph, ValueId value) {
  for (int depth = 0; depth < 16 && value.valid(); ++depth) {
    const Node* node = graph.producer(value);
    if (node == nullptr || is_dequantize(*node)) return node;
    if (!moves_values(*node)) return nullptr;
    value = node->input(0);
  }
  return nullptr;
}

/// What became of a look at a node.
struct Look {
  std::optional<StoredProduct> product;
  std::string why; ///< it could not be examined; empty, without a product: there is nothing in it
};

Look unexaminable(std::string why) {
  return {std::nullopt, std::move(why)};
}

/// Codes, zero point and bounds of the activation; false where they have no 8 bits.
bool read_activation(const Graph& graph, ValueId codes, ValueId zero, StoredProduct& out) {
  const DType type = graph.value(codes).type.type;
  if (!is_byte(type)) return false;
  out.activation = codes;
  out.offset = type == DType::kInt8 ? 128 : 0;
  out.zero = out.offset;
  const Tensor* constant = zero.valid() ? graph.constant(zero) : nullptr;
  if (constant != nullptr && constant->count() > 0)
    out.zero = static_cast<int32_t>(constant->at(0)) + out.offset;
  else
    out.computed_zero = zero;
  const CodeSpan bounds = code_bounds(graph, codes, out.offset);
  // Padding holds the zero point.
  out.lowest = out.convolution ? std::min(bounds.lowest, out.zero) : bounds.lowest;
  out.highest = out.convolution ? std::max(bounds.highest, out.zero) : bounds.highest;
  if (out.convolution && out.computed_zero.valid()) out.lowest = 0, out.highest = 255;
  return true;
}

/// Of 4 bits and fewer two products fit into 16 bits whatever they are: 2 · 255 · 15 < 2^15.
bool never_saturates(DType weights) {
  return is_integer(weights) && bits(weights) <= 4;
}

/// Whether no runtime multiplies such codes as 8-bit integers: FP8 and FP4, and integers of 16 bits.
bool no_bytes(DType codes) {
  return is_float(codes) || bits(codes) > 8;
}

/// The weights' side. `product` knows the activation's type by then.
Look read_weights(const Graph& graph, const Node& node, ValueId zero, StoredProduct product) {
  const ValueId value = graph.node(product.codes.node).input(product.codes.input);
  const auto codes = constant_value(graph, value);
  if (!codes) {
    const DType type = graph.value(value).type.type;
    // Two activations: uint8 there whatever they were, unless the file says that they differ.
    if (type == DType::kUint8 || (type == DType::kInt8 && product.offset != 0)) return {};
    if (type == DType::kInt8) return unexaminable("both factors are computed, uint8 and int8");
    if (no_bytes(type)) return {};
    return unexaminable("its second factor is computed and has no 8 bits");
  }
  if (codes->type() == DType::kUint8) return {}; // both sides uint8: exact
  if (no_bytes(codes->type()) || never_saturates(codes->type())) return {};
  if (codes->type() != DType::kInt8)
    return unexaminable(fmt::format("its weights are {}", octet::name(codes->type())));
  const auto zeros = zero.valid() ? constant_value(graph, zero) : std::nullopt;
  product.weight_zero = zero.valid() && !zeros;
  for (int64_t i = 0; zeros && i < zeros->count(); ++i)
    product.weight_zero = product.weight_zero || zeros->at(i) != 0;
  product.stored = *codes;
  if (std::string why = read_order(node, product.stored.shape(), product); !why.empty())
    return unexaminable(std::move(why));
  const auto all = product.stored.data<int8_t>();
  product.weights.resize(static_cast<size_t>(product.channels * product.terms));
  for (int64_t o = 0; o < product.channels; ++o)
    for (int64_t k = 0; k < product.terms; ++k)
      product.weights[static_cast<size_t>(o * product.terms + k)] =
          all[static_cast<size_t>(weight_index(product, o, k))];
  return {std::move(product), ""};
}

Look look_at_form(const Graph& graph, const Node& node, const ProductForm& form) {
  StoredProduct product;
  product.node = node.id;
  product.convolution = form.op == "QLinearConv" || form.op == "ConvInteger";
  product.rows = form.rows;
  product.codes = place_of(node, form.b);
  product.scale = place_of(node, form.b_scale);
  product.bias = place_of(node, form.bias);
  product.dynamic = form.dynamic;
  if (form.op == "QAttention") product.in_float = "the products around its softmax";
  if (form.dynamic)
    product.activation = node.input(0);
  else if (!read_activation(graph, input_at(node, form.a), input_at(node, form.a_zero), product))
    return unexaminable("the type of its activation is not known");
  if (!form.dynamic && graph.constant(product.activation) != nullptr)
    return unexaminable("its weights are the first factor");
  return read_weights(graph, node, input_at(node, form.b_zero), std::move(product));
}

/// A product that the file leaves in float, and ONNX Runtime does not.
Look look_at_float(const Graph& graph, const Uses& uses, const Node& node) {
  const TargetDef& newest = onnxruntime_targets().front();
  const auto rounded = onnxruntime_rounded_weight(graph, uses, newest, node);
  if (!rounded || rounded->said.empty()) return {};
  return unexaminable(
      fmt::format("its weight is float, and ONNX Runtime rounds it to int8 and "
                  "computes {}; octet repair --target onnxruntime keeps it in float",
                  rounded->said));
}

Look look_at_dequantized(const Graph& graph, const OnnxRuntimeCodes& codes, const Node& node) {
  const Node* x = dequantizer_of(graph, node.input(0));
  const Node* w = dequantizer_of(graph, node.input(1));
  if (x != nullptr && w == nullptr) return look_at_float(graph, codes.uses(), node);
  if (x == nullptr || w == nullptr) return {}; // computed in float
  StoredProduct product;
  product.node = node.id;
  product.convolution = node.is("Conv");
  if (native::is_recurrent(node)) product.in_float = "the products of its states and R";
  product.codes = {w->id, 0};
  product.scale = {w->id, 1};
  const DType type = graph.value(x->input(0)).type.type;
  if (no_bytes(type)) return {};
  const qdq::Written says = qdq::written(graph, *x);
  if (!read_activation(graph, says.codes, says.zero, product))
    return unexaminable(fmt::format("its activation is {}", octet::name(type)));
  const Tensor* scale = says.scales;
  if (scale == nullptr || scale->count() != 1)
    return unexaminable("its activation has no scale or several");
  if (constant_value(graph, x->input(0))) {
    if (constant_value(graph, w->input(0))) return {}; // folded
    return unexaminable("its weights are the first factor");
  }
  if (type == DType::kInt8 && graph.value(w->input(0)).type.type == DType::kInt8 &&
      !constant_value(graph, w->input(0)) && may_mix_signs(graph, codes, node, *w))
    return unexaminable("both factors are computed, and of their int8 codes ONNX Runtime may make "
                        "only the first's uint8");
  product.x_scale = scale->at(0);
  if (x->output(0) != node.input(0)) {
    product.activation = node.input(0);
    product.requantize = x->id;
  }
  Look out = read_weights(graph, node, qdq::written(graph, *w).zero, std::move(product));
  if (out.product && w->output(0) != node.input(1))
    return unexaminable("its weights are moved after they were dequantized");
  const Node* bias = native::is_recurrent(node) ? nullptr : graph.producer(node.input(2)); // 2: R
  if (out.product && bias != nullptr && is_dequantize(*bias)) out.product->bias = {bias->id, 0};
  return out;
}

/// Operators of floats that a runtime might make integer ones of, given Q/DQ.
bool may_become_integer(const Graph& graph, const Node& node) {
  const Facts facts = facts_of(node);
  const bool multiplies = (facts.products && !facts.on_codes) || node.is("FusedConv", kMicrosoft) ||
                          node.is("FusedGemm", kMicrosoft);
  if (!multiplies) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    const Node* dq = dequantizer_of(graph, id);
    return dq != nullptr && graph.value(dq->input(0)).type.type == DType::kInt8;
  });
}

Look look_at(const Graph& graph, const OnnxRuntimeCodes& codes, const Node& node) {
  for (const ProductForm& form : kProductForms)
    if (node.is(form.op, form.domain)) return look_at_form(graph, node, form);
  if (node.is("Conv") || node.is("Gemm") || node.is("MatMul") || native::is_recurrent(node))
    return look_at_dequantized(graph, codes, node);
  if (may_become_integer(graph, node)) return unexaminable("it reads dequantized int8 codes");
  if (auto why = may_multiply_codes(graph, node)) return unexaminable(std::move(*why));
  return {};
}

} // namespace

Products find_products(const Graph& graph) {
  Products out;
  const OnnxRuntimeCodes codes(graph);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    Look look = look_at(graph, codes, node);
    if (look.product) out.found.push_back(std::move(*look.product));
    if (!look.why.empty())
      out.unexamined.push_back({name_of(graph, node), node.op_type, std::move(look.why)});
  }
  return out;
}

std::span<const int8_t> channel_weights(const StoredProduct& product, int64_t channel) {
  return std::span(product.weights)
      .subspan(static_cast<size_t>(channel * product.terms), static_cast<size_t>(product.terms));
}

} // namespace octet
