// SPDX-License-Identifier: Apache-2.0
// QAttention (com.microsoft 1). x: codes [B, S, D], weights: codes [D, Q + K + V], bias (float),
// input_scale, weight_scale (one, or one for each column), mask?, input_zero_point?,
// weight_zero_point?, past?: the projection in integers, then attention in float; see
// self_attention.h.
#include "ops/microsoft/integer_product.h"
#include "ops/microsoft/self_attention.h"

namespace octet::ms::op_QAttention {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 5, 9));
  for (size_t i = 0; i < 2; ++i) {
    OCTET_TRY(check_input(ctx, i, ms::kCodeTypes));
    OCTET_TRY(check_input(ctx, 3 + i, TypeSet{DType::kFloat32}));
    OCTET_TRY(check_optional(ctx, 6 + i, ms::kCodeTypes));
  }
  OCTET_TRY(check_input(ctx, 2, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_scalar(ctx, 3));
  OCTET_TRY(check_scalar(ctx, 6));
  OCTET_TRY(ms::check_column_values(ctx, 4, ctx.input(1).type));
  OCTET_TRY(ms::check_column_values(ctx, 7, ctx.input(1).type));
  return ms::infer_self_attention(ctx, 5, 8, DType::kFloat32);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& w = ctx.inputs[1];
  const auto a = OCTET_TRY(ms::parse_self_attention(ctx.node, w.dim(1)));
  const ms::ScaledProduct p{.a = ctx.inputs[0],
                            .a_zero = ctx.has(6) ? OCTET_TRY(ctx.inputs[6].reshaped({})) : Tensor(),
                            .b = w,
                            .b_zero = ctx.has(7) ? ctx.inputs[7] : Tensor(),
                            .a_scale = ctx.inputs[3].at(0),
                            .b_scale = ctx.inputs[4],
                            .bias = ctx.inputs[2]};
  const auto projected = OCTET_TRY(ms::scaled_product(p));
  const auto y = OCTET_TRY(ms::attend(a, ctx.inputs[0].shape(), projected,
                                      ctx.has(5) ? ctx.inputs[5] : Tensor(), Tensor()));
  return one(OCTET_TRY(rounded(DType::kFloat32, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::ms::op_QAttention
