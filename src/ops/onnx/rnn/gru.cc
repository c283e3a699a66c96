// SPDX-License-Identifier: Apache-2.0
// GRU (opset 7). Gates z, r, h: z = f(Wz x + Rz h), r = f(Wr x + Rr h),
// n = g(Wh x + Rh (r h)) or, with linear_before_reset, g(Wh x + r (Rh h)); h = (1 - z) n + z h.
// Biases are part of each product.
#include "ops/shared/recurrent.h"

namespace octet::onnx::op_GRU {
namespace {

void step(const RecurrentStep& s, bool linear_before_reset) {
  const auto n = static_cast<size_t>(s.hidden);
  std::vector<double> z(n), r(n), reset(n), h(n);
  for (size_t i = 0; i < n; ++i) {
    const auto row = static_cast<int64_t>(i);
    z[i] = s.activations[0](s.input[i] + s.recurrent(0, row, s.h));
    r[i] = s.activations[0](s.input[n + i] + s.recurrent(1, row, s.h));
    reset[i] = r[i] * s.h[i];
  }
  for (size_t i = 0; i < n; ++i) {
    const auto row = static_cast<int64_t>(i);
    const double recurrent =
        linear_before_reset ? r[i] * s.recurrent(2, row, s.h) : s.recurrent(2, row, reset.data());
    h[i] = (1 - z[i]) * s.activations[1](s.input[2 * n + i] + recurrent) + z[i] * s.h[i];
  }
  std::copy(h.begin(), h.end(), s.h);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_recurrent(ctx, gru_kind());
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const bool linear = ctx.node.attr_int("linear_before_reset", 0) != 0;
  return eval_recurrent(infer, ctx, gru_kind(),
                        [linear](const RecurrentStep& s) { step(s, linear); });
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

} // namespace octet::onnx::op_GRU
