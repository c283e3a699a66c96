// SPDX-License-Identifier: Apache-2.0
// IsNaN (opset 9). True where x is NaN; types of 8 bits too (opset 20).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_IsNaN {
namespace {

constexpr TypeSet kTypes = kFloatTypes | TypeSet{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
                                                 DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  auto outputs = OCTET_TRY(infer_unary(ctx, kTypes));
  outputs[0].type.type = DType::kBool;
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  std::vector<int64_t> out;
  for (double v : OCTET_TRY(x.to_doubles()))
    out.push_back(std::isnan(v));
  return one(OCTET_TRY(integer_tensor(DType::kBool, x.shape(), out)));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_IsNaN
