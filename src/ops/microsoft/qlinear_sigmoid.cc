// SPDX-License-Identifier: Apache-2.0
// QLinearSigmoid (com.microsoft 1). Codes of 1 / (1 + exp(-x)).
#include <cmath>

#include "ops/microsoft/codes.h"

namespace octet::ms::op_QLinearSigmoid {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return ms::eval_unary_codes(ms::infer_unary_codes, ctx,
                              [](double x) { return 1 / (1 + std::exp(-x)); });
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_unary_codes,
    .eval = eval,
    .roles = all_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::ms::op_QLinearSigmoid
