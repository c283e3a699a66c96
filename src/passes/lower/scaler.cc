// SPDX-License-Identifier: Apache-2.0
//   ai.onnx.ml.Scaler(x)    =>    (x - offset) * scale
// of f32 x. Rounding: equal in real arithmetic.
#include "graph/domains.h"
#include "passes/lower/chains.h"
#include "passes/lower/parts.h"

namespace octet::lowering {

std::optional<Patch> decompose_scaler(const RuleContext& c, const Node& node) {
  const bool is_scaler = node.domain == kMl && node.op_type == "Scaler";
  if (!is_scaler || float_input(c, node) == nullptr) return std::nullopt;
  Parts parts(c, node, "Scaler is a difference and a product");
  ValueId y = node.input(0);
  const auto offset = node.attr_floats("offset"), scale = node.attr_floats("scale");
  y = parts.op("Sub", {y, parts.numbers(offset.empty() ? std::vector<float>{0} : offset)});
  y = parts.op("Mul", {y, parts.numbers(scale.empty() ? std::vector<float>{1} : scale)});
  return parts.finish(node, y);
}

} // namespace octet::lowering
