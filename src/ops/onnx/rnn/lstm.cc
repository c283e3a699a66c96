// SPDX-License-Identifier: Apache-2.0
// LSTM (opset 7). Gates i, o, f, c with peepholes P (i, o, f): i = f(Wi x + Ri h + Pi c),
// f = f(Wf x + Rf h + Pf c), c' = f c + i g(Wc x + Rc h), o = f(Wo x + Ro h + Po c'), h = o h(c').
// With input_forget, f = 1 - i. Biases are part of each product.
#include "ops/shared/recurrent.h"

namespace octet::onnx::op_LSTM {
namespace {

void step(const RecurrentStep& s, bool input_forget) {
  const auto n = static_cast<size_t>(s.hidden);
  std::vector<double> h(n);
  const auto gate = [&](size_t g, size_t i) {
    return s.input[g * n + i] + s.recurrent(static_cast<int64_t>(g), static_cast<int64_t>(i), s.h);
  };
  const auto peephole = [&](size_t p, size_t i, double c) {
    return s.peepholes == nullptr ? 0 : s.peepholes[p * n + i] * c;
  };
  for (size_t i = 0; i < n; ++i) {
    const double in = s.activations[0](gate(0, i) + peephole(0, i, s.c[i]));
    const double forget =
        input_forget ? 1 - in : s.activations[0](gate(2, i) + peephole(2, i, s.c[i]));
    s.c[i] = forget * s.c[i] + in * s.activations[1](gate(3, i));
    const double out = s.activations[0](gate(1, i) + peephole(1, i, s.c[i]));
    h[i] = out * s.activations[2](s.c[i]);
  }
  std::copy(h.begin(), h.end(), s.h);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_recurrent(ctx, lstm_kind());
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const bool coupled = ctx.node.attr_int("input_forget", 0) != 0;
  return eval_recurrent(infer, ctx, lstm_kind(),
                        [coupled](const RecurrentStep& s) { step(s, coupled); });
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

} // namespace octet::onnx::op_LSTM
