// SPDX-License-Identifier: Apache-2.0
// Gelu (com.microsoft 1). y = x / 2 * (1 + erf(x / sqrt 2)).
#include <cmath>
#include <numbers>

#include "ops/shared/elementwise.h"

namespace octet::ms::op_Gelu {
namespace {

double value(double x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_Gelu
