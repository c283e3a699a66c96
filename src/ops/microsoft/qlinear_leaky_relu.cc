// SPDX-License-Identifier: Apache-2.0
// QLinearLeakyRelu (com.microsoft 1). Codes of x, or of alpha * x where x is negative.
#include "ops/microsoft/codes.h"

namespace octet::ms::op_QLinearLeakyRelu {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto alpha = static_cast<double>(ctx.node.attr_float("alpha", 0.01F));
  return ms::eval_unary_codes(ms::infer_unary_codes, ctx,
                              [alpha](double x) { return x >= 0 ? x : alpha * x; });
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

} // namespace octet::ms::op_QLinearLeakyRelu
