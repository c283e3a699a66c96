// SPDX-License-Identifier: Apache-2.0
// QOrderedGelu (com.microsoft 1). x: int8 codes, scale_x, scale_y: y: codes of
// Gelu(x * scale_x) / scale_y, to nearest, ties to even. The same for every order, which order_X
// and order_Y (equal; optional) name. Source: ONNX Runtime, docs/ContribOperators.md and
// contrib_ops/cuda/quantization/qordered_ops.
#include "ops/definitions.h"
#include "ops/microsoft/codes.h"
#include "ops/microsoft/matrix_order.h"

namespace octet::ms::op_QOrderedGelu {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kInt8}));
  for (const size_t scale : {1, 2}) {
    OCTET_TRY(check_input(ctx, scale, TypeSet{DType::kFloat32}));
    OCTET_TRY(check_scalar(ctx, scale));
  }
  OCTET_TRY(ms::same_order(ctx.node));
  return one(DType::kInt8, ctx.input(0).type.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto values = OCTET_TRY(ms::dequantized(ctx.inputs[0], ctx.inputs[1].at(0)));
  const Tensor x = OCTET_TRY(rounded(DType::kFloat32, shape, values));
  const auto y = OCTET_TRY(ms::op_Gelu::facets.eval.fn(
      {.node = ctx.node, .version = 1, .inputs = one(x), .run_body = {}, .seed = 0}));
  return one(OCTET_TRY(ms::quantized(DType::kInt8, shape, OCTET_TRY(y[0].to_doubles()),
                                     static_cast<float>(ctx.inputs[2].at(0)))));
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

} // namespace octet::ms::op_QOrderedGelu
