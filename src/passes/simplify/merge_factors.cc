// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Mul(number) ─▶ Mul(constant) ─▶ y      =>      x ─▶ Mul(number * constant) ─▶ y
//        (also Add)
// Rounding. Wanted: nobody else reads the first result, and the constants are small.
#include <cmath>

#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

constexpr int64_t kMaxFactorElements = int64_t{1} << 20;

/// The constant operand of a node of two; 2: there is none, or both are.
size_t constant_side(const Graph& g, const Node& node) {
  if (node.inputs.size() != 2) return 2;
  const bool first = g.constant(node.inputs[0]) != nullptr;
  const bool second = g.constant(node.inputs[1]) != nullptr;
  return first == second ? 2 : second ? 1 : 0;
}

} // namespace

std::optional<Patch> merge_factors(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool product = node.is("Mul");
  if (!product && !node.is("Add")) return std::nullopt;
  const size_t side = constant_side(g, node);
  if (side == 2) return std::nullopt;
  const ValueId middle = node.inputs[1 - side];
  const Node* before = made_by(g, middle, node.op_type);
  if (before == nullptr || context.uses.single_consumer(middle) != node.id) return std::nullopt;
  const size_t number_side = constant_side(g, *before);
  const auto first = number_side == 2 ? std::nullopt : number(g, before->inputs[number_side]);
  const Tensor& constant = *g.constant(node.inputs[side]);
  if (!first || !is_float(constant.type()) || constant.count() > kMaxFactorElements)
    return std::nullopt;
  if (!same_type(g.value(before->inputs[1 - number_side]).type, g.value(middle).type))
    return std::nullopt;
  auto values = constant.to_doubles();
  if (!values.ok()) return std::nullopt;
  for (double& v : *values) {
    v = product ? v * *first : v + *first;
    if (!std::isfinite(v)) return std::nullopt;
  }
  Result<Tensor> merged = Tensor::from_doubles(constant.type(), constant.shape(), *values);
  if (!merged.ok()) return std::nullopt;
  Patch patch(g, product ? "two constant factors are one" : "two constant terms are one",
              Exactness::kRounding);
  patch.from(*before).from(node);
  const ValueId c = patch.constant(g.value(node.output(0)).name + "/constant", std::move(*merged));
  patch.replace(node.output(0),
                patch.emit(node.op_type, {before->inputs[1 - number_side], c}, {}, node.name));
  return patch;
}

} // namespace octet
