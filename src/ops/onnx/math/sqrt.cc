// SPDX-License-Identifier: Apache-2.0
// Sqrt (opset 6). y = sqrt(x), NaN below 0.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Sqrt {
namespace {

double value(double x) {
  return std::sqrt(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = not_negative,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Sqrt
