// SPDX-License-Identifier: Apache-2.0
// Exp (opset 6). y = e^x.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Exp {
namespace {

double value(double x) {
  return std::exp(x);
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

} // namespace octet::onnx::op_Exp
