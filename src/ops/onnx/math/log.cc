// SPDX-License-Identifier: Apache-2.0
// Log (opset 6). y = ln x.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Log {
namespace {

double value(double x) {
  return std::log(x);
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval_real<value>,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Log
