// SPDX-License-Identifier: Apache-2.0
// octet.native Exp (1), f32. e^x by the polynomial of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Exp {

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_float,
    .eval = eval_float<numerics::exp>,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Exp
