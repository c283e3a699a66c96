// SPDX-License-Identifier: Apache-2.0
// Acos (opset 7), in radians.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Acos {
namespace {

double value(double x) {
  return std::acos(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Acos
