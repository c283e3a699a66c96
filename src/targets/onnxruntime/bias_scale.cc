// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_bias_scale(const CheckContext& context, const Node& node, Found& found) {
  if (onnxruntime_misread_bias(context.graph, context.uses, context.target, node).valid())
    found.add(node,
              "ONNX Runtime 1.31 adds the bias' int32 codes to the sum as they are, at input scale "
              "times weight scale and zero point 0: not the bias that its DQ gives",
              "store the bias at that scale, or in float: octet repair does");
}

} // namespace

constexpr TargetRule kBiasScale = {.id = "bias-scale",
                                   .clause = "8",
                                   .provider = Provider::kCpu,
                                   .measured = 131,
                                   .find = find_bias_scale,
                                   .mends = {Mend::kFoldMisreadBias}};

} // namespace octet::onnxruntime
