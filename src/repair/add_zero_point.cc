// SPDX-License-Identifier: Apache-2.0
//   Q or DQ (x, scale)  =>  Q or DQ (x, scale, zeros of the type that ONNX gives it)
// Exact by ONNX's reading: without a zero point Q makes UINT8 (or output_dtype) with zero point 0,
// DQ takes its codes' type. TensorRT reads INT8 there. Source: docs/targets.md 1.1, 7.
#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> add_zero_point(const RepairContext& context, const Node& node) {
  const qdq::Written said = qdq::written(context.graph, node);
  const DType type = said.codes_type;
  if (said.zero.valid() || said.scales == nullptr || type == DType::kUndefined) return std::nullopt;
  auto zeros = Tensor::zeros(type, said.scales->shape());
  if (!zeros.ok()) return std::nullopt;
  Patch patch(context.graph,
              fmt::format("no zero point: ONNX means {} with zero point 0", octet::name(type)),
              Exactness::kExact);
  patch.from(node);
  std::vector<ValueId> inputs = {node.input(0), said.scale};
  inputs.push_back(patch.constant(name_of(context.graph, node) + "_zero_point", *zeros));
  Attributes attributes = node.attributes;
  if (is_quantize(node)) attributes.erase("output_dtype"); // the zero point says it
  patch.replace(node.output(0), patch.emit(node.op_type, std::move(inputs), std::move(attributes),
                                           node.name, node.domain));
  return Repair::exact(std::move(patch));
}

} // namespace octet
