// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeMatMul (com.microsoft 1). a (float), b (codes), b_scale, b_zero_point?, bias?:
// a is quantized as DynamicQuantizeLinear does it, then y = (a - a_zero) @ (b - b_zero) * a_scale *
// b_scale + bias; b's scale and zero point may be one for each column.
#include "ops/definitions.h"
#include "ops/microsoft/integer_product.h"
#include "ops/shared/matrix_product.h"

namespace octet::ms::op_DynamicQuantizeMatMul {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 5));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_input(ctx, 1, ms::kCodeTypes));
  OCTET_TRY(check_input(ctx, 2, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_optional(ctx, 3, ms::kCodeTypes));
  OCTET_TRY(check_optional(ctx, 4, TypeSet{DType::kFloat32}));
  OCTET_TRY(ms::check_column_values(ctx, 2, ctx.input(1).type));
  OCTET_TRY(ms::check_column_values(ctx, 3, ctx.input(1).type));
  OCTET_TRY(check_rank(ctx, 4, 1, 1));
  auto shape = OCTET_TRY(matmul_shape(ctx.input(0).type, ctx.input(1).type));
  if (shape && !shape->empty())
    OCTET_TRY(check_vector(ctx, 4, shape->back(), "bias elements and columns"));
  return one(DType::kFloat32, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto a = OCTET_TRY(onnx::op_DynamicQuantizeLinear::facets.eval.fn(
      {.node = ctx.node, .version = 11, .inputs = {ctx.inputs[0]}, .run_body = {}, .seed = 0}));
  const ms::ScaledProduct p{.a = a[0],
                            .a_zero = a[2],
                            .b = ctx.inputs[1],
                            .b_zero = ctx.has(3) ? ctx.inputs[3] : Tensor(),
                            .a_scale = a[1].at(0),
                            .b_scale = ctx.inputs[2],
                            .bias = ctx.has(4) ? ctx.inputs[4] : Tensor()};
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

} // namespace octet::ms::op_DynamicQuantizeMatMul
