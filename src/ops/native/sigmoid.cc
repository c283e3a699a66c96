// SPDX-License-Identifier: Apache-2.0
// octet.native Sigmoid (1), f32. 1 / (1 + e^-x) by the polynomials of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Sigmoid {

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_float,
    .eval = eval_float<numerics::sigmoid>,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Sigmoid
