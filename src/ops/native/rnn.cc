// SPDX-License-Identifier: Apache-2.0
// octet.native RNN (1), f32: ONNX's with the sums and functions of ops/native/recurrent.h.
#include "ops/native/epilogue.h"
#include "ops/native/recurrent.h"

namespace octet::native::op_RNN {
namespace {

void step(CellStep& s) {
  std::vector<float> h(static_cast<size_t>(s.hidden));
  for (int64_t i = 0; i < s.hidden; ++i) {
    const auto at = static_cast<size_t>(i);
    h[at] = numerics::apply(s.rules->f, s.rules->clip, s.chain(s.sums[at], 0, i, s.h));
  }
  std::copy(h.begin(), h.end(), s.h);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_cells(ctx, rnn_kind());
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_cells(infer, ctx, rnn_kind(), step);
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

} // namespace octet::native::op_RNN
