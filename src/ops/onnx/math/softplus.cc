// SPDX-License-Identifier: Apache-2.0
// Softplus (opset 1). y = ln(1 + e^x), without overflow for large x.
#include <algorithm>
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Softplus {
namespace {

double value(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Softplus
