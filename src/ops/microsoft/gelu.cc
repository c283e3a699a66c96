// SPDX-License-Identifier: Apache-2.0
// Gelu (com.microsoft 1). y = x / 2 * (1 + erf(x / sqrt 2)).
#include <cmath>
#include <numbers>

#include "ops/shared/elementwise.h"

namespace octet::ms::op_Gelu {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_unary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(
      infer, ctx,
      {.real = [](double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); },
       .integer = {},
       .natural = {}});
}

} // namespace

extern const OpDef def = {
    .domain = "com.microsoft",
    .name = "Gelu",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_Gelu
