// SPDX-License-Identifier: Apache-2.0
// octet.native Tanh (1), f32. The hyperbolic tangent by the polynomials of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Tanh {

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_float,
    .eval = eval_float<numerics::tanh>,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Tanh
