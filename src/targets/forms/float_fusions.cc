// SPDX-License-Identifier: Apache-2.0
//   MatMulIntegerToFloat ─▶ Add(bias)                 =>   MatMulIntegerToFloat with a bias
//   [Add(bias)] ─▶ Add(skip) ─▶ LayerNormalization    =>   SkipLayerNormalization
//   [Add(bias)] ─▶ Gelu, or its chain                 =>   BiasGelu | Gelu | FastGelu
// all of com.microsoft. Rounding: equal in real arithmetic.
#include "passes/chains.h"
#include "passes/match.h"
#include "targets/forms/forms.h"

namespace octet {

namespace {

constexpr const char* kMicrosoft = "com.microsoft";

struct Biased {
  ValueId x, bias;
  const Node* add = nullptr;
};
/// x + bias, where the bias is a constant vector along the last axis of x and nothing else reads
/// the sum.
std::optional<Biased> biased(const RuleContext& context, ValueId sum) {
  const Graph& g = context.graph;
  const Node* add = made_by(g, sum, "Add");
  if (add == nullptr || !context.uses.single_consumer(sum).valid()) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Tensor* bias = g.constant(add->input(i));
    const ValueId x = add->input(1 - i);
    const TypeInfo& type = g.value(x).type;
    if (bias == nullptr || bias->rank() != 1 || !type.has_rank() || type.rank() < 2) continue;
    const auto last = type.shape->back().maybe_value();
    if (last && *last == bias->count() && bias->type() == type.type)
      return Biased{x, add->input(i), add};
  }
  return std::nullopt;
}

/// Both summands of the one shape that a residual sum has.
bool is_residual(const Graph& g, const Node& add) {
  const TypeInfo &a = g.value(add.input(0)).type, &b = g.value(add.input(1)).type;
  return g.constant(add.input(0)) == nullptr && g.constant(add.input(1)) == nullptr &&
         a.has_rank() && a.rank() == 3 && same_type(a, b);
}

} // namespace

std::optional<Patch> add_matmul_bias(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Add")) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Node* product = g.producer(node.input(i));
    const Tensor* bias = g.constant(node.input(1 - i));
    if (product == nullptr || !product->is("MatMulIntegerToFloat", kMicrosoft) ||
        product->input(6).valid() || bias == nullptr || bias->rank() != 1 ||
        bias->type() != DType::kFloat32 ||
        !context.uses.single_consumer(product->output(0)).valid())
      continue;
    const TypeInfo& type = g.value(product->output(0)).type;
    if (!type.has_rank() || type.shape->back().maybe_value() != bias->count()) continue;
    Patch patch(g, "it adds its bias itself", Exactness::kRounding);
    patch.from(*product).from(node).import_opset(kMicrosoft, 1);
    std::vector<ValueId> inputs = product->inputs;
    inputs.resize(6);
    inputs.push_back(node.input(1 - i));
    patch.replace(node.output(0), patch.emit("MatMulIntegerToFloat", std::move(inputs),
                                             product->attributes, product->name, kMicrosoft));
    return patch;
  }
  return std::nullopt;
}

std::optional<Patch> skip_layer_norm(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("LayerNormalization") || node.outputs.size() != 1) return std::nullopt;
  const TypeInfo& type = g.value(node.input(0)).type;
  const int64_t axis = node.attr_int("axis", -1);
  const Node* add = made_by(g, node.input(0), "Add");
  if (add == nullptr || !type.has_rank() || (axis != -1 && axis != type.rank() - 1) ||
      !context.uses.single_consumer(node.input(0)).valid() || !is_residual(g, *add) ||
      !node.input(2).valid())
    return std::nullopt;
  Patch patch(g, "a sum and its normalization", Exactness::kRounding);
  patch.from(*add).from(node).import_opset(kMicrosoft, 1);
  std::vector<ValueId> inputs = {add->input(0), add->input(1), node.input(1), node.input(2)};
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const auto with_bias = biased(context, inputs[i]);
    if (!with_bias) continue;
    patch.from(*with_bias->add);
    inputs[i] = with_bias->x;
    inputs.push_back(with_bias->bias);
    break;
  }
  Attributes attributes;
  attributes["epsilon"].value = node.attr_float("epsilon", 1e-5F);
  patch.replace(node.output(0), patch.emit("SkipLayerNormalization", std::move(inputs),
                                           std::move(attributes), node.name, kMicrosoft));
  return patch;
}

std::optional<Patch> bias_gelu(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  GeluChain gelu;
  if (node.is("Gelu")) {
    gelu = {node.input(0), node.output(0), node.attr_string("approximate", "none") == "tanh"};
  } else if (const auto chain = match_gelu(context, node)) {
    gelu = *chain;
  } else {
    return std::nullopt;
  }
  if (g.value(gelu.x).type.type != DType::kFloat32) return std::nullopt;
  Patch patch(g, "one operator there", Exactness::kRounding);
  patch.from(node).import_opset(kMicrosoft, 1);
  std::vector<ValueId> inputs = {gelu.x};
  const auto sum = biased(context, gelu.x);
  if (sum) {
    patch.from(*sum->add);
    inputs = {sum->x, sum->bias};
  }
  const char* type = gelu.tanh ? "FastGelu" : sum ? "BiasGelu" : "Gelu";
  patch.replace(gelu.y, patch.emit(type, std::move(inputs), {}, node.name, kMicrosoft));
  return patch;
}

} // namespace octet
