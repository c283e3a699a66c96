// SPDX-License-Identifier: Apache-2.0
// LayerNormalization (com.microsoft 1): as LayerNormalization of ai.onnx with opset 17 has it.
#include "ops/normalization.h"

namespace octet {

extern const OpDef op_onnx_LayerNormalization;

namespace {

constexpr int64_t kVersion = 17;

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return op_onnx_LayerNormalization.infer.fn({ctx.node, kVersion, ctx.inputs, {}});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return op_onnx_LayerNormalization.eval.fn(
      {.node = ctx.node, .version = kVersion, .inputs = ctx.inputs, .run_body = {}, .seed = 0});
}

} // namespace

extern const OpDef op_ms_LayerNormalization = {
    .domain = "com.microsoft",
    .name = "LayerNormalization",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = normalizes,
};

} // namespace octet
