// SPDX-License-Identifier: Apache-2.0
// QuickGelu (com.microsoft 1). y = x * sigmoid(alpha * x).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::ms::op_QuickGelu {
namespace {

constexpr float kAlpha = 1.702F;

/// x / (1 + exp(-alpha x)), whose exponential may overflow: -infinity would give a NaN.
double quick_gelu(double x, double alpha) {
  const double slope = alpha * x;
  return slope < 0 ? x * (std::exp(slope) / (1 + std::exp(slope))) : x / (1 + std::exp(-slope));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const double alpha = ctx.node.attr_float("alpha", kAlpha);
  return eval_unary(
      infer_unary<kFloatTypes>, ctx,
      {.real = [alpha](double x) { return quick_gelu(x, alpha); }, .integer = {}, .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_QuickGelu
