// SPDX-License-Identifier: Apache-2.0
// Softsign (opset 1). y = x / (1 + |x|).
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Softsign {
namespace {

double value(double x) {
  return x / (1 + std::abs(x));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<-1, 1>,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Softsign
