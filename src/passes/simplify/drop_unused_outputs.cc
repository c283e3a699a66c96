// SPDX-License-Identifier: Apache-2.0
//   y, indices = MaxPool(x), nobody reads indices      =>      y = MaxPool(x)
//   (also LayerNormalization, Dropout)
// Exact.
#include "ops/op.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> drop_unused_outputs(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.domain.empty() || node.outputs.size() < 2 || !node.outputs[0].valid())
    return std::nullopt;
  const uint32_t optional = facts_of(node).optional_outputs;
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (k >= 32 || (optional >> k & 1) == 0 || context.uses.count(node.outputs[k]) > 0)
      return std::nullopt;
  Patch patch(g, "nobody reads the other outputs", Exactness::kExact);
  patch.from(node);
  // What random numbers it draws follows from the name (ops/seed.h).
  const std::string name = node.name.empty() ? g.value(node.outputs[0]).name : node.name;
  patch.replace(node.outputs[0], patch.emit(node.op_type, node.inputs, node.attributes, name));
  return patch;
}

} // namespace octet
