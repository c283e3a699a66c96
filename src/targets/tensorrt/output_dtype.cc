// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_output_dtype(const CheckContext& context, const Node& node, Found& found) {
  if (!is_qdq(node) || !node.has_attr("output_dtype")) return;
  found.add(node,
            context.at_least(1000)
                ? "\"Mismatch between attribute output_dtype ... and zero-point data type ...\""
                : "TensorRT 8 ignores output_dtype, ONNX does not",
            "remove output_dtype: the zero point says the type");
}

} // namespace

constexpr TargetRule kOutputDtype = {.id = "output-dtype",
                                     .clause = "1.1 row 9, 7",
                                     .find = find_output_dtype,
                                     .mends = {Mend::kDropOutputType}};

} // namespace octet::tensorrt
