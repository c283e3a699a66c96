// SPDX-License-Identifier: Apache-2.0
// BiasGelu (com.microsoft 1). b broadcasts to x; y = gelu(x + b), gelu(v) = v / 2 *
// (1 + erf(v / sqrt 2)).
#include <cmath>
#include <numbers>

#include "ops/shared/elementwise.h"
#include "ops/shared/normalization.h"

namespace octet::ms::op_BiasGelu {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_broadcasts(ctx, 1));
  return infer_binary(ctx, kFloatTypes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto gelu = [](double x, double b) {
    return (x + b) / 2 * (1 + std::erf((x + b) / std::numbers::sqrt2));
  };
  return eval_binary(infer, ctx, {.real = gelu, .integer = {}, .natural = {}});
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

} // namespace octet::ms::op_BiasGelu
