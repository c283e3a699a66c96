// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN step by step, so that a gradient goes back through time. The sums of x are one
// product for all steps. Attributes and formulas: ops/shared/recurrent.h, ops/onnx/rnn.
#include "ops/shared/recurrent.h"

#include <algorithm>

#include "train/ops/mapping.h"
#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace octet::train {
namespace {

using TensorFunction = at::Tensor (*)(const at::Tensor& x, double alpha, double beta);

/// What RecurrentActivation's functions are for a tensor.
constexpr std::pair<std::string_view, TensorFunction> kTensorFunctions[] = {
    {"relu", [](const at::Tensor& x, double, double) { return at::relu(x); }},
    {"tanh", [](const at::Tensor& x, double, double) { return at::tanh(x); }},
    {"sigmoid", [](const at::Tensor& x, double, double) { return at::sigmoid(x); }},
    {"softsign", [](const at::Tensor& x, double, double) { return x / (at::abs(x) + 1); }},
    {"softplus", [](const at::Tensor& x, double, double) { return at::softplus(x); }},
    {"affine", [](const at::Tensor& x, double a, double b) { return x * a + b; }},
    {"leakyrelu", [](const at::Tensor& x, double a, double) { return at::leaky_relu(x, a); }},
    {"thresholdedrelu",
     [](const at::Tensor& x, double a, double) { return at::where(x >= a, x, at::zeros_like(x)); }},
    {"scaledtanh", [](const at::Tensor& x, double a, double b) { return at::tanh(x * b) * a; }},
    {"hardsigmoid",
     [](const at::Tensor& x, double a, double b) { return at::clamp(x * a + b, 0, 1); }},
    {"elu", [](const at::Tensor& x, double a, double) { return at::elu(x, a); }},
};

struct GateFunction {
  TensorFunction f;
  double alpha, beta, clip;
  at::Tensor operator()(const at::Tensor& x) const {
    return f(clip > 0 ? at::clamp(x, -clip, clip) : x, alpha, beta);
  }
};

struct RecurrentState {
  at::Tensor h, c; ///< [N, H]; c of LSTM alone
};

/// What all steps of one direction read.
struct RecurrentWeights {
  at::Tensor r;         ///< [G H, H]
  at::Tensor bias;      ///< [G H], that of R; undefined where it is part of the sums of x, or none
  at::Tensor peepholes; ///< [3, H] of LSTM, or undefined
  std::span<const GateFunction> functions;
};

/// The state after a step, from what x adds up to: [N, G H].
using RecurrentStepper = RecurrentState (*)(const at::Tensor& sums,
                                            const RecurrentWeights& weights,
                                            const RecurrentState& before,
                                            bool option);

struct RecurrentLayer {
  RecurrentKind kind;
  RecurrentAttrs attrs;
  std::vector<GateFunction> functions; ///< of all directions
  RecurrentStepper step;
  bool option; ///< input_forget, linear_before_reset
};

RecurrentState lstm_step(const at::Tensor& sums,
                         const RecurrentWeights& w,
                         const RecurrentState& before,
                         bool input_forget) {
  const std::vector<at::Tensor> gates = at::addmm(sums, before.h, w.r.t()).chunk(4, 1);
  const auto with_peephole = [&](size_t gate, int64_t p, const at::Tensor& c) {
    return w.peepholes.defined() ? gates[gate] + w.peepholes.select(0, p) * c : gates[gate];
  };
  const at::Tensor in = w.functions[0](with_peephole(0, 0, before.c));
  const at::Tensor forget = input_forget ? 1 - in : w.functions[0](with_peephole(2, 2, before.c));
  at::Tensor c = forget * before.c + in * w.functions[1](gates[3]);
  const at::Tensor out = w.functions[0](with_peephole(1, 1, c));
  at::Tensor h = out * w.functions[2](c);
  return {std::move(h), std::move(c)};
}

RecurrentState gru_step(const at::Tensor& sums,
                        const RecurrentWeights& w,
                        const RecurrentState& before,
                        bool linear_before_reset) {
  const int64_t hidden = before.h.size(1);
  const at::Tensor zr_of_x = sums.narrow(1, 0, 2 * hidden),
                   n_of_x = sums.narrow(1, 2 * hidden, hidden);
  // The rows of z and r, or of all three, of R and its bias.
  const auto product = [&](const at::Tensor& h, int64_t from, int64_t count) {
    std::optional<at::Tensor> bias;
    if (w.bias.defined()) bias = w.bias.narrow(0, from * hidden, count * hidden);
    return at::linear(h, w.r.narrow(0, from * hidden, count * hidden), bias);
  };
  const at::Tensor of_h = product(before.h, 0, linear_before_reset ? 3 : 2);
  const at::Tensor zr = w.functions[0](zr_of_x + of_h.narrow(1, 0, 2 * hidden));
  const at::Tensor z = zr.narrow(1, 0, hidden), r = zr.narrow(1, hidden, hidden);
  const at::Tensor n_of_h =
      linear_before_reset ? r * of_h.narrow(1, 2 * hidden, hidden) : product(r * before.h, 2, 1);
  return {(1 - z) * w.functions[1](n_of_x + n_of_h) + z * before.h, {}};
}

RecurrentState rnn_step(const at::Tensor& sums,
                        const RecurrentWeights& w,
                        const RecurrentState& before,
                        bool /*option*/) {
  return {w.functions[0](at::addmm(sums, before.h, w.r.t())), {}};
}

/// Which steps of which sequence are there: bool [T, N, 1], or undefined where all are.
at::Tensor live_steps(const Call& c, const at::Tensor& x) {
  if (!c.has(4)) return {};
  const int64_t steps = x.size(0);
  const std::vector<int64_t> lengths = c.ints(4);
  for (const int64_t length : lengths)
    TORCH_CHECK(length >= 0 && length <= steps, "sequence_lens holds ", length, "; X has ", steps,
                " steps");
  if (std::all_of(lengths.begin(), lengths.end(), [&](int64_t n) { return n == steps; })) return {};
  const at::Tensor t = at::arange(steps, at::TensorOptions(x.device()).dtype(at::kLong));
  return (t.unsqueeze(1) < c.in(4).to(x.device(), at::kLong).unsqueeze(0)).unsqueeze(2);
}

class RecurrentRun {
 public:
  RecurrentRun(Call& c, const RecurrentLayer& layer) : c_(c), layer_(layer) {
    x_ = layer.attrs.batch_first ? c.in(0).transpose(0, 1) : c.in(0);
    live_ = live_steps(c, x_);
  }

  void run() {
    const int64_t directions = layer_.attrs.directions();
    std::vector<at::Tensor> y, h, cell;
    for (int64_t d = 0; d < directions; ++d) {
      std::vector<at::Tensor> steps(static_cast<size_t>(x_.size(0)));
      const RecurrentState last = run_direction(d, steps);
      y.push_back(steps.empty() ? at::empty({0, x_.size(1), hidden()}, x_.options())
                                : at::stack(steps, 0));
      h.push_back(last.h);
      cell.push_back(last.c);
    }
    const bool batch_first = layer_.attrs.batch_first;
    const at::Tensor all = at::stack(y, 1); // [T, D, N, H]
    c_.out(batch_first ? all.permute({2, 0, 1, 3}) : all);
    c_.out(at::stack(h, batch_first ? 1 : 0), 1);
    if (layer_.kind.has_cell) c_.out(at::stack(cell, batch_first ? 1 : 0), 2);
  }

 private:
  int64_t hidden() const { return c_.in(2).size(2); }

  at::Tensor initial(size_t input, int64_t d) const {
    if (!c_.has(input)) return at::zeros({x_.size(1), hidden()}, x_.options());
    return c_.in(input).select(layer_.attrs.batch_first ? 1 : 0, d);
  }

  RecurrentState run_direction(int64_t d, std::vector<at::Tensor>& y) const {
    const size_t functions =
        layer_.functions.size() / static_cast<size_t>(layer_.attrs.directions());
    RecurrentWeights w;
    w.r = c_.in(2).select(0, d);
    w.functions =
        std::span(layer_.functions).subspan(static_cast<size_t>(d) * functions, functions);
    if (layer_.kind.has_cell && c_.has(7)) w.peepholes = c_.in(7).select(0, d).view({3, hidden()});
    std::optional<at::Tensor> bias;
    if (c_.has(3)) {
      const int64_t rows = layer_.kind.gates * hidden();
      const at::Tensor both = c_.in(3).select(0, d);
      bias = both.narrow(0, 0, rows);
      w.bias = both.narrow(0, rows, rows);
      // What a GRU resets holds the bias of R, but not that of W.
      if (layer_.step != gru_step) bias = *bias + w.bias;
    }
    const at::Tensor sums = at::linear(x_, c_.in(1).select(0, d), bias);
    RecurrentState state{initial(5, d), {}};
    if (layer_.kind.has_cell) state.c = initial(6, d);
    const auto steps = static_cast<int64_t>(y.size());
    for (int64_t k = 0; k < steps; ++k) {
      const int64_t t = layer_.attrs.backwards(d) ? steps - 1 - k : k;
      RecurrentState next = layer_.step(sums.select(0, t), w, state, layer_.option);
      at::Tensor& out = y[static_cast<size_t>(t)];
      out = next.h;
      if (live_.defined()) {
        // A sequence that is over keeps its state, one that begins later has not left its first.
        const at::Tensor live = live_.select(0, t);
        out = at::where(live, next.h, at::zeros_like(next.h));
        next.h = at::where(live, next.h, state.h);
        if (next.c.defined()) next.c = at::where(live, next.c, state.c);
      }
      state = std::move(next);
    }
    return state;
  }

  Call& c_;
  const RecurrentLayer& layer_;
  at::Tensor x_;    ///< [T, N, I]
  at::Tensor live_; ///< which steps are there
};

Apply recurrent(const Prepare& p,
                const RecurrentKind& kind,
                RecurrentStepper step,
                const char* option) {
  Result<RecurrentAttrs> attrs = parse_recurrent(p.node, kind);
  TORCH_CHECK(attrs.ok(), attrs.error().text());
  RecurrentLayer layer{kind, std::move(*attrs), {}, step, p.node.attr_int(option, 0) != 0};
  for (const RecurrentActivation& a : layer.attrs.activations) {
    const auto* found = std::find_if(std::begin(kTensorFunctions), std::end(kTensorFunctions),
                                     [&](const auto& f) { return f.first == a.name; });
    TORCH_CHECK(found != std::end(kTensorFunctions), "activation \"", a.name, "\" has no gradient");
    layer.functions.push_back({found->second, a.alpha, a.beta, layer.attrs.clip});
  }
  return [layer = std::move(layer)](Call& c) { RecurrentRun(c, layer).run(); };
}

} // namespace
} // namespace octet::train

OCTET_TORCH(onnx, LSTM) {
  return octet::train::recurrent(p, octet::lstm_kind(), octet::train::lstm_step, "input_forget");
}

OCTET_TORCH(onnx, GRU) {
  return octet::train::recurrent(p, octet::gru_kind(), octet::train::gru_step,
                                 "linear_before_reset");
}

OCTET_TORCH(onnx, RNN) {
  return octet::train::recurrent(p, octet::rnn_kind(), octet::train::rnn_step, "");
}
