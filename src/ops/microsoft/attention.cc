// SPDX-License-Identifier: Apache-2.0
// Attention (com.microsoft 1). x: [B, S, D], weights: [D, Q + K + V], bias?, mask?, past?,
// attention_bias?: see self_attention.h.
#include "ops/microsoft/self_attention.h"
#include "ops/shared/matrix_product.h"

namespace octet::ms::op_Attention {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 7));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kFloatTypes));
  OCTET_TRY(check_optional(ctx, 2, kFloatTypes));
  OCTET_TRY(check_optional(ctx, 5, kFloatTypes));
  return ms::infer_self_attention(ctx, 3, 4, ctx.input(0).type.type);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor &xt = ctx.inputs[0], &wt = ctx.inputs[1];
  const auto a = OCTET_TRY(ms::parse_self_attention(ctx.node, wt.dim(1)));
  const auto x = OCTET_TRY(xt.to_doubles()), w = OCTET_TRY(wt.to_doubles());
  auto projected = matmul(matmul_sizes(xt.shape(), wt.shape()), x.data(), w.data());
  for (size_t i = 0; ctx.has(2) && i < projected.size(); ++i)
    projected[i] += ctx.inputs[2].at(static_cast<int64_t>(i) % wt.dim(1));
  const auto y =
      OCTET_TRY(ms::attend(a, xt.shape(), projected, ctx.has(3) ? ctx.inputs[3] : Tensor(),
                           ctx.has(5) ? ctx.inputs[5] : Tensor()));
  return one(OCTET_TRY(rounded(xt.type(), shape, y)));
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

} // namespace octet::ms::op_Attention
