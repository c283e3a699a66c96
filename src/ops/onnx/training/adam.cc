// SPDX-License-Identifier: Apache-2.0
// Adam (ai.onnx.preview.training 1). g' = norm_coefficient x + g; v = alpha v + (1 - alpha) g';
// h = beta h + (1 - beta) g'^2; x -= r' v / (sqrt(h) + epsilon), then x *= 1 -
// norm_coefficient_post. r' = r sqrt(1 - beta^T) / (1 - alpha^T), r itself for T = 0.
#include <cmath>

#include "ops/shared/optimizer_step.h"

namespace octet::training::op_Adam {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_optimizer(ctx, 2);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const double alpha = float_attribute(ctx.node, "alpha", 0.9F);
  const double beta = float_attribute(ctx.node, "beta", 0.999F);
  const double epsilon = float_attribute(ctx.node, "epsilon", 0);
  const double decay = float_attribute(ctx.node, "norm_coefficient", 0);
  const double decay_after = float_attribute(ctx.node, "norm_coefficient_post", 0);
  return eval_optimizer(
      infer, ctx, 2, [=](double rate, int64_t steps, double& x, double g, std::span<double> state) {
        g += decay * x;
        state[0] = alpha * state[0] + (1 - alpha) * g;
        state[1] = beta * state[1] + (1 - beta) * g * g;
        const auto t = static_cast<double>(steps);
        if (steps > 0) rate *= std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t));
        x = (1 - decay_after) * (x - rate * state[0] / (std::sqrt(state[1]) + epsilon));
      });
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::training::op_Adam
