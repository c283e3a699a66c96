// SPDX-License-Identifier: Apache-2.0
// octet.native Exp (1), f32. e^x by the polynomial of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return map_float(c, infer_float, numerics::exp);
}

} // namespace
} // namespace octet::native

namespace octet {

extern const OpDef op_native_Exp = {
    .domain = "octet.native",
    .name = "Exp",
    .since = 1,
    .infer = native::infer_float,
    .eval = native::eval,
    .roles = all_data,
    .quant = native::is_lowered,
};

} // namespace octet
