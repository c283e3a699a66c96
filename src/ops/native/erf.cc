// SPDX-License-Identifier: Apache-2.0
// octet.native Erf (1), f32. The error function by the polynomials of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Erf {

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_float,
    .eval = eval_float<numerics::erf>,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Erf
