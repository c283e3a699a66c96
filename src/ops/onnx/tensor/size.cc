// SPDX-License-Identifier: Apache-2.0
// Size (opset 1). y = the number of elements of x, as an int64 scalar.
#include "ops/shared/types.h"

namespace octet::onnx::op_Size {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  auto outputs = one(DType::kInt64, std::vector<Dim>{});
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return outputs;
  Dim count = 1;
  for (const Dim& d : *x.shape)
    count = count * d;
  set_value(outputs[0], std::vector<Dim>{count});
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  return one(Tensor::scalar<int64_t>(ctx.inputs[0].count()));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Size
