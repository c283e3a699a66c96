// SPDX-License-Identifier: Apache-2.0
// octet.native Gelu (1), f32. By the error function, or with approximate "tanh" by the tangent:
// core/numerics/math.h.
#include "core/format.h"
#include "core/numerics/math.h"
#include "ops/native/unary.h"

namespace octet::native::op_Gelu {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  const std::string form = c.node.attr_string("approximate", "none");
  if (form != "none" && form != "tanh")
    return error("approximate \"{}\"; use \"none\" or \"tanh\"", form);
  return infer_float(c);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const bool by_tanh = c.node.attr_string("approximate", "none") == "tanh";
  return map_float(c, infer, by_tanh ? numerics::gelu_tanh : numerics::gelu);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Gelu
