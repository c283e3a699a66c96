// SPDX-License-Identifier: Apache-2.0
//   Min(x, number)    =>    Clip(x, ., number)        Max(x, 0)    =>    Relu(x)
//   Max(x, number)    =>    Clip(x, number, .)
// so that products clamp by their epilogues. Rounding: of zeros of both signs another may be taken.
#include <cmath>

#include "passes/emit.h"
#include "passes/lower/chains.h"
#include "passes/match.h"

namespace octet::lowering {

std::optional<Patch> clip_by_number(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const bool least = node.is("Max");
  if ((!least && !node.is("Min")) || node.inputs.size() != 2) return std::nullopt;
  const TypeInfo& y = g.value(node.output(0)).type;
  if (y.type != DType::kFloat32) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const std::optional<double> bound = number(g, node.input(side));
    const ValueId x = node.input(1 - side);
    if (!bound || !std::isfinite(*bound) || g.constant(x) != nullptr ||
        !same_type(g.value(x).type, y))
      continue;
    Patch patch(g, "one number clamps", Exactness::kRounding);
    patch.from(node);
    const Bounds bounds = least ? Bounds{bound, std::nullopt} : Bounds{std::nullopt, bound};
    patch.replace(node.output(0), emit_clip(patch, g, x, bounds, DType::kFloat32, node.name));
    return patch;
  }
  return std::nullopt;
}

} // namespace octet::lowering
