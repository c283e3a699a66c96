// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "quant/gram/panels.h"
#include "quant/gram/rounding.h"

namespace octet {

namespace {

/// R of G = R R^T, upper triangular, column after column from the last: in place, the lower
/// triangle is left.
void factor_from_the_end(std::vector<double>& g, int64_t n, ParallelFor& workers) {
  for (int64_t j = n; j-- > 0;) {
    double* row_j = g.data() + j * n;
    double pivot = row_j[j];
    for (int64_t k = j + 1; k < n; ++k)
      pivot -= row_j[k] * row_j[k];
    const double root = std::sqrt(pivot);
    row_j[j] = root;
    workers.run(j, grain_for(static_cast<double>(n - j)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double* row_i = g.data() + i * n;
        double sum = row_i[j];
        for (int64_t k = j + 1; k < n; ++k)
          sum -= row_i[k] * row_j[k];
        row_i[j] = sum / root;
      }
    });
  }
}

/// The inverse of an upper triangular matrix, row after row: U R = 1.
std::vector<double> inverse(const std::vector<double>& r, int64_t n, ParallelFor& workers) {
  std::vector<double> out(r.size());
  workers.run(n, grain_for(static_cast<double>(n) * static_cast<double>(n) / 4),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  double* row = out.data() + i * n;
                  row[i] = 1;
                  for (int64_t k = i; k < n; ++k) {
                    const double* r_k = r.data() + k * n;
                    row[k] /= r_k[k];
                    for (int64_t j = k + 1; j < n; ++j)
                      row[j] -= row[k] * r_k[j];
                  }
                }
              });
  return out;
}

} // namespace

Codes2d gptq_codes(const RoundingProblem& p, std::span<const double> gram, ParallelFor& workers) {
  const int64_t n = p.columns;
  std::vector<int64_t> order(place(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return gram[place(a * n + a)] > gram[place(b * n + b)];
  });
  std::vector<double> ordered(place(n * n));
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < n; ++c)
      ordered[place(r * n + c)] = gram[place(order[place(r)] * n + order[place(c)])];
  // G = R R^T, so that U = R^-1 is the upper Cholesky factor of G^-1 = U^T U.
  factor_from_the_end(ordered, n, workers);
  const std::vector<double> u = inverse(ordered, n, workers);
  Codes2d out(p.weights.size());
  const double work = static_cast<double>(n) * static_cast<double>(n) / 4;
  workers.run(p.outputs, grain_for(work), [&](int64_t begin, int64_t end) {
    std::vector<double> w(place(n));
    for (int64_t m = begin; m < end; ++m) {
      for (int64_t j = 0; j < n; ++j)
        w[place(j)] = p.weights[place(m * n + order[place(j)])];
      for (int64_t j = 0; j < n; ++j) {
        const double* row = u.data() + j * n;
        const double step = p.step(m, order[place(j)]);
        const double code = p.grid.nearest(w[place(j)] / step);
        const double error = (w[place(j)] - code * step) / row[j];
        out[place(m * n + order[place(j)])] = code;
        for (int64_t k = j + 1; k < n; ++k)
          w[place(k)] -= error * row[k];
      }
    }
  });
  return out;
}

} // namespace octet
