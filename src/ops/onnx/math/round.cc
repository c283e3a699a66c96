// SPDX-License-Identifier: Apache-2.0
// Round (opset 11). To the nearest integer, halves to even.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Round {
namespace {

double value(double x) {
  return std::nearbyint(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.idempotent = true, .exact = true, .unchanged = true},
};

} // namespace octet::onnx::op_Round
