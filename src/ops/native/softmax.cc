// SPDX-License-Identifier: Apache-2.0
// octet.native Softmax (1), f32, over the last axis: numerics::softmax_row of
// core/numerics/reduce.h.
#include "core/numerics/reduce.h"
#include "ops/native/unary.h"

namespace octet::native::op_Softmax {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_rank(c, 0, 1, 16));
  return infer_float(c);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  const auto row = static_cast<size_t>(y.shape().back());
  float* out = y.mutable_data<float>().data();
  for (size_t at = 0; at < x.size(); at += row)
    numerics::softmax_row(x.data() + at, static_cast<int64_t>(row), out + at);
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Softmax
