// SPDX-License-Identifier: Apache-2.0
// QLinearSigmoid (com.microsoft 1). Codes of 1 / (1 + exp(-x)).
#include <cmath>

#include "ops/ms/codes.h"

namespace octet {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return ms::eval_unary_codes(ms::infer_unary_codes, ctx,
                              [](double x) { return 1 / (1 + std::exp(-x)); });
}

} // namespace

extern const OpDef op_ms_QLinearSigmoid = {
    .domain = "com.microsoft",
    .name = "QLinearSigmoid",
    .since = 1,
    .infer = ms::infer_unary_codes,
    .eval = eval,
    .roles = all_data,
    .quant = ms::is_quantized_already,
};

} // namespace octet
