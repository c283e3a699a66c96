// SPDX-License-Identifier: Apache-2.0
// SkipLayerNormalization (com.microsoft 1). s = x + skip + bias (bias may be omitted; x and skip
// broadcast); y = (s - mean) / sqrt(variance + epsilon) * gamma + beta over the last axis. Outputs
// y, mean, 1 / sqrt(variance + epsilon) and s.
#include <cmath>

#include "ops/microsoft/skip_sum.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_SkipLayerNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_skip(ctx, 5);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Tensor& xt = ctx.inputs[0];
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  auto s = OCTET_TRY(skip_sum(ctx, shape, 4));
  const auto width = static_cast<size_t>(shape.back());
  const Tensor sum = OCTET_TRY(rounded(xt.type(), shape, s));
  const auto epsilon = static_cast<double>(ctx.node.attr_float("epsilon", 1e-12F));
  std::vector<double> means, factors;
  for (size_t at = 0; at < s.size(); at += width) {
    const auto line = std::span(s).subspan(at, width);
    const Moments m = moments(line);
    means.push_back(m.mean);
    factors.push_back(1 / std::sqrt(m.variance + epsilon));
    standardize(line, means.back(), factors.back());
  }
  OCTET_TRY(scale_and_shift(s, shape, ctx.inputs[2], ctx.has(3) ? ctx.inputs[3] : Tensor()));
  const Shape statistic = OCTET_TRY(shape_of(outputs[1]));
  return std::vector<Tensor>{OCTET_TRY(rounded(xt.type(), shape, s)),
                             OCTET_TRY(rounded(DType::kFloat32, statistic, means)),
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
    .facts = kNoFacts,
};

} // namespace octet::ms::op_SkipLayerNormalization
