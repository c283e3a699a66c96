// SPDX-License-Identifier: Apache-2.0
// NonZero (opset 9). The coordinates of the elements that are not zero, in order: int64 of shape
// [rank, count].
#include <algorithm>

#include "ops/shared/elementwise.h"

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
  const auto rank = static_cast<size_t>(x.rank());
  const auto found = static_cast<size_t>(
      std::count_if(values.begin(), values.end(), [](double v) { return v != 0; }));
  Tensor y = OCTET_TRY(Tensor::zeros(DType::kInt64, {x.rank(), static_cast<int64_t>(found)}));
  const auto out = y.mutable_data<int64_t>();
  Shape at(rank, 0);
  size_t next = 0;
  for (const double v : values) {
    if (v != 0) {
      for (size_t axis = 0; axis < rank; ++axis)
        out[axis * found + next] = at[axis];
      ++next;
    }
    for (size_t axis = rank; axis-- > 0 && ++at[axis] == x.shape()[axis];)
      at[axis] = 0;
  }
  return one(std::move(y));
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
