// SPDX-License-Identifier: Apache-2.0
// Reciprocal (opset 6). y = 1 / x.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Reciprocal {
namespace {

double value(double x) {
  return 1 / x;
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

} // namespace octet::onnx::op_Reciprocal
