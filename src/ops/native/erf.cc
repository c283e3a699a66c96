// SPDX-License-Identifier: Apache-2.0
// octet.native Erf (1), f32. The error function by the polynomials of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return map_float(c, infer_float, numerics::erf);
}

} // namespace
} // namespace octet::native

namespace octet {

extern const OpDef op_native_Erf = {
    .domain = "octet.native",
    .name = "Erf",
    .since = 1,
    .infer = native::infer_float,
    .eval = native::eval,
    .roles = all_data,
    .quant = native::is_lowered,
};

} // namespace octet
