// SPDX-License-Identifier: Apache-2.0
// Momentum (ai.onnx.preview.training 1). g' = norm_coefficient x + g; v = alpha v + beta g' (beta
// counts as 1 in the first step); x -= r v, or, with mode nesterov, x -= r (g' + alpha v).
#include "core/format.h"
#include "ops/shared/optimizer_step.h"

namespace octet::training::op_Momentum {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  const std::string mode = ctx.node.attr_string("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return error("mode is \"{}\"; use standard or nesterov", mode);
  return infer_optimizer(ctx, 1);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const double alpha = float_attribute(ctx.node, "alpha", 0);
  const double beta = float_attribute(ctx.node, "beta", 0);
  const double decay = float_attribute(ctx.node, "norm_coefficient", 0);
  const bool nesterov = ctx.node.attr_string("mode", "standard") == "nesterov";
  return eval_optimizer(
      infer, ctx, 1, [=](double rate, int64_t steps, double& x, double g, std::span<double> state) {
        g += decay * x;
        state[0] = alpha * state[0] + (steps > 0 ? beta : 1) * g;
        x -= rate * (nesterov ? g + alpha * state[0] : state[0]);
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

} // namespace octet::training::op_Momentum
