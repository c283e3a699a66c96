// SPDX-License-Identifier: Apache-2.0
// Atan (opset 7), in radians.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Atan {
namespace {

double value(double x) {
  return std::atan(x);
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

} // namespace octet::onnx::op_Atan
