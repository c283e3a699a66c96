// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/ordered.h"

#include <algorithm>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/site.h"
#include "passes/match.h"
#include "passes/match_gelu.h"

namespace octet {

namespace {

constexpr int64_t kMultiple = 4; ///< of rows and columns, for cublasLt's products of int8

constexpr qdq::Reading kOneScale{.most = qdq::Reading::Most::kTensor,
                                 .usable_scales = true,
                                 .written_zero = false,
                                 .f32_scale = true,
                                 .microsoft = false};
constexpr qdq::Reading kScaleOfColumns{.most = qdq::Reading::Most::kAxis,
                                       .usable_scales = true,
                                       .written_zero = false,
                                       .f32_scale = true,
                                       .known_axis = true,
                                       .microsoft = false};

/// Empty: the Q or DQ is one that the optimizer takes.
std::string not_plain(const Graph& graph, const Node& node) {
  const auto site = qdq::read(graph, node, kOneScale);
  const std::string name = name_of(graph, node);
  if (!site) return fmt::format("\"{}\": {}", name, qdq::text(site.why()));
  if (site->grid.codes != DType::kInt8 || !site->grid.is_symmetric())
    return fmt::format("\"{}\" has {} codes with zero point {}: the kernels take int8 with 0", name,
                       octet::name(site->grid.codes), site->grid.one_zero());
  return {};
}

std::optional<int64_t> size_of(const TypeInfo& type, int64_t axis) {
  return type.has_rank() ? (*type.shape)[static_cast<size_t>(axis)].maybe_value() : std::nullopt;
}

template <class T>
Matched<T> no(std::string why) {
  return {std::nullopt, std::move(why)};
}

} // namespace

std::vector<const Node*> OrderedProduct::nodes() const {
  std::vector<const Node*> out = {product, biased};
  if (sum != nullptr) out.push_back(sum);
  return out;
}

const Node* OrderedLayers::sole_reader(ValueId value, std::string_view op) const {
  const NodeId next = uses_.single_consumer(value);
  return next.valid() && graph_.node(next).is(op) ? &graph_.node(next) : nullptr;
}

bool OrderedLayers::is_float(ValueId value) const {
  return value.valid() && graph_.value(value).type.type == DType::kFloat32;
}

OrderedInput OrderedLayers::read(ValueId value, std::string& why) const {
  const Node* maker = value.valid() ? graph_.producer(value) : nullptr;
  const bool coded = maker != nullptr && is_dequantize(*maker);
  if (!is_float(value)) {
    why = "what it reads is not f32";
    return {};
  }
  if (between_ == Between::kNothing) {
    if (coded) why = "what it reads is in codes already";
    if (graph_.constant(value) != nullptr) why = "what it reads is constant";
    return coded || !why.empty() ? OrderedInput{} : OrderedInput{value};
  }
  if (!coded) {
    why = fmt::format("\"{}\" does not come through DQ", graph_.value(value).name);
    return {};
  }
  why = not_plain(graph_, *maker);
  if (!why.empty()) return {};
  const Node* quantize = graph_.producer(maker->input(0));
  const bool made_here = quantize != nullptr && is_quantize(*quantize);
  return {made_here ? quantize->input(0) : ValueId{}, maker};
}

OrderedOutput OrderedLayers::written(ValueId value, std::string& why) const {
  if (between_ == Between::kNothing) return {value};
  const Node* quantize = sole_reader(value, "QuantizeLinear");
  if (quantize == nullptr) {
    why = fmt::format("no Q alone reads \"{}\"", graph_.value(value).name);
    return {};
  }
  why = not_plain(graph_, *quantize);
  return why.empty() ? OrderedOutput{value, quantize} : OrderedOutput{};
}

OrderedInput OrderedLayers::weight(const Node& product, std::string& why) const {
  const ValueId value = product.input(1);
  const Node* dequantize = nullptr;
  const Tensor* w = graph_.constant(value);
  if (between_ == Between::kCodes) {
    dequantize = made_by(graph_, value, "DequantizeLinear");
    const auto site = dequantize != nullptr ? qdq::read(graph_, *dequantize, kScaleOfColumns)
                                            : qdq::Found<qdq::Site>(qdq::WhyNot::kNotQdq);
    w = site ? graph_.constant(site->codes) : nullptr;
    if (w == nullptr || w->type() != DType::kInt8 || !site->grid.is_symmetric() ||
        (!site->grid.per_tensor() && site->grid.axis != 1) ||
        !graph_.value(value).type.has_rank() || uses_.count(value) != 1 ||
        uses_.count(site->codes) != 1) {
      why = "its weight is no int8 constant of its own with zero point 0 and a scale for the "
            "tensor or each column";
      return {};
    }
  }
  if (w == nullptr || w->rank() != 2 ||
      (between_ == Between::kNothing && w->type() != DType::kFloat32)) {
    why = "its weight is no constant matrix of f32";
    return {};
  }
  if (between_ == Between::kNothing && uses_.count(value) != 1) {
    why = "something else reads its weight too, which the optimizer would turn twice";
    return {};
  }
  if (w->dim(0) % kMultiple != 0 || w->dim(1) % kMultiple != 0) {
    why = fmt::format("its weight is {} by {}: cublasLt multiplies int8 in multiples of {}",
                      w->dim(0), w->dim(1), kMultiple);
    return {};
  }
  return {value, dequantize};
}

ValueId OrderedLayers::bias(const Node& biased, ValueId product, const OrderedInput& weight) const {
  const ValueId other = other_than(biased, product);
  const Tensor* b = other.valid() ? graph_.constant(other) : nullptr;
  const TypeInfo& w = graph_.value(weight.real).type;
  const bool fits =
      b != nullptr && b->type() == DType::kFloat32 && b->rank() == 1 && size_of(w, 1) == b->count();
  return fits ? other : ValueId{};
}

Matched<OrderedProduct> OrderedLayers::without_x(const Node& matmul) const {
  using P = OrderedProduct;
  OrderedProduct out;
  std::string why;
  out.product = &matmul;
  out.weight = weight(matmul, why);
  if (!why.empty()) return no<P>(why);
  out.biased = sole_reader(matmul.output(0), "Add");
  if (out.biased == nullptr) return no<P>("no Add of a bias alone reads it");
  out.bias = bias(*out.biased, matmul.output(0), out.weight);
  if (!out.bias.valid()) return no<P>("what is added to it is no constant f32 vector of a bias");
  ValueId y = out.biased->output(0);
  const Node* next = sole_reader(y, "Add");
  const bool residual = next != nullptr && next->input(0) == y && next->input(1) != y &&
                        graph_.constant(next->input(1)) == nullptr;
  const bool same = residual && same_type(graph_.value(y).type, graph_.value(next->input(1)).type);
  if (between_ == Between::kCodes ? next != nullptr : same) {
    if (!same) return no<P>("what is added behind its bias is no other value of its shape");
    out.sum = next;
    out.residual = read(next->input(1), why);
    if (!why.empty()) return no<P>("the sum behind it: " + why);
    y = next->output(0);
  }
  out.y = written(y, why);
  if (!why.empty()) return no<P>(why);
  return {out, {}};
}

Matched<OrderedProduct> OrderedLayers::product(const Node& matmul) const {
  using P = OrderedProduct;
  if (!matmul.is("MatMul")) return no<P>("it is no MatMul");
  const Node* maker = graph_.producer(matmul.input(1));
  if (graph_.constant(matmul.input(1)) == nullptr &&
      (between_ == Between::kNothing || maker == nullptr || !is_dequantize(*maker)))
    return no<P>("it multiplies two activations, which QOrderedAttention alone does");
  Matched<P> out = without_x(matmul);
  if (!out) return out;
  std::string why;
  out.layer->x = read(matmul.input(0), why);
  if (!why.empty()) return no<P>(why);
  const TypeInfo& x = graph_.value(matmul.input(0)).type;
  if (!x.has_rank() || x.rank() < 2 || x.rank() > 3)
    return no<P>(fmt::format("it multiplies {}: the kernel takes 2 or 3 dimensions", x.text()));
  return out;
}

Matched<OrderedGelu> OrderedLayers::gelu(const Node& node) const {
  using G = OrderedGelu;
  OrderedGelu out;
  std::string why;
  ValueId x = node.input(0), y = node.output(0);
  if (node.is("Erf")) {
    const KnownElements none;
    const auto chain = match_gelu({graph_, uses_, none}, node);
    if (!chain) return no<G>("it is no Gelu");
    x = chain->x;
    y = chain->y;
    std::vector<ValueId> open = {y};
    while (!open.empty()) {
      const Node* maker = graph_.producer(open.back());
      open.pop_back();
      if (maker == nullptr || std::count(out.nodes.begin(), out.nodes.end(), maker) > 0) continue;
      out.nodes.push_back(maker);
      for (const ValueId in : maker->inputs)
        if (in != x && graph_.constant(in) == nullptr) open.push_back(in);
    }
  } else if (node.is("Gelu", "com.microsoft") ||
             (node.is("Gelu") && node.attr_string("approximate", "none") == "none")) {
    out.nodes = {&node};
  } else {
    return no<G>("it is no Gelu by Erf");
  }
  out.x = read(x, why);
  if (!why.empty()) return no<G>(why);
  if (between_ == Between::kCodes)
    for (const Uses::Use& use : uses_.of(x))
      if (std::count(out.nodes.begin(), out.nodes.end(), &graph_.node(use.node)) == 0)
        return no<G>("something else reads its DQ too");
  out.y = written(y, why);
  if (!why.empty()) return no<G>(why);
  return {out, {}};
}

std::string OrderedLayers::why_not(const Node& node) const {
  const bool coded = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
    const Node* maker = in.valid() ? graph_.producer(in) : nullptr;
    return maker != nullptr && is_dequantize(*maker);
  });
  if (node.is("Softmax")) {
    const Node* before = graph_.producer(node.input(0));
    const bool masked = before != nullptr && before->is("Add");
    return masked ? attention(node).why : std::string();
  }
  if (!coded) return {};
  if (node.is("MatMul") && graph_.constant(node.input(0)) == nullptr) return product(node).why;
  if (node.is("LayerNormalization")) return norm(node).why;
  if (node.op_type == "Gelu") return gelu(node).why;
  return {};
}

Matched<OrderedNorm> OrderedLayers::norm(const Node& node) const {
  using N = OrderedNorm;
  if (!node.is("LayerNormalization")) return no<N>("it is no LayerNormalization");
  OrderedNorm out;
  std::string why;
  out.norm = &node;
  const TypeInfo& x = graph_.value(node.input(0)).type;
  const int64_t axis = node.attr_int("axis", -1);
  if (!x.has_rank() || (axis != -1 && axis != x.rank() - 1))
    return no<N>("it normalizes other axes than the last: the kernel has that one alone");
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const Tensor* vector = node.input(i).valid() ? graph_.constant(node.input(i)) : nullptr;
    if (vector == nullptr || vector->rank() != 1 || vector->type() != DType::kFloat32)
      return no<N>("its gain and bias are not both constant vectors of f32");
  }
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i].valid() && uses_.count(node.outputs[i]) > 0)
      return no<N>("its mean or deviation is read too");
  out.x = read(node.input(0), why);
  if (!why.empty()) return no<N>(why);
  out.y = written(node.output(0), why);
  if (!why.empty()) return no<N>(why);
  return {out, {}};
}

} // namespace octet
