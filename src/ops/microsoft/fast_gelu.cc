// SPDX-License-Identifier: Apache-2.0
// FastGelu (com.microsoft 1). v = x + b (b broadcasts to x, may be omitted); y = v / 2 *
// (1 + tanh(sqrt(2 / pi) * (v + 0.044715 v^3))).
#include <cmath>
#include <numbers>

#include "ops/shared/elementwise.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_FastGelu {
namespace {

double gelu(double v) {
  return v / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  if (!ctx.has(1)) {
    OCTET_TRY(check_count(ctx, 1, 2));
    OCTET_TRY(check_input(ctx, 0, kFloatTypes));
    return one(ctx.input(0).type);
  }
  OCTET_TRY(check_broadcasts(ctx, 1));
  return infer_binary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  if (!ctx.has(1)) return eval_unary(infer, ctx, {.real = gelu, .integer = {}, .natural = {}});
  return eval_binary(
      infer, ctx,
      {.real = [](double x, double b) { return gelu(x + b); }, .integer = {}, .natural = {}});
}

Role roles(const Node&, size_t input) {
  return input == 1 ? Role::kBias : Role::kData;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_FastGelu
