// SPDX-License-Identifier: Apache-2.0
// QLinearMul (com.microsoft 1). Codes of a * b.
#include "ops/microsoft/codes.h"

namespace octet::ms::op_QLinearMul {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return ms::eval_binary_codes(ms::infer_binary_codes, ctx,
                               [](double a, double b) { return a * b; });
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_binary_codes,
    .eval = eval,
    .roles = all_data,
    .quant = is_quantized_already,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::ms::op_QLinearMul
