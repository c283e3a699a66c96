// SPDX-License-Identifier: Apache-2.0
// octet.native LayerNormalization (1), f32, over the last axis: x, gain [K], bias [K] (optional);
// attribute epsilon. numerics::layer_norm_row of core/numerics/reduce.h.
#include "core/numerics/reduce.h"
#include "ops/native/unary.h"
#include "ops/shared/normalization.h"

namespace octet::native::op_LayerNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_optional(c, i, kF32));
  OCTET_TRY(check_present(c, 1));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  const TypeInfo& x = c.input(0).type;
  if (!x.has_rank()) return one(x);
  OCTET_TRY(check_vector(c, 1, x.shape->back(), "gains and elements of a row"));
  OCTET_TRY(check_vector(c, 2, x.shape->back(), "bias elements and elements of a row"));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  const auto gain = OCTET_TRY(c.inputs[1].to_floats());
  std::vector<float> bias;
  if (c.has(2)) bias = OCTET_TRY(c.inputs[2].to_floats());
  const auto row = static_cast<size_t>(y.shape().back());
  const float epsilon = c.node.attr_float("epsilon", 1e-5F);
  float* out = y.mutable_data<float>().data();
  for (size_t at = 0; at < x.size(); at += row)
    numerics::layer_norm_row(x.data() + at, static_cast<int64_t>(row), gain.data(),
                             bias.empty() ? nullptr : bias.data(), epsilon, out + at);
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_LayerNormalization
