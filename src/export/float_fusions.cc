// SPDX-License-Identifier: Apache-2.0
//   MatMulIntegerToFloat ─▶ Add(bias)                 =>   MatMulIntegerToFloat with a bias
//   [Add(bias)] ─▶ Gelu, or its chain                 =>   BiasGelu | Gelu | FastGelu
// all of com.microsoft. Rounding: equal in real arithmetic. A residual sum and its normalization
// stay two operators: SkipLayerNormalization takes longer than both on the CPU (docs/export.md).
#include "export/coded_product.h"
#include "passes/match.h"
#include "passes/match_gelu.h"

namespace octet {

namespace {

struct Biased {
  ValueId x, bias;
  const Node* add = nullptr;
};
/// x + bias, where the bias is a constant vector along the last axis of x.
std::optional<Biased> biased(const Graph& g, ValueId sum) {
  const Node* add = made_by(g, sum, "Add");
  if (add == nullptr) return std::nullopt;
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
  const TypeInfo& x = g.value(gelu.x).type;
  // ONNX Runtime's FastGelu refuses scalars.
  if (x.type != DType::kFloat32 || !x.has_rank() || x.rank() == 0) return std::nullopt;
  Patch patch(g, "one operator there", Exactness::kRounding);
  patch.from(node).import_opset(kMicrosoft, 1);
  std::vector<ValueId> inputs = {gelu.x};
  const auto sum = biased(g, gelu.x); // the chain reads it several times
  if (sum) {
    patch.from(*sum->add);
    inputs = {sum->x, sum->bias};
  }
  const char* type = gelu.tanh ? "FastGelu" : sum ? "BiasGelu" : "Gelu";
  patch.replace(gelu.y, patch.emit(type, std::move(inputs), {}, node.name, kMicrosoft));
  return patch;
}

} // namespace octet
