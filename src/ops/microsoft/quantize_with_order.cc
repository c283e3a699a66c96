// SPDX-License-Identifier: Apache-2.0
// QuantizeWithOrder (com.microsoft 1). x: [.., rows, columns] (f16 or f32) in order_input, scale:
// one number; y: int8 codes of x / scale, to nearest, ties to even, in order_output; see
// matrix_order.h. ONNX Runtime multiplies by 1 / scale in f32 (from f16 into ORDER_COL32 in f16),
// so its codes may be one step apart where x / scale lies at a tie.
// Source: ONNX Runtime, docs/ContribOperators.md and contrib_ops/cuda/quantization/qordered_ops.
#include "ops/microsoft/codes.h"
#include "ops/microsoft/matrix_order.h"

namespace octet::ms::op_QuantizeWithOrder {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kFloat16, DType::kFloat32}));
  OCTET_TRY(check_input(ctx, 1, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_scalar(ctx, 1));
  const TypeInfo& x = ctx.input(0).type;
  OCTET_TRY(ms::check_orders(ctx.node, x));
  return one(DType::kInt8, x.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto values = OCTET_TRY(ctx.inputs[0].to_doubles());
  const auto scale = static_cast<float>(ctx.inputs[1].at(0));
  const Tensor codes = OCTET_TRY(ms::quantized(DType::kInt8, shape, values, scale));
  return one(OCTET_TRY(ms::reorder(codes, ctx.node)));
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
    .facts = kNoFacts,
};

} // namespace octet::ms::op_QuantizeWithOrder
