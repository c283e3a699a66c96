// SPDX-License-Identifier: Apache-2.0
// Sinh (opset 9).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Sinh {
namespace {

double value(double x) {
  return std::sinh(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Sinh
