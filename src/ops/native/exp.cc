// SPDX-License-Identifier: Apache-2.0
// octet.native Exp (1), f32. e^x by the polynomial of core/numerics/math.h.
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Exp {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return map_float(c, infer_float, numerics::exp);
}

} // namespace

extern const OpDef def = {
    .domain = "octet.native",
    .name = "Exp",
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

} // namespace octet::native::op_Exp
