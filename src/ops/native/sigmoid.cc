// SPDX-License-Identifier: Apache-2.0
// octet.native Sigmoid (1), f32. 1 / (1 + e^-x) by the polynomials of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Sigmoid {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return map_float(c, infer_float, numerics::sigmoid);
}

} // namespace

extern const OpDef def = {
    .domain = "octet.native",
    .name = "Sigmoid",
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

} // namespace octet::native::op_Sigmoid
