// SPDX-License-Identifier: Apache-2.0
// DequantizeWithOrder (com.microsoft 1). x: int8 codes [.., rows, columns] in order_input, scale:
// one number; y: code * scale in order_output, of the type `to` (f32 or f16); see matrix_order.h.
// Source: ONNX Runtime, docs/ContribOperators.md and contrib_ops/cuda/quantization/qordered_ops.
#include "core/format.h"
#include "ops/microsoft/codes.h"
#include "ops/microsoft/matrix_order.h"

namespace octet::ms::op_DequantizeWithOrder {
namespace {

Result<DType> type_of(const Node& node) {
  const auto to = static_cast<DType>(node.attr_int("to", 0));
  if (to != DType::kFloat32 && to != DType::kFloat16)
    return error("to is {}; give 1 (float) or 10 (float16)", node.attr_int("to", 0));
  return to;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kInt8}));
  OCTET_TRY(check_input(ctx, 1, TypeSet{DType::kFloat32}));
  OCTET_TRY(check_scalar(ctx, 1));
  const TypeInfo& x = ctx.input(0).type;
  OCTET_TRY(ms::check_orders(ctx.node, x));
  return one(OCTET_TRY(type_of(ctx.node)), x.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto values = OCTET_TRY(ms::dequantized(ctx.inputs[0], ctx.inputs[1].at(0)));
  const Tensor y = OCTET_TRY(rounded(OCTET_TRY(type_of(ctx.node)), shape, values));
  return one(OCTET_TRY(ms::reorder(y, ctx.node)));
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

} // namespace octet::ms::op_DequantizeWithOrder
