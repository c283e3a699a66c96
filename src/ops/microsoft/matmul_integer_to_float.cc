// SPDX-License-Identifier: Apache-2.0
// MatMulIntegerToFloat (com.microsoft 1). a, b (codes), a_scale, b_scale, a_zero_point?,
// b_zero_point?, bias?: y = (a - a_zero) @ (b - b_zero) * a_scale * b_scale + bias; b's scale and
// zero point may be one for each column.
#include "ops/microsoft/integer_product.h"
#include "ops/shared/matrix_product.h"

namespace octet::ms::op_MatMulIntegerToFloat {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 4, 7));
  const TypeInfo& b = ctx.input(1).type;
  for (size_t i = 0; i < 2; ++i) {
    OCTET_TRY(check_input(ctx, i, ms::kCodeTypes));
    OCTET_TRY(check_input(ctx, 2 + i, TypeSet{DType::kFloat32}));
    OCTET_TRY(check_optional(ctx, 4 + i, ms::kCodeTypes));
  }
  OCTET_TRY(check_scalar(ctx, 2));
  OCTET_TRY(check_scalar(ctx, 4));
  OCTET_TRY(ms::check_column_values(ctx, 3, b));
  OCTET_TRY(ms::check_column_values(ctx, 5, b));
  OCTET_TRY(check_optional(ctx, 6, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_rank(ctx, 6, 1, 1));
  auto shape = OCTET_TRY(matmul_shape(ctx.input(0).type, b));
  if (shape && !shape->empty())
    OCTET_TRY(check_vector(ctx, 6, shape->back(), "bias elements and columns"));
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const ms::ScaledProduct p{.a = ctx.inputs[0],
                            .a_zero = ctx.has(4) ? ctx.inputs[4] : Tensor(),
                            .b = ctx.inputs[1],
                            .b_zero = ctx.has(5) ? ctx.inputs[5] : Tensor(),
                            .a_scale = ctx.inputs[2].at(0),
                            .b_scale = ctx.inputs[3],
                            .bias = ctx.has(6) ? ctx.inputs[6] : Tensor()};
  const auto y = OCTET_TRY(ms::scaled_product(p));
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

} // namespace octet::ms::op_MatMulIntegerToFloat
