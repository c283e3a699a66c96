// SPDX-License-Identifier: Apache-2.0
// octet.native QAttention (1): Attention with one product or both on codes. Codes of q and k:
// q_zero_point, k_zero_point, scores_multiplier; of v: p_scale, p_zero_point and p_to of the
// probabilities, v_zero_point, multiplier and the attributes of the epilogue without residual.
// docs/native-operators.md, docs/numerics.md.
#include "ops/native/attention.h"
#include "ops/native/epilogue.h"

namespace octet::native::op_QAttention {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return eval_attention(infer_qattention, c);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_qattention,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .on_codes = true},
};

} // namespace octet::native::op_QAttention
