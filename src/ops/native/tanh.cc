// SPDX-License-Identifier: Apache-2.0
// octet.native Tanh (1), f32. The hyperbolic tangent by the polynomials of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Tanh {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return map_float(c, infer_float, numerics::tanh);
}

} // namespace

extern const OpDef def = {
    .domain = "octet.native",
    .name = "Tanh",
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

} // namespace octet::native::op_Tanh
