// SPDX-License-Identifier: Apache-2.0
// Identity (opset 1). y = x, of any type.
#include "ops/shared/types.h"

namespace octet::onnx::op_Identity {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  auto outputs = one(ctx.input(0).type);
  outputs[0].value = known_dims(ctx.input(0));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  return one(ctx.inputs[0]);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kView>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Identity
