// SPDX-License-Identifier: Apache-2.0
// FusedGemm (com.microsoft 1). y = f(Gemm(a, b, c)) with Gemm of ai.onnx and f the activation that
// the node names.
#include "ops/definitions.h"
#include "ops/microsoft/fused_activation.h"
#include "ops/shared/types.h"

namespace octet::ms::op_FusedGemm {
namespace {

constexpr int64_t kVersion = 13;

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  const Node gemm = product_of(ctx.node, "Gemm");
  return onnx::op_Gemm::facets.infer.fn({gemm, kVersion, ctx.inputs, {}});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Node gemm = product_of(ctx.node, "Gemm");
  const auto y = OCTET_TRY(onnx::op_Gemm::facets.eval.fn(
      {.node = gemm, .version = kVersion, .inputs = ctx.inputs, .run_body = {}, .seed = 0}));
  return one(OCTET_TRY(activated(OCTET_TRY(fused_activation(ctx.node)), y[0])));
}

Role roles(const Node&, size_t input) {
  return input == 1 ? Role::kWeight : input == 2 ? Role::kBias : Role::kData;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::ms::op_FusedGemm
