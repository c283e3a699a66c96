// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/numerics/math.h"
#include "quant/gram/panels.h"
#include "quant/gram/rounding.h"

namespace octet {

namespace {

/// The rectified sigmoid reaches 0 and 1: h = clamp(sigmoid(v) * (kHigh - kLow) + kLow, 0, 1).
constexpr double kHigh = 1.1, kLow = -0.1;
constexpr double kRegularizer = 10;
constexpr double kRate = 0.03, kFirstMoment = 0.9, kSecondMoment = 0.999;
/// The share of the iterations without the regularizer.
constexpr double kWarm = 0.2;

/// Fewer for layers of many weights, where more take minutes.
int64_t iterations(const RoundingProblem& p) {
  constexpr double kMost = 300, kFewest = 100, kOperations = 1e11;
  const double each = static_cast<double>(p.outputs) * static_cast<double>(p.columns) *
                      (2 * static_cast<double>(p.columns) + 200);
  return static_cast<int64_t>(std::clamp(kOperations / std::max(each, 1.0), kFewest, kMost));
}

/// Of the regularizer: even numbers from 20 down to 2, by half a cosine.
int64_t exponent(int64_t iteration, int64_t all) {
  const double warm = kWarm * static_cast<double>(all);
  const double done = (static_cast<double>(iteration) - warm) / (static_cast<double>(all) - warm);
  // 1 + cos(pi t) by a polynomial with the same ends and middle, which is the same everywhere.
  const double falling = (1 - done) * (1 - done) * (1 + 2 * done);
  return 2 * static_cast<int64_t>(std::nearbyint(1 + 9 * falling));
}

double power(double x, int64_t exponent) {
  double out = 1;
  for (; exponent > 0; exponent /= 2, x *= x)
    if (exponent % 2 != 0) out *= x;
  return out;
}

double sigmoid(double v) {
  return static_cast<double>(numerics::sigmoid(static_cast<float>(v)));
}

/// Eight outputs, which depend on no others; all arrays are [columns, kPanel].
class Block {
 public:
  Block(const RoundingProblem& problem, const std::vector<double>& panels, int64_t first)
      : p_(problem), panels_(panels), first_(first),
        outputs_(std::min(kPanel, problem.outputs - first)) {
    const auto size = static_cast<size_t>(in_panels(p_.columns) * kPanel);
    for (std::vector<double>* array :
         {&below_, &gap_, &step_, &v_, &moment_, &square_, &up_, &error_, &slope_})
      array->assign(size, 0.0);
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t k = 0; k < p_.columns; ++k) {
        const double step = p_.step(first_ + i, k);
        const double scaled = weight(k, i) / step;
        const CodeGrid::Sides sides = p_.grid.sides(scaled);
        const double gap = sides.above - sides.below;
        const double up = gap > 0 ? (scaled - sides.below) / gap : 0.0;
        const double start = (up - kLow) / (kHigh - kLow);
        step_[at(k, i)] = step;
        below_[at(k, i)] = sides.below;
        gap_[at(k, i)] = gap;
        v_[at(k, i)] = static_cast<double>(numerics::log(static_cast<float>(start / (1 - start))));
      }
  }

  void run(Codes2d& codes) {
    measure_nearest();
    const int64_t all = iterations(p_);
    for (int64_t t = 0; t < all; ++t)
      iterate(t, all);
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t k = 0; k < p_.columns; ++k) {
        const double up = sigmoid(v_[at(k, i)]) >= 0.5 ? 1 : 0;
        codes[static_cast<size_t>((first_ + i) * p_.columns + k)] =
            below_[at(k, i)] + up * gap_[at(k, i)];
      }
  }

 private:
  static size_t at(int64_t column, int64_t output) {
    return static_cast<size_t>(column * kPanel + output);
  }
  double weight(int64_t column, int64_t output) const {
    return p_.weights[static_cast<size_t>((first_ + output) * p_.columns + column)];
  }

  /// slope = G error.
  void multiply() {
    double sums[kPanel * kPanel];
    for (int64_t panel = 0; panel * kPanel < p_.columns; ++panel) {
      std::fill(std::begin(sums), std::end(sums), 0.0);
      add_panel_product(p_.columns, panels_.data() + panel * p_.columns * kPanel, error_.data(),
                        sums);
      std::copy(std::begin(sums), std::end(sums), slope_.data() + panel * kPanel * kPanel);
    }
  }

  void measure_nearest() {
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t k = 0; k < p_.columns; ++k)
        error_[at(k, i)] =
            p_.grid.nearest(weight(k, i) / step_[at(k, i)]) * step_[at(k, i)] - weight(k, i);
    multiply();
    for (int64_t i = 0; i < outputs_; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < p_.columns; ++k)
        sum += error_[at(k, i)] * slope_[at(k, i)];
      nearest_[i] = sum;
    }
  }

  void iterate(int64_t t, int64_t all) {
    for (int64_t i = 0; i < outputs_; ++i)
      for (int64_t k = 0; k < p_.columns; ++k) {
        const size_t e = at(k, i);
        up_[e] = sigmoid(v_[e]);
        const double h = std::clamp(up_[e] * (kHigh - kLow) + kLow, 0.0, 1.0);
        error_[e] = (below_[e] + h * gap_[e]) * step_[e] - weight(k, i);
      }
    multiply();
    first_left_ *= kFirstMoment;
    second_left_ *= kSecondMoment;
    const bool warm = static_cast<double>(t) < kWarm * static_cast<double>(all);
    const int64_t beta = warm ? 0 : exponent(t, all);
    for (int64_t i = 0; i < outputs_; ++i)
      if (nearest_[i] > 0)
        for (int64_t k = 0; k < p_.columns; ++k)
          learn(at(k, i), i, beta);
  }

  void learn(size_t e, int64_t output, int64_t beta) {
    constexpr double kTiny = 1e-12;
    const double h = up_[e] * (kHigh - kLow) + kLow;
    if (!(h > 0 && h < 1)) return decay(e);
    double gradient = 2 * slope_[e] * gap_[e] * step_[e] / nearest_[output];
    if (beta > 0) {
      const double u = 2 * h - 1;
      gradient -= kRegularizer / static_cast<double>(p_.columns) * 2 * static_cast<double>(beta) *
                  power(std::fabs(u), beta - 1) * (u < 0 ? -1 : 1);
    }
    gradient *= up_[e] * (1 - up_[e]) * (kHigh - kLow);
    moment_[e] += (1 - kFirstMoment) * (gradient - moment_[e]);
    square_[e] += (1 - kSecondMoment) * (gradient * gradient - square_[e]);
    const double first = moment_[e] / (1 - first_left_), second = square_[e] / (1 - second_left_);
    v_[e] -= kRate * first / (std::sqrt(second) + kTiny);
  }
  /// Where h is 0 or 1 its gradient is 0.
  void decay(size_t e) {
    moment_[e] *= kFirstMoment;
    square_[e] *= kSecondMoment;
  }

  const RoundingProblem& p_;
  const std::vector<double>& panels_; ///< of G
  int64_t first_, outputs_;
  std::vector<double> below_, gap_, step_;  ///< number below the weight, way to the one above, step
  std::vector<double> v_, moment_, square_; ///< with Adam's state
  std::vector<double> up_, error_, slope_;  ///< sigmoid(v), d, G d
  double nearest_[kPanel] = {};             ///< errors of nearest codes
  double first_left_ = 1, second_left_ = 1; ///< powers of the two moments' factors
};

} // namespace

Codes2d
adaround_codes(const RoundingProblem& p, std::span<const double> gram, ParallelFor& workers) {
  const std::vector<double> panels = panels_of(gram, p.columns, p.columns);
  Codes2d out(p.weights.size());
  const int64_t blocks = (p.outputs + kPanel - 1) / kPanel;
  workers.run(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      Block(p, panels, b * kPanel).run(out);
  });
  descend(p, gram, out, workers);
  return out;
}

} // namespace octet
