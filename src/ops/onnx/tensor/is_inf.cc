// SPDX-License-Identifier: Apache-2.0
// IsInf (opset 10). True where x is infinite, of the signs that the attributes name; types of 8
// bits too (opset 20).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_IsInf {
namespace {

struct IsInfAttrs {
  bool negative = true;
  bool positive = true;
};

IsInfAttrs parse(const Node& node) {
  return {.negative = node.attr_int("detect_negative", 1) != 0,
          .positive = node.attr_int("detect_positive", 1) != 0};
}

constexpr TypeSet kTypes = kFloatTypes | TypeSet{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
                                                 DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  auto outputs = OCTET_TRY(infer_unary(ctx, kTypes));
  outputs[0].type.type = DType::kBool;
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const IsInfAttrs a = parse(ctx.node);
  const Tensor& x = ctx.inputs[0];
  std::vector<int64_t> out;
  for (double v : OCTET_TRY(x.to_doubles()))
    out.push_back(std::isinf(v) && (v < 0 ? a.negative : a.positive));
  return one(OCTET_TRY(integer_tensor(DType::kBool, x.shape(), out)));
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_IsInf
