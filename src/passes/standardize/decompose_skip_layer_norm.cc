// SPDX-License-Identifier: Apache-2.0
//   SkipLayerNormalization(x, skip, gain, bias, before) ─▶ y, sum
//                             =>    x + skip [+ before] ─▶ sum,  sum ─▶ LayerNormalization ─▶ y
// Rounding. Wanted: nobody reads mean and deviation.
#include <algorithm>

#include "passes/standardize/standard_operators.h"

namespace octet {

std::optional<Patch> decompose_skip_layer_norm(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("SkipLayerNormalization", kMicrosoft) || g.opset() == 0) return std::nullopt;
  for (const size_t k : {size_t{1}, size_t{2}})
    if (context.uses.count(node.output(k)) > 0) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  const TypeInfo& skip = g.value(node.input(1)).type;
  if (!x.has_rank() || !skip.has_rank()) return std::nullopt;
  if (g.value(node.input(2)).type.type == DType::kUndefined) return std::nullopt;
  Patch patch(g, "SkipLayerNormalization is a sum and layer normalization", Exactness::kRounding);
  patch.from(node);
  ValueId sum = patch.emit("Add", {node.input(0), node.input(1)}, {}, node.name + "/skip");
  if (node.input(4).valid()) sum = patch.emit("Add", {sum, node.input(4)}, {}, node.name + "/bias");
  patch.replace(node.output(0), emit_layer_norm(patch, g, node, sum, node.input(2), node.input(3),
                                                std::max(x.rank(), skip.rank())));
  if (node.output(3).valid()) patch.replace(node.output(3), sum);
  return patch;
}

} // namespace octet
