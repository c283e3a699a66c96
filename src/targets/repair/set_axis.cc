// SPDX-License-Identifier: Apache-2.0
//   Q or DQ with several scales and no axis  =>  axis 1 written, which ONNX means (TensorRT: 0)
//   Q or DQ with one scale and an axis       =>  no axis (TensorRT 8.0 refuses it)
// Exact. Source: docs/targets.md 1.1, 1.2 and 7.
#include "targets/repair/coding.h"
#include "targets/repair/rules.h"

namespace octet {

std::optional<Repair> set_axis(const RepairContext& context, const Node& node) {
  const Tensor* scale = is_qdq(node) ? context.graph.constant(node.input(1)) : nullptr;
  if (scale == nullptr || scale->rank() > 1) return std::nullopt;
  const bool vector = scale->count() > 1;
  if (vector == node.has_attr("axis") || scale->count() == 0) return std::nullopt;
  Patch patch(context.graph,
              vector ? "several scales without an axis: ONNX means axis 1"
                     : "an axis with one scale says nothing",
              Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  if (vector)
    attributes["axis"].value = int64_t{1};
  else
    attributes.erase("axis");
  patch.replace(node.output(0), patch.emit(node.op_type, node.inputs, std::move(attributes),
                                           node.name, node.domain));
  return Repair::exact(std::move(patch));
}

} // namespace octet
