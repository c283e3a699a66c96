// SPDX-License-Identifier: Apache-2.0
//   x: f32[N, S, 768] ─▶ Reshape(Concat(Shape(x)[0], Shape(x)[1], 12, 64)) ─▶ y
//                                                =>    x ─▶ Reshape([0, 0, 12, 64]) ─▶ y
// Exact. Wanted: of the shape, all but one size is a constant or the one that x has in the same
// place. Shapes without elements stay (-1 has no meaning there).
#include "graph/edit.h"
#include "passes/match.h"
#include "passes/reshape_target.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fold_reshape_shape(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Reshape") || node.inputs.size() != 2 || g.constant(node.inputs[1]) != nullptr)
    return std::nullopt;
  const auto found = context.elements.find(node.inputs[1]);
  if (found == context.elements.end()) return std::nullopt;
  const TypeInfo& to = g.value(node.output(0)).type;
  std::vector<Dim> wanted = found->second;
  if (!to.shape || to.shape->size() != wanted.size()) return std::nullopt;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!wanted[i].is_constant() || wanted[i].value() <= 0) wanted[i] = (*to.shape)[i];
  const auto target = reshape_target(g.value(node.inputs[0]).type, wanted);
  if (!target) return std::nullopt;
  Patch patch(g, "the shape is known but for one size or sizes of the input", Exactness::kExact);
  patch.from(node);
  const ValueId sizes = patch.constant(g.value(node.output(0)).name + "/shape", int_list(*target));
  patch.replace(node.output(0), patch.emit("Reshape", {node.inputs[0], sizes}, {}, node.name));
  return patch;
}

} // namespace octet
