// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_stored_int8_weight(const CheckContext& context, const Node& node, Found& found) {
  if (is_dequantize(node) && context.graph.constant(node.input(0)) != nullptr &&
      qdq::written(context.graph, node).codes_type == DType::kInt8)
    found.add(node, "TensorRT 8's guide wants weights in float behind Q and DQ",
              "store it in float, with Q and DQ behind it: octet repair does");
}

} // namespace

constexpr TargetRule kStoredInt8Weight = {.id = "stored-int8-weight",
                                          .clause = "1.3, 6 E5",
                                          .versions = {.until = 999},
                                          .severity = Severity::kWarning,
                                          .find = find_stored_int8_weight,
                                          .mends = {Mend::kFloatWeight}};

} // namespace octet::tensorrt
