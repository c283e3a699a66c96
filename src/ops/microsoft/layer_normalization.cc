// SPDX-License-Identifier: Apache-2.0
// LayerNormalization (com.microsoft 1): as LayerNormalization of ai.onnx with opset 17 has it.
#include "ops/definitions.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_LayerNormalization {
namespace {

constexpr int64_t kVersion = 17;

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return onnx::op_LayerNormalization::facets.infer.fn({ctx.node, kVersion, ctx.inputs, {}});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return onnx::op_LayerNormalization::facets.eval.fn(
      {.node = ctx.node, .version = kVersion, .inputs = ctx.inputs, .run_body = {}, .seed = 0});
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_LayerNormalization
