// SPDX-License-Identifier: Apache-2.0
//   Q or DQ with several scales and no axis  =>  axis 1 written, which ONNX means (TensorRT: 0)
// Exact. Source: docs/targets.md 1.1 and 7.
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> set_axis(const RepairContext& context, const Node& node) {
  const qdq::Written said = qdq::written(context.graph, node);
  const Tensor* scale = said.scales;
  if (scale == nullptr || scale->rank() != 1 || scale->count() < 2 || said.has_axis)
    return std::nullopt;
  Patch patch(context.graph, "several scales without an axis: ONNX means axis 1",
              Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  attributes["axis"].value = int64_t{1};
  patch.replace(node.output(0), patch.emit(node.op_type, node.inputs, std::move(attributes),
                                           node.name, node.domain));
  return Repair::exact(std::move(patch));
}

} // namespace octet
