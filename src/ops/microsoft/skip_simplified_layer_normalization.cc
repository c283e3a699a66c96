// SPDX-License-Identifier: Apache-2.0
// SkipSimplifiedLayerNormalization (com.microsoft 1). s = x + skip + bias (bias may be omitted;
// skip broadcasts); y = s / sqrt(mean(s^2) + epsilon) * gamma over the last axis. Outputs y, a mean
// that is never computed, 1 / sqrt(mean(s^2) + epsilon) and s.
#include <limits>

#include "ops/shared/movement.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_SkipSimplifiedLayerNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 4));
  for (size_t i = 0; i < 4; ++i) {
    if (i < 3) OCTET_TRY(check_present(ctx, i));
    OCTET_TRY(check_optional(ctx, i, kFloatTypes));
  }
  const TypeInfo& x = ctx.input(0).type;
  OCTET_TRY(check_broadcasts(ctx, 1));
  TypeInfo statistic = x;
  statistic.type = DType::kFloat32;
  if (x.has_rank()) {
    if (x.rank() < 1) return Error("x is a scalar; it must have an axis to normalize over");
    for (size_t i = 2; i < 4; ++i)
      OCTET_TRY(check_vector(ctx, i, x.shape->back(), "gamma or bias and the last axis"));
    statistic.shape->back() = 1;
  }
  return std::vector<OutputInfo>{x, statistic, statistic, x};
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Tensor& xt = ctx.inputs[0];
  auto s = OCTET_TRY(xt.to_doubles());
  const auto skip = OCTET_TRY(ctx.inputs[1].to_doubles());
  const auto from = broadcast_index(ctx.inputs[1].shape(), xt.shape());
  const auto width = static_cast<size_t>(xt.shape().back());
  for (size_t i = 0; i < s.size(); ++i) {
    s[i] += skip[static_cast<size_t>(from[i])];
    if (ctx.has(3)) s[i] += ctx.inputs[3].at(static_cast<int64_t>(i % width));
  }
  const Tensor sum = OCTET_TRY(rounded(xt.type(), xt.shape(), s));
  const double epsilon = ctx.node.attr_float("epsilon", 1e-12F);
  const Shape statistic = OCTET_TRY(shape_of(outputs[1]));
  std::vector<double> factors(static_cast<size_t>(product(statistic)),
                              std::numeric_limits<double>::quiet_NaN());
  for (size_t at = 0; at < s.size(); at += width)
    factors[at / width] = standardize_rms(std::span(s).subspan(at, width), epsilon);
  OCTET_TRY(scale_and_shift(s, xt.shape(), ctx.inputs[2], Tensor()));
  return std::vector<Tensor>{OCTET_TRY(rounded(xt.type(), xt.shape(), s)),
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
