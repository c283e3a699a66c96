// SPDX-License-Identifier: Apache-2.0
// octet.native Softmax (1), f32, along `axis` (the last one if it is not said):
// numerics::softmax_row of core/numerics/reduce.h.
#include "core/numerics/reduce.h"
#include "ops/native/unary.h"
#include "ops/shared/validate.h"

namespace octet::native::op_Softmax {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_rank(c, 0, 1, 16));
  const TypeInfo& x = c.input(0).type;
  if (x.has_rank()) OCTET_TRY(normalize_axis(c.node.attr_int("axis", -1), x.rank()));
  return infer_float(c);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  const int64_t stated = c.node.attr_int("axis", -1);
  const auto axis = static_cast<size_t>(stated < 0 ? stated + y.rank() : stated);
  const auto length = static_cast<size_t>(y.shape()[axis]);
  const auto inner = static_cast<size_t>(product(y.shape(), axis + 1, y.shape().size()));
  float* out = y.mutable_data<float>().data();
  std::vector<float> line(length);
  for (size_t first = 0; first < x.size(); ++first) {
    if (first / inner % length != 0) continue;
    for (size_t i = 0; i < length; ++i)
      line[i] = x[first + i * inner];
    numerics::softmax_row(line.data(), static_cast<int64_t>(length), line.data());
    for (size_t i = 0; i < length; ++i)
      out[first + i * inner] = line[i];
  }
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
