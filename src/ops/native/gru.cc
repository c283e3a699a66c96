// SPDX-License-Identifier: Apache-2.0
// octet.native GRU (1), f32, gates z, r, h: ONNX's with the sums and functions of
// ops/native/recurrent.h. The chain of the candidate goes on over r h (one product each); with
// linear_before_reset it is fma(r, chain over h from 0 + Rb, sum of x).
#include "ops/native/epilogue.h"
#include "ops/native/recurrent.h"

namespace octet::native::op_GRU {
namespace {

void step(CellStep& s, bool linear) {
  const int64_t n = s.hidden;
  const numerics::CellRules& rules = *s.rules;
  std::vector<float> z(static_cast<size_t>(n)), r(z), reset(z), candidate(z);
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    z[at] = numerics::apply(rules.f, rules.clip, s.chain(s.sums[at], 0, i, s.h));
    r[at] = numerics::apply(rules.f, rules.clip,
                            s.chain(s.sums[static_cast<size_t>(n + i)], 1, i, s.h));
    reset[at] = r[at] * s.h[i];
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    const float sum = s.sums[static_cast<size_t>(2 * n + i)];
    if (linear) {
      float recurrent = s.chain(0, 2, i, s.h);
      if (s.bias != nullptr) recurrent += s.bias[2 * n + i];
      candidate[at] = std::fma(r[at], recurrent, sum);
    } else {
      candidate[at] = s.chain(sum, 2, i, reset.data());
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    s.h[i] = numerics::gru_cell(rules, z[at], candidate[at], s.h[i]);
  }
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_cells(ctx, gru_kind());
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const bool linear = candidate_bias(ctx.node) == CandidateBias::kApart;
  return eval_cells(infer, ctx, gru_kind(), [linear](CellStep& s) { step(s, linear); });
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = recurrent_roles,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::native::op_GRU
