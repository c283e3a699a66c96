// SPDX-License-Identifier: Apache-2.0
// QOrderedLayerNormalization (com.microsoft 1). x: int8 codes [.., rows, columns], scale_x, gain
// [columns], bias? [columns] (f16 or f32), scale_y: y: codes of the layer norm of each row of
// x * scale_x, divided by scale_y, to nearest, ties to even. order_X and order_Y are equal
// (default ORDER_ROW). Source: ONNX Runtime, docs/ContribOperators.md and
// contrib_ops/cuda/quantization/qordered_ops, which runs ORDER_ROW and the last axis only.
#include "core/format.h"
#include "ops/definitions.h"
#include "ops/microsoft/codes.h"
#include "ops/microsoft/matrix_order.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_QOrderedLayerNormalization {
namespace {

constexpr int64_t kVersion = 17;

Result<ms::MatrixOrder> parse(const Node& node) {
  return ms::same_order(node, ms::MatrixOrder::kRows);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 5, 5));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kInt8}));
  for (const size_t scale : {1, 4}) {
    OCTET_TRY(check_input(ctx, scale, TypeSet{DType::kFloat32}));
    OCTET_TRY(check_scalar(ctx, scale));
  }
  constexpr TypeSet kGainTypes{DType::kFloat16, DType::kFloat32};
  OCTET_TRY(check_input(ctx, 2, kGainTypes));
  OCTET_TRY(check_optional(ctx, 3, kGainTypes));
  OCTET_TRY(common_type(ctx, 2, 3));
  const TypeInfo& x = ctx.input(0).type;
  OCTET_TRY(ms::check_tiles(x, OCTET_TRY(parse(ctx.node))));
  if (x.has_rank()) {
    const int64_t axis = OCTET_TRY(normalize_axis(ctx.node.attr_int("axis", -1), x.rank()));
    if (axis != x.rank() - 1)
      return error(ErrorCode::kUnsupported, "axis {} of {} is not the last; use LayerNormalization",
                   axis, x.rank());
    OCTET_TRY(check_vector(ctx, 2, x.shape->back(), "gains and columns"));
    OCTET_TRY(check_vector(ctx, 3, x.shape->back(), "biases and columns"));
  }
  return one(DType::kInt8, x.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto order = OCTET_TRY(parse(ctx.node));
  const Tensor codes = OCTET_TRY(ms::reorder(ctx.inputs[0], order, ms::MatrixOrder::kRows));
  const auto values = OCTET_TRY(ms::dequantized(codes, ctx.inputs[1].at(0)));
  std::vector<Tensor> inputs = {OCTET_TRY(rounded(DType::kFloat32, shape, values)), ctx.inputs[2]};
  if (ctx.has(3)) inputs.push_back(ctx.inputs[3]);
  const auto y = OCTET_TRY(onnx::op_LayerNormalization::facets.eval.fn({.node = ctx.node,
                                                                        .version = kVersion,
                                                                        .inputs = std::move(inputs),
                                                                        .run_body = {},
                                                                        .seed = 0}));
  const Tensor rows = OCTET_TRY(ms::quantized(DType::kInt8, shape, OCTET_TRY(y[0].to_doubles()),
                                              static_cast<float>(ctx.inputs[4].at(0))));
  return one(OCTET_TRY(ms::reorder(rows, ms::MatrixOrder::kRows, order)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::ms::op_QOrderedLayerNormalization
