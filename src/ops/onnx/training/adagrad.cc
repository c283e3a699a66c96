// SPDX-License-Identifier: Apache-2.0
// Adagrad (ai.onnx.preview.training 1). g' = norm_coefficient x + g; h += g'^2;
// x -= r / (1 + T decay_factor) g' / (sqrt(h) + epsilon).
#include <cmath>

#include "ops/shared/optimizer_step.h"

namespace octet::training::op_Adagrad {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_optimizer(ctx, 1);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const double epsilon = float_attribute(ctx.node, "epsilon", 1e-6F);
  const double slowing = float_attribute(ctx.node, "decay_factor", 0);
  const double decay = float_attribute(ctx.node, "norm_coefficient", 0);
  return eval_optimizer(
      infer, ctx, 1, [=](double rate, int64_t steps, double& x, double g, std::span<double> state) {
        g += decay * x;
        state[0] += g * g;
        x -=
            rate / (1 + static_cast<double>(steps) * slowing) * g / (std::sqrt(state[0]) + epsilon);
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

} // namespace octet::training::op_Adagrad
