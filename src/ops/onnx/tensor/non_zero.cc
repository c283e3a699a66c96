// SPDX-License-Identifier: Apache-2.0
// NonZero (opset 9). The coordinates of the elements that are not zero, in order: int64 of shape
// [rank, count].
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_NonZero {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes | kBoolType));
  const TypeInfo& x = ctx.input(0).type;
  const Dim rank = x.has_rank() ? Dim(x.rank()) : Dim::unknown();
  return one(DType::kInt64, std::vector<Dim>{rank, Dim::unknown()});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto values = OCTET_TRY(x.to_doubles());
  std::vector<int64_t> found;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0) found.push_back(static_cast<int64_t>(i));
  const Shape strides = strides_of(x.shape());
  std::vector<int64_t> out;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    for (int64_t i : found)
      out.push_back(i / strides[axis] % x.shape()[axis]);
  return one(Tensor::of<int64_t>({x.rank(), static_cast<int64_t>(found.size())}, out));
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

} // namespace octet::onnx::op_NonZero
