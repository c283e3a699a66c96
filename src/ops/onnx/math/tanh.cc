// SPDX-License-Identifier: Apache-2.0
// Tanh (opset 6).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Tanh {
namespace {

double value(double x) {
  return std::tanh(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<-1, 1>,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Tanh
