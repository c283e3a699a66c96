// SPDX-License-Identifier: Apache-2.0
// octet.native Erf (1), f32. The error function by the polynomials of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Erf {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return map_float(c, infer_float, numerics::erf);
}

} // namespace

extern const OpDef def = {
    .domain = "octet.native",
    .name = "Erf",
    .since = 1,
    .infer = infer_float,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Erf
