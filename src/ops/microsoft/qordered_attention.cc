// SPDX-License-Identifier: Apache-2.0
// QOrderedAttention (com.microsoft 1). Everything is int8 codes with zero point 0 and a scale:
// x [B, S, D]; q, k, v = x by three weights [D, H] in ORDER_COL (scales of one number, or one for
// each column) + bias, each rounded to the scale of its product; scores q k^T and their softmax
// rounded to scale_QKT_gemm and scale_QKT_softmax (not rounded where omitted); y [B, S, H] the
// mixed values, rounded to scale_values_gemm. The scores are divided by sqrt(size of a head) behind
// their rounding. mask_index as in self_attention.h; for a token that none of the keys counts for,
// the source's division by zero is not followed.
// Source: ONNX Runtime, docs/ContribOperators.md and contrib_ops/cuda/quantization/qordered_ops,
// which takes no past, no attention_bias and no other orders either.
#include "core/format.h"
#include "ops/microsoft/integer_product.h"
#include "ops/microsoft/matrix_order.h"
#include "ops/microsoft/self_attention.h"

namespace octet::ms::op_QOrderedAttention {
namespace {

enum Input : size_t {
  kX = 0,
  kXScale = 1,
  kProductScale = 2, ///< of q, then k and v
  kWeight = 5,
  kWeightScale = 8,
  kBias = 11,
  kScoreScale = 14,
  kSoftmaxScale = 15,
  kOutputScale = 16,
  kMask = 17,
  kPast = 18,
  kAddition = 19,
};

Status check_orders(const Node& node) {
  constexpr std::pair<const char*, ms::MatrixOrder> kOrders[] = {
      {"order_input", ms::MatrixOrder::kRows},
      {"order_weight", ms::MatrixOrder::kColumns},
      {"order_output", ms::MatrixOrder::kRows}};
  for (const auto& [attribute, wanted] : kOrders) {
    const auto order = OCTET_TRY(ms::parse_order(node, attribute));
    if (order != wanted)
      return error(ErrorCode::kUnsupported, "{} is {}, which nothing runs; use {}", attribute,
                   ms::name(order), ms::name(wanted));
  }
  return ok_status();
}

Status check_part(const InferContext& ctx, size_t part) {
  OCTET_TRY(check_input(ctx, kProductScale + part, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_scalar(ctx, kProductScale + part));
  OCTET_TRY(check_input(ctx, kWeight + part, TypeSet{DType::kInt8}));
  OCTET_TRY(check_rank(ctx, kWeight + part, 2, 2));
  OCTET_TRY(check_input(ctx, kWeightScale + part, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_input(ctx, kBias + part, TypeSet{DType::kFloat32}));
  const TypeInfo &x = ctx.input(kX).type, &w = ctx.input(kWeight + part).type;
  OCTET_TRY(ms::check_column_values(ctx, kWeightScale + part, w));
  if (!w.has_rank()) return ok_status();
  if (x.has_rank())
    OCTET_TRY(merge_dims((*x.shape)[2], (*w.shape)[0], "columns of x and rows of the weights"));
  return check_vector(ctx, kBias + part, (*w.shape)[1], "bias elements and columns");
}

/// The columns of the three weights, where they are known.
std::optional<Shape> columns_of(const InferContext& ctx) {
  Shape columns;
  for (size_t part = 0; part < 3; ++part) {
    const TypeInfo& w = ctx.input(kWeight + part).type;
    if (!w.has_rank() || !(*w.shape)[1].is_constant()) return std::nullopt;
    columns.push_back((*w.shape)[1].value());
  }
  return columns;
}

Result<ms::SelfAttention> parse(const Node& node, const Shape& columns) {
  auto a = OCTET_TRY(ms::parse_self_attention(node, columns[0] + columns[1] + columns[2]));
  if (columns != Shape{a.query, a.query, a.value})
    return error("weights of {}, {} and {} columns do not fit {}, {} and {}", columns[0],
                 columns[1], columns[2], a.query, a.query, a.value);
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 17, 20));
  OCTET_TRY(check_orders(ctx.node));
  OCTET_TRY(check_input(ctx, kX, TypeSet{DType::kInt8}));
  OCTET_TRY(check_rank(ctx, kX, 3, 3));
  for (const size_t scale : {kXScale, kOutputScale})
    OCTET_TRY(check_input(ctx, scale, TypeSet{DType::kFloat32}));
  for (const size_t scale : {kXScale, kScoreScale, kSoftmaxScale, kOutputScale}) {
    OCTET_TRY(check_optional(ctx, scale, TypeSet{DType::kFloat32}));
    OCTET_TRY(check_scalar(ctx, scale));
  }
  OCTET_TRY(check_optional(ctx, kMask, TypeSet{DType::kInt32}));
  if (ctx.has(kPast) || ctx.has(kAddition))
    return error(ErrorCode::kUnsupported,
                 "past and attention_bias are not evaluated; leave them out");
  for (size_t part = 0; part < 3; ++part)
    OCTET_TRY(check_part(ctx, part));
  std::vector<Dim> out = unknown_dims(3);
  if (const auto columns = columns_of(ctx)) out[2] = OCTET_TRY(parse(ctx.node, *columns)).value;
  if (const TypeInfo& x = ctx.input(kX).type; x.has_rank()) {
    out[0] = (*x.shape)[0];
    out[1] = (*x.shape)[1];
  }
  return one(DType::kInt8, out);
}

/// One of q, k and v, as rounded values [B * S, columns].
Result<std::vector<double>> project(const EvalContext& ctx, size_t part) {
  const Tensor& w = ctx.inputs[kWeight + part];
  const ms::ScaledProduct p{.a = ctx.inputs[kX],
                            .a_zero = Tensor(),
                            .b = OCTET_TRY(ms::weight_rows(w, ms::MatrixOrder::kColumns)),
                            .b_zero = Tensor(),
                            .a_scale = ctx.inputs[kXScale].at(0),
                            .b_scale = ctx.inputs[kWeightScale + part],
                            .bias = ctx.inputs[kBias + part]};
  const auto y = OCTET_TRY(ms::scaled_product(p));
  const double scale = ctx.inputs[kProductScale + part].at(0);
  const Tensor codes = OCTET_TRY(
      ms::quantized(DType::kInt8, {static_cast<int64_t>(y.size())}, y, static_cast<float>(scale)));
  return ms::dequantized(codes, scale);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  Shape columns;
  for (size_t part = 0; part < 3; ++part)
    columns.push_back(ctx.inputs[kWeight + part].dim(1));
  auto a = OCTET_TRY(parse(ctx.node, columns));
  if (ctx.has(kScoreScale)) a.score_step = ctx.inputs[kScoreScale].at(0);
  if (ctx.has(kSoftmaxScale)) a.softmax_step = ctx.inputs[kSoftmaxScale].at(0);
  const auto tokens = static_cast<size_t>(shape[0] * shape[1]);
  std::vector<double> projected;
  std::vector<std::vector<double>> parts;
  for (size_t part = 0; part < 3; ++part)
    parts.push_back(OCTET_TRY(project(ctx, part)));
  for (size_t t = 0; t < tokens; ++t)
    for (size_t part = 0; part < 3; ++part) {
      const auto row =
          std::span(parts[part])
              .subspan(t * static_cast<size_t>(columns[part]), static_cast<size_t>(columns[part]));
      projected.insert(projected.end(), row.begin(), row.end());
    }
  const Tensor mask = ctx.has(kMask) ? ctx.inputs[kMask] : Tensor();
  const auto y = OCTET_TRY(ms::attend(a, ctx.inputs[kX].shape(), projected, mask, Tensor()));
  return one(OCTET_TRY(
      ms::quantized(DType::kInt8, shape, y, static_cast<float>(ctx.inputs[kOutputScale].at(0)))));
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

} // namespace octet::ms::op_QOrderedAttention
