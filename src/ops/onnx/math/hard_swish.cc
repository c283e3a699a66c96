// SPDX-License-Identifier: Apache-2.0
// HardSwish (opset 14). y = x * max(0, min(1, x / 6 + 0.5)).
#include <algorithm>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_HardSwish {
namespace {

double value(double x) {
  return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
}

} // namespace

extern const OpFacets facets = {
    .since = 14,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_HardSwish
