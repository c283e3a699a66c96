// SPDX-License-Identifier: Apache-2.0
//   MatMul(Mul(q, a), Mul(k, b)) ─▶ y      =>      MatMul(Mul(q, a b), k) ─▶ y
// with numbers a and b: scaled dot product attention as torch exports it, the root of the scale on
// both sides. Exact when both are powers of two, else rounding.
#include <cmath>

#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

struct Scaled {
  ValueId x;
  double factor = 1;
};

std::optional<Scaled> scaled(const RuleContext& context, ValueId id) {
  const Graph& g = context.graph;
  const Node* mul = made_by(g, id, "Mul");
  if (mul == nullptr || mul->inputs.size() != 2 || context.uses.count(id) != 1) return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const auto factor = number(g, mul->inputs[side]);
    // A factor of higher rank would raise the rank of the product.
    const TypeInfo& x = g.value(mul->inputs[1 - side]).type;
    if (factor && x.has_rank() && g.constant(mul->inputs[side])->rank() <= x.rank())
      return Scaled{mul->inputs[1 - side], *factor};
  }
  return std::nullopt;
}

bool is_power_of_two(double v) {
  int exponent = 0;
  return v > 0 && std::frexp(v, &exponent) == 0.5;
}

} // namespace

std::optional<Patch> merge_attention_scales(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MatMul") || node.inputs.size() != 2) return std::nullopt;
  const auto a = scaled(context, node.inputs[0]), b = scaled(context, node.inputs[1]);
  if (!a || !b) return std::nullopt;
  const DType type = g.value(a->x).type.type;
  const Result<Tensor> factor =
      Tensor::from_doubles(type, {}, std::vector<double>{a->factor * b->factor});
  if (!factor.ok()) return std::nullopt;
  const bool exact = is_power_of_two(a->factor) && is_power_of_two(b->factor);
  Patch patch(g, "the scale of attention stands on one side",
              exact ? Exactness::kExact : Exactness::kRounding);
  patch.from(*g.producer(node.inputs[0])).from(*g.producer(node.inputs[1]));
  const ValueId scale = patch.constant(node.name + "/scale", *factor);
  const ValueId q = patch.emit("Mul", {a->x, scale}, {}, g.producer(node.inputs[0])->name);
  patch.set_input(node.id, 0, q);
  patch.set_input(node.id, 1, b->x);
  return patch;
}

} // namespace octet
