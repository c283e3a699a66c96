// SPDX-License-Identifier: Apache-2.0
// Bernoulli (opset 15 to 22). Each element is 1 with the probability that the input has there, else
// 0. An input that is no probability gives 0 (below 0, or NaN) or 1.
#include "ops/shared/random.h"

namespace octet::onnx::op_Bernoulli {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  TypeInfo y = ctx.input(0).type;
  y.type = OCTET_TRY(drawn_type(ctx.node, y.type, kNumericTypes | kBoolType));
  return one(y);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  auto values = OCTET_TRY(ctx.inputs[0].to_doubles());
  Philox generator = generator_of(ctx);
  for (double& v : values)
    v = generator.uniform() < v ? 1 : 0;
  return one(OCTET_TRY(rounded(outputs[0].type.type, ctx.inputs[0].shape(), values)));
}

} // namespace

extern const OpFacets facets = {
    .since = 15,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = within<0, 1>,
    .facts = Facts{.random = true, .unchanged = true},
};

} // namespace octet::onnx::op_Bernoulli
