// SPDX-License-Identifier: Apache-2.0
// Ceil (opset 6).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Ceil {
namespace {

double value(double x) {
  return std::ceil(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.idempotent = true, .exact = true, .unchanged = true},
};

} // namespace octet::onnx::op_Ceil
