// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN by their definition, apart from the library's own, on numbers that carry how
// far they may be off: errors go from step to step as steep as the functions are where they stand.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/format.h"
#include "ops/shared/recurrent.h"
#include "runner/arrays.h"
#include "runner/rules.h"

namespace octet::differential {
namespace {

using Activation = std::function<double(double)>;

/// Of executors' approximations of functions.
constexpr double kApproximation = 5e-7;

struct Near {
  double value = 0, error = 0;
};
Near rounded(double value, double error) {
  return {value, error + 4 * kRounding * (std::fabs(value) + error)};
}
Near operator+(Near a, Near b) {
  return rounded(a.value + b.value, a.error + b.error);
}
Near operator*(Near a, Near b) {
  return rounded(a.value * b.value,
                 std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error);
}
/// z a + (1 - z) b, which hardly depends on z where a and b are alike.
Near blended(Near z, Near a, Near b) {
  const double kept = std::fabs(z.value) + z.error, taken = std::fabs(1 - z.value) + z.error;
  const double error = kept * a.error + taken * b.error + std::fabs(a.value - b.value) * z.error;
  const double sizes = std::fabs(a.value) + std::fabs(b.value);
  return {z.value * a.value + (1 - z.value) * b.value, error + 8 * kRounding * sizes};
}
/// All functions of ONNX grow.
Near applied(const Activation& f, Near x) {
  const double y = f(x.value), high = f(x.value + x.error), low = f(x.value - x.error);
  return {y, std::max(high - y, y - low) + kApproximation + 16 * kRounding * std::fabs(y)};
}

using Nears = std::vector<Near>;

Nears nears(const Bounded& x) {
  const Tensor error = or_zeros(x.error, x.value);
  Nears out(static_cast<size_t>(x.value.count()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = {x.value.at(static_cast<int64_t>(i)), error.at(static_cast<int64_t>(i))};
  return out;
}

/// A sum of products; its own rounding as that of product_rules.cc.
Near dot(const Near* a, const Near* b, int64_t count) {
  Near sum;
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double product = a[i].value * b[i].value;
    sum.value += product;
    sum.error += std::fabs(a[i].value) * b[i].error + std::fabs(b[i].value) * a[i].error +
                 a[i].error * b[i].error;
    squares += product * product;
  }
  const double walk = 4 * std::sqrt(static_cast<double>(count));
  const double growth = 8 + std::max(walk, static_cast<double>(count) / 3);
  sum.error += kRounding * (walk * std::sqrt(squares) + growth * std::fabs(sum.value));
  return sum;
}

/// One direction: its operands, and a step of one sequence.
struct Cell {
  const Node& node;
  RecurrentSizes sizes;
  std::span<const Activation> functions;
  const Near* w;
  const Near* r;
  const Near* b; ///< of W, then of R; null: none
  const Near* p; ///< null: none

  int64_t row(int64_t gate, int64_t i) const { return gate * sizes.hidden + i; }
  Near of_x(const Near* x, int64_t row) const {
    const Near sum = dot(w + row * sizes.inputs, x, sizes.inputs);
    return b == nullptr ? sum : sum + b[row];
  }
  Near of_h(const Near* h, int64_t row) const {
    const Near sum = dot(r + row * sizes.hidden, h, sizes.hidden);
    return b == nullptr ? sum : sum + b[sizes.gates * sizes.hidden + row];
  }
  Near gate(const Near* x, const Near* h, int64_t row) const { return of_x(x, row) + of_h(h, row); }
  Near peephole(int64_t gate, int64_t i, Near c) const {
    return p == nullptr ? Near{} : p[row(gate, i)] * c;
  }

  void lstm(const Near* x, Nears& h, Nears& c) const {
    const Nears before = h;
    for (int64_t i = 0; i < sizes.hidden; ++i) {
      Near& cell = c[static_cast<size_t>(i)];
      const auto sum = [&](int64_t g) { return gate(x, before.data(), row(g, i)); };
      const Near in = applied(functions[0], sum(0) + peephole(0, i, cell));
      const Near forget = applied(functions[0], sum(2) + peephole(2, i, cell));
      cell = forget * cell + in * applied(functions[1], sum(3));
      const Near out = applied(functions[0], sum(1) + peephole(1, i, cell));
      h[static_cast<size_t>(i)] = out * applied(functions[2], cell);
    }
  }

  void gru(const Near* x, Nears& h) const {
    const bool linear = node.attr_int("linear_before_reset", 0) != 0;
    const Nears before = h;
    Nears update(h.size()), reset(h.size()), kept(h.size());
    for (int64_t i = 0; i < sizes.hidden; ++i) {
      const auto at = static_cast<size_t>(i);
      update[at] = applied(functions[0], gate(x, before.data(), row(0, i)));
      reset[at] = applied(functions[0], gate(x, before.data(), row(1, i)));
      kept[at] = reset[at] * before[at];
    }
    for (int64_t i = 0; i < sizes.hidden; ++i) {
      const auto at = static_cast<size_t>(i);
      const Near state =
          linear ? reset[at] * of_h(before.data(), row(2, i)) : of_h(kept.data(), row(2, i));
      const Near made = applied(functions[1], of_x(x, row(2, i)) + state);
      h[at] = blended(update[at], before[at], made);
    }
  }

  void rnn(const Near* x, Nears& h) const {
    const Nears before = h;
    for (int64_t i = 0; i < sizes.hidden; ++i)
      h[static_cast<size_t>(i)] = applied(functions[0], gate(x, before.data(), i));
  }

  void step(const Near* x, Nears& h, Nears& c) const {
    if (node.is("LSTM"))
      lstm(x, h, c);
    else if (node.is("GRU"))
      gru(x, h);
    else
      rnn(x, h);
  }
};

Bounded bounded(const Shape& shape, const Nears& from) {
  std::vector<double> value, error;
  for (const Near& x : from) {
    value.push_back(x.value);
    error.push_back(x.error);
  }
  return {.value = Tensor::of<double>(shape, std::span<const double>(value)),
          .error = Tensor::of<double>(shape, std::span<const double>(error))};
}

const RecurrentKind& kind_of(const Node& node) {
  return node.is("LSTM") ? lstm_kind() : node.is("GRU") ? gru_kind() : rnn_kind();
}

Result<std::vector<Bounded>> recurrent(const Step& s) {
  if (s.node.attr_int("input_forget", 0) != 0 || s.node.attr_int("layout", 0) != 0)
    return error(ErrorCode::kUnsupported, "no rule for input_forget and layout");
  const RecurrentKind& kind = kind_of(s.node);
  const RecurrentAttrs attrs = OCTET_TRY(parse_recurrent(s.node, kind));
  const std::vector<Activation> functions = recurrent_functions(attrs);
  const RecurrentSizes sizes =
      recurrent_sizes(attrs, kind, s.in[0].value.shape(), s.in[2].value.dim(2));
  const std::vector<int64_t> lengths =
      OCTET_TRY(sequence_lengths(s.has(4) ? s.in[4].value : Tensor{}, sizes));
  const auto operand = [&](size_t i) { return s.has(i) ? nears(s.in[i]) : Nears{}; };
  const Nears x = operand(0), w = operand(1), r = operand(2), b = operand(3), p = operand(7);
  const int64_t rows = sizes.gates * sizes.hidden, hidden = sizes.hidden;
  const auto part = [](const Nears& of, int64_t at) {
    return of.empty() ? nullptr : of.data() + at;
  };
  const int64_t states = sizes.directions * sizes.batch * hidden;
  Nears all(static_cast<size_t>(sizes.steps * states)), last(static_cast<size_t>(states)),
      cells = last;
  if (s.has(5)) last = operand(5);
  if (s.has(6)) cells = operand(6);
  for (int64_t d = 0; d < sizes.directions; ++d) {
    const size_t each = functions.size() / static_cast<size_t>(sizes.directions);
    const Cell cell{.node = s.node,
                    .sizes = sizes,
                    .functions = std::span(functions).subspan(static_cast<size_t>(d) * each, each),
                    .w = part(w, d * rows * sizes.inputs),
                    .r = part(r, d * rows * hidden),
                    .b = part(b, d * 2 * rows),
                    .p = part(p, d * 3 * hidden)};
    for (int64_t n = 0; n < sizes.batch; ++n) {
      const auto of_state = [&](Nears& of) { return of.begin() + sizes.state_at(d, n); };
      Nears h(of_state(last), of_state(last) + hidden),
          c(of_state(cells), of_state(cells) + hidden);
      const int64_t length = lengths[static_cast<size_t>(n)];
      for (int64_t k = 0; k < length; ++k) {
        const int64_t t = attrs.backwards(d) ? length - 1 - k : k;
        cell.step(x.data() + sizes.x_at(t, n), h, c);
        std::copy(h.begin(), h.end(), all.begin() + sizes.y_at(t, d, n));
      }
      std::copy(h.begin(), h.end(), of_state(last));
      std::copy(c.begin(), c.end(), of_state(cells));
    }
  }
  const Shape state{sizes.directions, sizes.batch, hidden};
  return std::vector<Bounded>{bounded({sizes.steps, sizes.directions, sizes.batch, hidden}, all),
                              bounded(state, last), bounded(state, cells)};
}

} // namespace

Rule* find_recurrent_rule(std::string_view op) {
  return op == "LSTM" || op == "GRU" || op == "RNN" ? recurrent : nullptr;
}

} // namespace octet::differential
