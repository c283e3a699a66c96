// SPDX-License-Identifier: Apache-2.0
#include "quant/gram/rounding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quant/gram/panels.h"

namespace octet {

namespace {

/// d of one output.
void differences(const RoundingProblem& p,
                 int64_t output,
                 std::span<const double> codes,
                 std::span<double> d) {
  const int64_t first = output * p.columns;
  for (int64_t k = 0; k < p.columns; ++k)
    d[place(k)] = codes[place(first + k)] * p.step(output, k) - p.weights[place(first + k)];
}

/// How long one output takes that goes through the matrix `times` times.
int64_t grain(const RoundingProblem& p, double times) {
  return grain_for(times * static_cast<double>(p.columns) * static_cast<double>(p.columns));
}

} // namespace

Codes2d nearest_codes(const RoundingProblem& p) {
  Codes2d out(p.weights.size());
  for (int64_t m = 0; m < p.outputs; ++m)
    for (int64_t k = 0; k < p.columns; ++k)
      out[place(m * p.columns + k)] =
          p.grid.nearest(p.weights[place(m * p.columns + k)] / p.step(m, k));
  return out;
}

double output_error(const RoundingProblem& p,
                    std::span<const double> codes,
                    std::span<const double> gram,
                    ParallelFor& workers) {
  std::vector<double> errors(place(p.outputs));
  workers.run(p.outputs, grain(p, 1), [&](int64_t begin, int64_t end) {
    std::vector<double> d(place(p.columns));
    for (int64_t m = begin; m < end; ++m) {
      differences(p, m, codes, d);
      double sum = 0;
      for (int64_t r = 0; r < p.columns; ++r) {
        const double* row = gram.data() + r * p.columns;
        double product = 0;
        for (int64_t c = 0; c < p.columns; ++c)
          product += row[c] * d[place(c)];
        sum += d[place(r)] * product;
      }
      errors[place(m)] = sum;
    }
  });
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

std::vector<double> damped(std::span<const double> gram, int64_t columns, double share) {
  std::vector<double> out(gram.begin(), gram.end());
  double sum = 0;
  for (int64_t k = 0; k < columns; ++k)
    sum += gram[place(k * columns + k)];
  for (int64_t k = 0; k < columns; ++k)
    out[place(k * columns + k)] += share * sum / static_cast<double>(std::max<int64_t>(columns, 1));
  return out;
}

namespace {

/// One output, of which codes move to the other side of their weight.
class Descent {
 public:
  Descent(const RoundingProblem& p,
          std::span<const double> gram,
          int64_t output,
          std::span<double> codes)
      : columns_(p.columns), gram_(gram), codes_(codes), slope_(place(columns_)),
        by_(place(columns_)), alone_(place(columns_)) {
    std::vector<double> d(place(columns_));
    for (int64_t k = 0; k < columns_; ++k) {
      const double weight = p.weights[place(output * columns_ + k)];
      const double step = p.step(output, k);
      d[place(k)] = codes_[place(k)] * step - weight;
      const CodeGrid::Sides sides = p.grid.sides(weight / step);
      const double other = codes_[place(k)] == sides.below ? sides.above : sides.below;
      by_[place(k)] = {other - codes_[place(k)], step};
    }
    for (int64_t k = 0; k < columns_; ++k) {
      const double* row = gram_.data() + k * columns_;
      for (int64_t c = 0; c < columns_; ++c)
        slope_[place(k)] += row[c] * d[place(c)];
    }
  }

  void run() {
    for (int64_t moves = 0; moves < 4 * columns_; ++moves)
      if (!move_one() && !(columns_ <= kMostForPairs && move_two())) return;
  }

 private:
  struct Move {
    double code = 0, step = 0;
    double weight() const { return code * step; }
  };
  /// Columns for which two codes are tried together.
  static constexpr int64_t kMostForPairs = 256;
  /// Of the error that a move makes alone: less is rounding.
  static constexpr double kNothing = 1e-9;

  /// What the error becomes more when the code moves alone.
  double change(int64_t k) {
    const double by = by_[place(k)].weight();
    alone_[place(k)] = gram_[place(k * columns_ + k)] * by * by;
    return 2 * by * slope_[place(k)] + alone_[place(k)];
  }

  bool move_one() {
    int64_t best = -1;
    double least = 0;
    for (int64_t k = 0; k < columns_; ++k) {
      const double more = change(k);
      if (more >= least || more >= -kNothing * alone_[place(k)]) continue;
      least = more;
      best = k;
    }
    if (best < 0) return false;
    move(best);
    return true;
  }

  bool move_two() {
    std::vector<double> more(place(columns_));
    for (int64_t k = 0; k < columns_; ++k)
      more[place(k)] = change(k);
    int64_t first = -1, second = -1;
    double least = 0;
    for (int64_t a = 0; a < columns_; ++a)
      for (int64_t b = a + 1; b < columns_; ++b) {
        const double both =
            2 * by_[place(a)].weight() * by_[place(b)].weight() * gram_[place(a * columns_ + b)];
        const double sum = more[place(a)] + more[place(b)] + both;
        if (sum >= least || sum >= -kNothing * (alone_[place(a)] + alone_[place(b)])) continue;
        least = sum;
        first = a;
        second = b;
      }
    if (first < 0) return false;
    move(first);
    move(second);
    return true;
  }

  void move(int64_t k) {
    Move& by = by_[place(k)];
    const double* row = gram_.data() + k * columns_;
    for (int64_t c = 0; c < columns_; ++c)
      slope_[place(c)] += row[c] * by.weight();
    codes_[place(k)] += by.code;
    by.code = -by.code;
  }

  int64_t columns_;
  std::span<const double> gram_;
  std::span<double> codes_;
  std::vector<double> slope_; ///< G d
  std::vector<Move> by_;      ///< to the other code
  std::vector<double> alone_; ///< what that costs with all others exact
};

} // namespace

void descend(const RoundingProblem& p,
             std::span<const double> gram,
             Codes2d& codes,
             ParallelFor& workers) {
  workers.run(p.outputs, grain(p, 1), [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m)
      Descent(p, gram, m, std::span(codes).subspan(place(m * p.columns), place(p.columns))).run();
  });
}

} // namespace octet
