// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/heads.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.h"

namespace octet::ms {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// Scores become probabilities in place.
void softmax(std::span<double> row, const double* sink) {
  double largest = kNothing;
  if (sink != nullptr) largest = *sink;
  for (const double v : row)
    if (v > largest || std::isnan(v)) largest = v;
  if (largest == kNothing) {
    std::fill(row.begin(), row.end(), 0.0);
    return;
  }
  double sum = sink != nullptr ? std::exp(*sink - largest) : 0;
  for (double& v : row)
    sum += v = std::exp(v - largest);
  for (double& v : row)
    v /= sum;
}

} // namespace

Result<Heads> heads_of_columns(const Tensor& x, int64_t begin, int64_t heads, int64_t size) {
  Heads out{x.dim(0), heads, x.dim(1), size, {}};
  const auto values = OCTET_TRY(x.to_doubles());
  out.values.resize(static_cast<size_t>(out.count()));
  for (int64_t b = 0; b < out.batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < out.steps; ++s)
        std::copy_n(values.data() + (b * out.steps + s) * x.dim(2) + begin + h * size, size,
                    out.at(b, h, s));
  return out;
}

Result<Heads> heads_of(const Tensor& x) {
  return Heads{x.dim(0), x.dim(1), x.dim(2), x.dim(3), OCTET_TRY(x.to_doubles())};
}

Result<Heads> behind(const Heads& past, const Heads& x) {
  if (past.batch != x.batch || past.heads != x.heads || past.size != x.size)
    return error("a past of {} for steps of {}; make all but the third dimension equal",
                 to_string(Shape{past.batch, past.heads, past.steps, past.size}),
                 to_string(Shape{x.batch, x.heads, x.steps, x.size}));
  Heads out{x.batch, x.heads, past.steps + x.steps, x.size, {}};
  out.values.resize(static_cast<size_t>(out.count()));
  for (int64_t b = 0; b < x.batch; ++b)
    for (int64_t h = 0; h < x.heads; ++h) {
      std::copy_n(past.at(b, h, 0), past.steps * x.size, out.at(b, h, 0));
      std::copy_n(x.at(b, h, 0), x.steps * x.size, out.at(b, h, past.steps));
    }
  return out;
}

std::vector<double> attend_heads(
    const HeadAttention& a, const Heads& q, const Heads& k, const Heads& v, const ScoreTerm& term) {
  const double scale = a.scale != 0 ? a.scale : 1 / std::sqrt(static_cast<double>(q.size));
  std::vector<double> y(static_cast<size_t>(q.batch * q.steps * q.heads * v.size));
  std::vector<double> row(static_cast<size_t>(k.steps));
  for (int64_t b = 0; b < q.batch; ++b)
    for (int64_t h = 0; h < q.heads; ++h) {
      const int64_t shared = h / (q.heads / k.heads);
      for (int64_t i = 0; i < q.steps; ++i) {
        for (int64_t j = 0; j < k.steps; ++j) {
          const double added = term(b, h, i, j);
          const double *query = q.at(b, h, i), *key = k.at(b, shared, j);
          double dot = 0;
          for (int64_t e = 0; added != kNothing && e < q.size; ++e)
            dot += query[e] * key[e];
          dot *= scale;
          if (a.softcap > 0) dot = a.softcap * std::tanh(dot / a.softcap);
          row[static_cast<size_t>(j)] = added == kNothing ? kNothing : dot + added;
        }
        softmax(row, a.sinks.empty() ? nullptr : &a.sinks[static_cast<size_t>(h)]);
        double* out = y.data() + ((b * q.steps + i) * q.heads + h) * v.size;
        for (int64_t j = 0; j < k.steps; ++j)
          for (int64_t e = 0; e < v.size && row[static_cast<size_t>(j)] != 0; ++e)
            out[e] += row[static_cast<size_t>(j)] * v.at(b, shared, j)[e];
      }
    }
  return y;
}

} // namespace octet::ms
