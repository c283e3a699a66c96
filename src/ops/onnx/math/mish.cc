// SPDX-License-Identifier: Apache-2.0
// Mish (opset 18). y = x * tanh(ln(1 + e^x)).
#include <algorithm>
#include <cmath>

#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Mish {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_unary(infer_unary<kFloatTypes>, ctx,
                    {.real =
                         [](double x) {
                           return x *
                                  std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))));
                         },
                     .integer = {},
                     .natural = {}});
}

} // namespace

extern const OpFacets facets = {
    .since = 18,
    .infer = infer_unary<kFloatTypes>,
    .eval = eval,
    .roles = all_data,
    .quant = unary_table,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Mish
