// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_zero_point_missing(const CheckContext& context, const Node& node, Found& found) {
  if (!is_quantize(node) || qdq::written(context.graph, node).zero.valid())
    return; // DQ takes the type of its codes
  const DType codes = context.graph.value(node.output(0)).type.type;
  if (codes != DType::kUint8 && codes != DType::kUndefined) return; // said by output_dtype
  found.add(node, "without a zero point it is UINT8 with zero point 0: negative values become 0",
            "add a zero-point initializer");
}

} // namespace

constexpr TargetRule kZeroPointMissing = {.id = "zero-point-missing",
                                          .clause = "8",
                                          .severity = Severity::kWarning,
                                          .find = find_zero_point_missing,
                                          .mends = {Mend::kAddZeroPoint}};

} // namespace octet::onnxruntime
