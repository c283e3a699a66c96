// SPDX-License-Identifier: Apache-2.0
// QOrderedMatMul (com.microsoft 1). a: int8 codes [M, K] or [B, M, K], scale_a, b: int8 codes
// [K, N] or [B or 1, K, N], scale_b (one, or one for each column), scale_y, bias? [N] (float, in
// units of the product), c? int8 codes [M, N] or [B or 1, M, N], scale_c?:
// y = (a b scale_a scale_b + bias + c scale_c) / scale_y, to nearest, ties to even.
// Orders: a, c and y ORDER_ROW with b ORDER_COL; or a, c and y ORDER_COL32 with b in
// ORDER_COL4_4R2_8C or ORDER_COL32_2R_4R4 of the transposed matrix, and no bias.
// Source: ONNX Runtime, docs/ContribOperators.md and contrib_ops/cuda/quantization/qordered_ops.
#include "core/format.h"
#include "ops/microsoft/integer_product.h"
#include "ops/microsoft/matrix_order.h"
#include "ops/shared/matrix_product.h"

namespace octet::ms::op_QOrderedMatMul {
namespace {

using ms::MatrixOrder;

struct Orders {
  MatrixOrder a, b;
};

Result<Orders> parse(const Node& node) {
  const Orders o{OCTET_TRY(ms::parse_order(node, "order_A")),
                 OCTET_TRY(ms::parse_order(node, "order_B"))};
  const auto y = OCTET_TRY(ms::parse_order(node, "order_Y"));
  const bool plain = o.a == MatrixOrder::kRows && o.b == MatrixOrder::kColumns;
  const bool tiled =
      o.a == MatrixOrder::kCol32 && (o.b == MatrixOrder::kTuring || o.b == MatrixOrder::kAmpere);
  if (y != o.a || (!plain && !tiled))
    return error(ErrorCode::kUnsupported,
                 "orders {}, {} and {} of A, B and Y do not go together; use ORDER_ROW, ORDER_COL "
                 "and ORDER_ROW",
                 ms::name(o.a), ms::name(o.b), ms::name(y));
  return o;
}

Status check_types(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 5, 8));
  for (const size_t codes : {0, 2})
    OCTET_TRY(check_input(ctx, codes, TypeSet{DType::kInt8}));
  OCTET_TRY(check_optional(ctx, 6, TypeSet{DType::kInt8}));
  for (const size_t scale : {1, 3, 4})
    OCTET_TRY(check_input(ctx, scale, TypeSet{DType::kFloat32}));
  for (const size_t number : {5, 7})
    OCTET_TRY(check_optional(ctx, number, TypeSet{DType::kFloat32}));
  for (const size_t scale : {1, 4, 7})
    OCTET_TRY(check_scalar(ctx, scale));
  if (ctx.has(6) != ctx.has(7)) return Error("C and scale_C go together; give both or neither");
  for (const size_t matrix : {0, 2, 6})
    OCTET_TRY(check_rank(ctx, matrix, 2, 3));
  return ms::check_column_values(ctx, 3, ctx.input(2).type);
}

/// b: [K, N] as a type whose tiles are those of [N, K].
TypeInfo transposed(TypeInfo b) {
  auto& dims = *b.shape;
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return b;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_types(ctx));
  const Orders o = OCTET_TRY(parse(ctx.node));
  if (o.a != MatrixOrder::kRows && ctx.has(5))
    return error(ErrorCode::kUnsupported,
                 "a bias does not go with {}; add it behind DequantizeWithOrder", ms::name(o.a));
  const TypeInfo &a = ctx.input(0).type, &b = ctx.input(2).type;
  OCTET_TRY(ms::check_tiles(a, o.a));
  if (!a.has_rank() || !b.has_rank()) return one(DType::kInt8, std::nullopt);
  if (o.b != MatrixOrder::kColumns) OCTET_TRY(ms::check_tiles(transposed(b), o.b));
  const Dim& columns = b.shape->back();
  OCTET_TRY(check_vector(ctx, 5, columns, "bias elements and columns"));
  if (a.rank() < b.rank() && (*b.shape)[0].is_constant() && !((*b.shape)[0] == Dim(1)))
    return error("B holds {} matrices and A one; give as many", (*b.shape)[0].text());
  OCTET_TRY(matmul_shape(a, b));
  std::vector<Dim> out = *a.shape;
  out.back() = columns;
  TypeInfo y;
  y.type = DType::kInt8;
  y.shape = std::move(out);
  OCTET_TRY(ms::check_tiles(y, o.a));
  if (ctx.has(6) && ctx.input(6).type.has_rank()) {
    const auto& c = *ctx.input(6).type.shape;
    for (size_t i = 1; i <= 2; ++i)
      OCTET_TRY(merge_dims(c[c.size() - i], (*y.shape)[y.shape->size() - i], "sizes of C and Y"));
    const Dim batch = y.shape->size() == 3 ? (*y.shape)[0] : Dim(1);
    if (c.size() == 3 && !(c[0] == Dim(1)))
      OCTET_TRY(merge_dims(c[0], batch, "matrices of C and of Y"));
  }
  return one(std::move(y));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Orders o = OCTET_TRY(parse(ctx.node));
  const ms::ScaledProduct p{.a = OCTET_TRY(ms::reorder(ctx.inputs[0], o.a, MatrixOrder::kRows)),
                            .a_zero = Tensor(),
                            .b = OCTET_TRY(ms::weight_rows(ctx.inputs[2], o.b)),
                            .b_zero = Tensor(),
                            .a_scale = ctx.inputs[1].at(0),
                            .b_scale = ctx.inputs[3],
                            .bias = ctx.has(5) ? ctx.inputs[5] : Tensor()};
  auto y = OCTET_TRY(ms::scaled_product(p));
  if (ctx.has(6)) {
    const Tensor codes = OCTET_TRY(ms::reorder(ctx.inputs[6], o.a, MatrixOrder::kRows));
    const auto c = OCTET_TRY(ms::dequantized(codes, ctx.inputs[7].at(0)));
    for (size_t i = 0; i < y.size(); ++i)
      y[i] += c[i % c.size()];
  }
  const Tensor rows =
      OCTET_TRY(ms::quantized(DType::kInt8, shape, y, static_cast<float>(ctx.inputs[4].at(0))));
  return one(OCTET_TRY(ms::reorder(rows, MatrixOrder::kRows, o.a)));
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

} // namespace octet::ms::op_QOrderedMatMul
