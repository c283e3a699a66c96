// SPDX-License-Identifier: Apache-2.0
//   QuantizeLinear, DequantizeLinear of com.microsoft    =>    those of ai.onnx
// Exact. ONNX Runtime's quantizer writes them for codes that an operator set of ai.onnx lacks. In a
// graph no type is limited by the operator set; axes are, before 13.
#include "ops/qdq/site.h"
#include "passes/lower/chains.h"

namespace octet::lowering {

std::optional<Patch> standard_qdq(const RuleContext& c, const Node& node) {
  if (node.domain != kMicrosoft || !is_qdq(node)) return std::nullopt;
  const TypeInfo& scale = c.graph.value(node.input(1)).type;
  const bool one = scale.has_rank() && scale.rank() == 0;
  if (!one && c.graph.opset() < 13) return std::nullopt;
  Patch patch(c.graph, "the operator of ai.onnx", Exactness::kExact);
  patch.from(node);
  patch.replace(node.output(0), patch.emit(node.op_type, node.inputs, node.attributes, node.name));
  return patch;
}

} // namespace octet::lowering
