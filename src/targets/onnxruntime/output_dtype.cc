// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_output_dtype(const CheckContext& context, const Node& node, Found& found) {
  if (onnxruntime_keeps_output_type(context.graph, context.uses, node))
    found.add(node,
              "\"output_dtype INT8 does not match y_zero_point type UINT8\": ONNX Runtime 1.31 "
              "turns the codes into UINT8 and leaves the attribute",
              "remove output_dtype, which the zero point says already: octet repair does");
}

} // namespace

constexpr TargetRule kOutputDtype = {.id = "output-dtype",
                                     .clause = "8",
                                     .provider = Provider::kCpu,
                                     .measured = 131,
                                     .find = find_output_dtype,
                                     .mends = {Mend::kDropKeptOutputType}};

} // namespace octet::onnxruntime
