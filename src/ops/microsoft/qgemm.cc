// SPDX-License-Identifier: Apache-2.0
// QGemm (com.microsoft 1). a, its scale and zero point, b, its, c? (int32), y_scale?,
// y_zero_point?: y = alpha * a_scale * b_scale * ((a' - a_zero) @ (b' - b_zero) + c), as codes when
// y_scale is given, else as float; b's scale and zero point may be one for each column. transA and
// transB as for Gemm.
#include "core/format.h"
#include "ops/microsoft/integer_product.h"
#include "ops/shared/matrix_product.h"
#include "ops/shared/movement.h"

namespace octet::ms::op_QGemm {
namespace {

TypeInfo transposed(TypeInfo type, bool swap) {
  if (swap && type.shape && type.shape->size() == 2) std::swap((*type.shape)[0], (*type.shape)[1]);
  return type;
}

Result<Tensor> transposed(const Tensor& x, bool swap) {
  if (!swap) return x;
  const Shape shape = {x.dim(1), x.dim(0)};
  return take(x, shape, strided_index(shape, Shape{1, x.dim(1)}));
}

bool flag(const Node& node, const char* name) {
  return node.attr_int(name, 0) != 0;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 6, 9));
  for (const size_t i : {size_t{0}, size_t{3}}) {
    OCTET_TRY(check_input(ctx, i, ms::kCodeTypes));
    OCTET_TRY(check_rank(ctx, i, 2, 2));
    OCTET_TRY(check_input(ctx, i + 1, TypeSet{DType::kFloat32}));
    OCTET_TRY(check_optional(ctx, i + 2, ms::kCodeTypes));
  }
  OCTET_TRY(check_scalar(ctx, 1));
  OCTET_TRY(check_scalar(ctx, 2));
  OCTET_TRY(check_optional(ctx, 6, TypeSet{DType::kInt32}));
  if (ctx.has(7)) OCTET_TRY(ms::check_scale(ctx, 7));
  const TypeInfo a = transposed(ctx.input(0).type, flag(ctx.node, "transA"));
  const TypeInfo b = transposed(ctx.input(3).type, flag(ctx.node, "transB"));
  OCTET_TRY(ms::check_column_values(ctx, 4, b));
  OCTET_TRY(ms::check_column_values(ctx, 5, b));
  auto shape = OCTET_TRY(matmul_shape(a, b));
  if (shape && ctx.has(6) && ctx.input(6).type.has_rank())
    OCTET_TRY(broadcast_dims(std::vector<std::vector<Dim>>{*shape, *ctx.input(6).type.shape}));
  const DType type = ctx.has(7) ? ms::output_type(ctx, 7, a.type) : DType::kFloat32;
  return one(type, std::move(shape));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const ms::ScaledProduct p{.a = OCTET_TRY(transposed(ctx.inputs[0], flag(ctx.node, "transA"))),
                            .a_zero = ctx.has(2) ? OCTET_TRY(ctx.inputs[2].reshaped({})) : Tensor(),
                            .b = OCTET_TRY(transposed(ctx.inputs[3], flag(ctx.node, "transB"))),
                            .b_zero = ctx.has(5) ? ctx.inputs[5] : Tensor(),
                            .a_scale = ctx.inputs[1].at(0) *
                                       static_cast<double>(ctx.node.attr_float("alpha", 1)),
                            .b_scale = ctx.inputs[4],
                            .bias = Tensor()};
  auto y = OCTET_TRY(ms::scaled_product(p));
  if (ctx.has(6)) {
    if (OCTET_TRY(broadcast_shapes(std::vector<Shape>{shape, ctx.inputs[6].shape()})) != shape)
      return error("c has shape {}, the product {}", to_string(ctx.inputs[6].shape()),
                   to_string(shape));
    const auto from = broadcast_index(ctx.inputs[6].shape(), shape);
    for (size_t i = 0; i < y.size(); ++i) {
      const auto column = static_cast<int64_t>(i) % shape[1];
      y[i] +=
          ctx.inputs[6].at(from[i]) * p.a_scale * p.b_scale.at(p.b_scale.count() == 1 ? 0 : column);
    }
  }
  if (ctx.has(7)) return one(OCTET_TRY(ms::write_codes(ctx, 7, outputs[0].type.type, shape, y)));
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

} // namespace octet::ms::op_QGemm
