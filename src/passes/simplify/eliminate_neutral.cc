// SPDX-License-Identifier: Apache-2.0
//   x + 0, x - 0, x * 1, x / 1, x ^ 1, x and true, x or false    =>    x
//   Where(true, x, z), Where(false, z, x)                        =>    x
// Exact, but for a float x + 0 (and 0 - with -0), which makes 0 of -0: that is called rounding.
// Kept where broadcasting makes the result larger than x. A float constant of more than one element
// may be a parameter which training has yet to move: those are a rule of their own.
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

struct Neutral {
  std::string_view op_type;
  double element;
  bool either_side;
};
constexpr Neutral kNeutrals[] = {
    {"Add", 0, true},  {"Sub", 0, false}, {"Mul", 1, true}, {"Div", 1, false},
    {"Pow", 1, false}, {"And", 1, true},  {"Or", 0, true},
};

struct Kept {
  ValueId x;
  Exactness exactness = Exactness::kExact;
};

/// Float constants of more than one element.
enum class Parameters { kKeep, kEliminate };

std::optional<Kept> kept_operand(const Graph& g, const Node& node, Parameters parameters) {
  if (node.is("Where") && node.inputs.size() == 3) {
    const Tensor* condition = g.constant(node.input(0));
    if (condition == nullptr) return std::nullopt;
    if (all_equal(*condition, 1)) return Kept{node.input(1)};
    if (all_equal(*condition, 0)) return Kept{node.input(2)};
    return std::nullopt;
  }
  for (const Neutral& n : kNeutrals) {
    if (!node.is(n.op_type) || node.inputs.size() != 2) continue;
    for (const size_t side : {size_t{1}, size_t{0}}) {
      if (side == 0 && !n.either_side) continue;
      const Tensor* constant = g.constant(node.inputs[side]);
      if (constant == nullptr || !all_equal(*constant, n.element)) continue;
      const bool parameter = is_float(constant->type()) && constant->count() > 1;
      if (parameter && parameters == Parameters::kKeep) continue;
      const bool signed_zero = n.op_type == "Add" && is_float(constant->type());
      return Kept{node.inputs[1 - side], signed_zero ? Exactness::kRounding : Exactness::kExact};
    }
  }
  return std::nullopt;
}

std::optional<Patch>
eliminate(const RuleContext& context, const Node& node, Parameters parameters) {
  const Graph& g = context.graph;
  const auto kept = kept_operand(g, node, parameters);
  if (!kept || !kept->x.valid()) return std::nullopt;
  const ValueId y = node.output(0);
  if (!same_type(g.value(kept->x).type, g.value(y).type) || !can_replace(g, y, kept->x))
    return std::nullopt;
  Patch patch(g,
              kept->exactness == Exactness::kExact ? node.op_type + " with its neutral element"
                                                   : "adding 0 changes nothing but the sign of -0",
              kept->exactness);
  patch.replace(y, kept->x);
  return patch;
}

} // namespace

std::optional<Patch> eliminate_neutral(const RuleContext& context, const Node& node) {
  return eliminate(context, node, Parameters::kKeep);
}

std::optional<Patch> eliminate_neutral_parameters(const RuleContext& context, const Node& node) {
  return eliminate(context, node, Parameters::kEliminate);
}

} // namespace octet
