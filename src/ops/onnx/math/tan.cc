// SPDX-License-Identifier: Apache-2.0
// Tan (opset 7), of radians.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Tan {
namespace {

double value(double x) {
  return std::tan(x);
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

} // namespace octet::onnx::op_Tan
