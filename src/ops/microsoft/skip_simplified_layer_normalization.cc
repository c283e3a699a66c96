// SPDX-License-Identifier: Apache-2.0
// SkipSimplifiedLayerNormalization (com.microsoft 1). s = x + skip + bias (bias may be omitted; x
// and skip broadcast); y = s / sqrt(mean(s^2) + epsilon) * gamma over the last axis. Outputs y, a
// mean that is never computed, 1 / sqrt(mean(s^2) + epsilon) and s.
#include <limits>

#include "ops/microsoft/skip_sum.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_SkipSimplifiedLayerNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_skip(ctx, 4);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Tensor& xt = ctx.inputs[0];
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  auto s = OCTET_TRY(skip_sum(ctx, shape, 3));
  const auto width = static_cast<size_t>(shape.back());
  const Tensor sum = OCTET_TRY(rounded(xt.type(), shape, s));
  const double epsilon = ctx.node.attr_float("epsilon", 1e-12F);
  const Shape statistic = OCTET_TRY(shape_of(outputs[1]));
  std::vector<double> factors(static_cast<size_t>(product(statistic)),
                              std::numeric_limits<double>::quiet_NaN());
  for (size_t at = 0; at < s.size(); at += width)
    factors[at / width] = standardize_rms(std::span(s).subspan(at, width), epsilon);
  OCTET_TRY(scale_and_shift(s, shape, ctx.inputs[2], Tensor()));
  return std::vector<Tensor>{OCTET_TRY(rounded(xt.type(), shape, s)),
                             OCTET_TRY(Tensor::zeros(DType::kFloat32, statistic)),
                             OCTET_TRY(rounded(DType::kFloat32, statistic, factors)), sum};
}

Role roles(const Node&, size_t input) {
  return input < 2 ? Role::kData : input == 2 ? Role::kGain : Role::kBias;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.optional_outputs = 0b1110},
};

} // namespace octet::ms::op_SkipSimplifiedLayerNormalization
