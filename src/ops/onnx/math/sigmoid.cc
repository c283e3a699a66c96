// SPDX-License-Identifier: Apache-2.0
// Sigmoid (opset 6). y = 1 / (1 + e^-x), without overflow on either side.
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Sigmoid {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer_unary<kFloatTypes>, ctx,
                    {.real =
                         [](double x) {
                           if (x >= 0) return 1 / (1 + std::exp(-x));
                           const double e = std::exp(x);
                           return e / (1 + e);
                         },
                     .integer = {},
                     .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = within<0, 1>,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Sigmoid
