// SPDX-License-Identifier: Apache-2.0
// RNN (opset 7). h = f(W x + Wb + R h + Rb).
#include "ops/shared/recurrent.h"

namespace octet::onnx::op_RNN {
namespace {

void step(const RecurrentStep& s) {
  std::vector<double> h(static_cast<size_t>(s.hidden));
  for (int64_t i = 0; i < s.hidden; ++i)
    h[static_cast<size_t>(i)] = s.activations[0](s.input[i] + s.recurrent(0, i, s.h));
  std::copy(h.begin(), h.end(), s.h);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_recurrent(ctx, rnn_kind());
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_recurrent(infer, ctx, rnn_kind(), step);
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = recurrent_roles,
    .quant = recurrent_quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_RNN
