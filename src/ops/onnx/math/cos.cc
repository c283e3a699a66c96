// SPDX-License-Identifier: Apache-2.0
// Cos (opset 7), of radians.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Cos {
namespace {

double value(double x) {
  return std::cos(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<-1, 1>,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Cos
