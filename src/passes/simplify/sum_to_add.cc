// SPDX-License-Identifier: Apache-2.0
//   a, b ─▶ Sum ─▶ y    =>    a, b ─▶ Add ─▶ y
// Exact. Quantizers and kernels know residuals as Add.
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> sum_to_add(const RuleContext& context, const Node& node) {
  if (!node.is("Sum") || node.inputs.size() != 2 || !node.inputs[0].valid() ||
      !node.inputs[1].valid())
    return std::nullopt;
  Patch patch(context.graph, "the sum of two", Exactness::kExact);
  patch.from(node);
  patch.replace(node.outputs[0], patch.emit("Add", node.inputs, {}, node.name));
  return patch;
}

} // namespace octet
