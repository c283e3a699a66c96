// SPDX-License-Identifier: Apache-2.0
//   bytes ─ Resize (linear, cubic)    =>    bytes ─ DQ(1, 0) ─ Resize ─ Q(1, 0)
// as files have it that hold codes themselves (QOperator). Rounding: sums are floats before they become
// bytes.
#include "ops/qdq/emit.h"
#include "passes/lower/chains.h"

namespace octet::lowering {

std::optional<Patch> resize_bytes(const RuleContext& c, const Node& node) {
  constexpr int64_t kSince = 10; // of Q and DQ
  if (!node.is("Resize") || c.graph.opset() < kSince) return std::nullopt;
  const DType type = c.graph.value(node.input(0)).type.type;
  if ((type != DType::kInt8 && type != DType::kUint8) ||
      node.attr_string("mode", "nearest") == "nearest")
    return std::nullopt;
  Patch patch(c.graph, "bytes are interpolated as numbers", Exactness::kRounding);
  patch.from(node);
  const qdq::Grid whole = qdq::Grid::per_tensor_of(type, 1, 0, DType::kFloat32);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = qdq::emit_dequantize(patch, whole, node.input(0), node.name + "/numbers");
  const ValueId y = patch.emit("Resize", std::move(inputs), node.attributes, node.name);
  patch.replace(node.output(0), qdq::emit_quantize(patch, whole, y, node.name + "/bytes"));
  return patch;
}

} // namespace octet::lowering
