// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/rules.h"
#include "targets/shared_rules.h"

namespace octet::onnxruntime {

namespace {

void find_scale_type(const CheckContext& context, const Node& node, Found& found) {
  if (!is_quantize(node) || context.graph.opset() < 23) return;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  const DType type = context.graph.value(node.input(0)).type.type;
  if (scale != nullptr && type != DType::kUndefined && type != scale->type())
    found.add(node,
              "from operator set 23 on it fails at run time when the scale's type is not the "
              "tensor's",
              "give the scale the tensor's type, or use operator set 21");
}

} // namespace

constexpr TargetRule kScaleType = {
    .id = "scale-type", .clause = "4.2", .find = find_scale_type, .mends = {Mend::kConvertScale}};
constexpr TargetRule kScaleNotPositive = {.id = "scale-not-positive",
                                          .clause = "1.1, 7",
                                          .severity = Severity::kWarning,
                                          .find = find_scale_not_positive,
                                          .mends = {Mend::kReplaceScale}};
constexpr TargetRule kScaleInfinite = {.id = "scale-not-normal",
                                       .clause = "1.1, 7",
                                       .severity = Severity::kWarning,
                                       .find = find_scale_infinite,
                                       .mends = {Mend::kReplaceScale}};

} // namespace octet::onnxruntime
