// SPDX-License-Identifier: Apache-2.0
//   QuickGelu(x)    =>    x * Sigmoid(alpha x)
// Rounding.
#include "passes/standardize/standard_operators.h"

namespace octet {

std::optional<Patch> decompose_quick_gelu(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("QuickGelu", kMicrosoft) || g.opset() == 0) return std::nullopt;
  const DType type = g.value(node.input(0)).type.type;
  if (!is_float(type)) return std::nullopt;
  Patch patch(g, "QuickGelu is x times a sigmoid", Exactness::kRounding);
  patch.from(node);
  const double alpha = static_cast<double>(node.attr_float("alpha", 1.702F));
  const ValueId x = node.input(0), factor = emit_number(patch, node.name + "/alpha", type, alpha);
  const ValueId scaled = patch.emit("Mul", {x, factor}, {}, node.name + "/scaled");
  const ValueId gate = patch.emit("Sigmoid", {scaled}, {}, node.name + "/gate");
  patch.replace(node.output(0), patch.emit("Mul", {x, gate}, {}, node.name));
  return patch;
}

} // namespace octet
