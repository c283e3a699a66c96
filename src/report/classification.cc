// SPDX-License-Identifier: Apache-2.0
#include "octet/classification.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/philox.h"

#include "octet/metrics.h"

namespace octet {
namespace {

double ratio(double a, double b) {
  return b == 0 ? 0 : a / b;
}

/// What of the counts a metric asks for: of thousands of classes most pairs never meet.
struct Margins {
  explicit Margins(int64_t classes)
      : hits(static_cast<size_t>(classes)), rows(hits), columns(hits) {}
  void add(int64_t label, int64_t prediction, int64_t count) {
    rows[static_cast<size_t>(label)] += count;
    columns[static_cast<size_t>(prediction)] += count;
    if (label == prediction) hits[static_cast<size_t>(label)] += count;
    total += count;
  }
  double f1(size_t of_class) const {
    return ratio(2 * static_cast<double>(hits[of_class]),
                 static_cast<double>(rows[of_class] + columns[of_class]));
  }
  double f1() const {
    if (hits.size() == 2) return f1(1);
    double sum = 0;
    for (size_t c = 0; c < hits.size(); ++c)
      sum += f1(c);
    return sum / static_cast<double>(hits.size());
  }
  double matthews() const {
    const auto n = static_cast<double>(total);
    double right = 0, of_rows = 0, of_columns = 0, both = 0;
    for (size_t c = 0; c < hits.size(); ++c) {
      const auto r = static_cast<double>(rows[c]), k = static_cast<double>(columns[c]);
      right += static_cast<double>(hits[c]);
      of_rows += r * r;
      of_columns += k * k;
      both += r * k;
    }
    return ratio(right * n - both, std::sqrt((n * n - of_columns) * (n * n - of_rows)));
  }

  std::vector<int64_t> hits, rows, columns;
  int64_t total = 0;
};

Margins margins_of(const ConfusionMatrix& m) {
  Margins out(m.classes());
  for (int64_t label = 0; label < m.classes(); ++label)
    for (int64_t prediction = 0; prediction < m.classes(); ++prediction)
      out.add(label, prediction, m.at(label, prediction));
  return out;
}

/// P(X <= k) of n fair coins, doubled and at most 1.
double two_sided_binomial(int64_t k, int64_t n) {
  const double log_half_n = -static_cast<double>(n) * std::log(2.0);
  double sum = 0;
  for (int64_t i = 0; i <= k; ++i) {
    const double log_ways = std::lgamma(static_cast<double>(n) + 1) -
                            std::lgamma(static_cast<double>(i) + 1) -
                            std::lgamma(static_cast<double>(n - i) + 1);
    sum += std::exp(log_ways + log_half_n);
  }
  return std::min(1.0, 2 * sum);
}

} // namespace

ConfusionMatrix::ConfusionMatrix(int64_t classes)
    : classes_(classes), counts_(static_cast<size_t>(classes * classes)) {}

Result<ConfusionMatrix> ConfusionMatrix::of(std::span<const int64_t> labels,
                                            std::span<const int64_t> predictions,
                                            int64_t classes) {
  if (labels.size() != predictions.size())
    return error("{} labels and {} predictions; there is one for each", labels.size(),
                 predictions.size());
  constexpr int64_t kMaxClasses = 8192;
  if (classes < 1 || classes > kMaxClasses)
    return error("{} classes; from 1 to {} can be counted", classes, kMaxClasses);
  ConfusionMatrix out(classes);
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels[i], prediction = predictions[i];
    if (label < 0 || label >= classes || prediction < 0 || prediction >= classes)
      return error("example {} has label {} and prediction {}; classes are 0 .. {}", i, label,
                   prediction, classes - 1);
    ++out.counts_[static_cast<size_t>(label * classes + prediction)];
  }
  return out;
}

int64_t ConfusionMatrix::total() const {
  int64_t sum = 0;
  for (const int64_t n : counts_)
    sum += n;
  return sum;
}

int64_t ConfusionMatrix::row(int64_t label) const {
  int64_t sum = 0;
  for (int64_t p = 0; p < classes_; ++p)
    sum += at(label, p);
  return sum;
}

int64_t ConfusionMatrix::column(int64_t prediction) const {
  int64_t sum = 0;
  for (int64_t l = 0; l < classes_; ++l)
    sum += at(l, prediction);
  return sum;
}

double ConfusionMatrix::accuracy() const {
  int64_t hits = 0;
  for (int64_t c = 0; c < classes_; ++c)
    hits += at(c, c);
  return ratio(static_cast<double>(hits), static_cast<double>(total()));
}

double ConfusionMatrix::f1(int64_t of_class) const {
  return ratio(2 * static_cast<double>(at(of_class, of_class)),
               static_cast<double>(row(of_class) + column(of_class)));
}

double ConfusionMatrix::f1() const {
  return margins_of(*this).f1();
}

double ConfusionMatrix::matthews() const {
  return margins_of(*this).matthews();
}

Result<std::pair<double, double>> bootstrap_interval(ClassMetric metric,
                                                     std::span<const int64_t> labels,
                                                     std::span<const int64_t> predictions,
                                                     int64_t classes,
                                                     int64_t resamples,
                                                     uint64_t seed) {
  OCTET_TRY(ConfusionMatrix::of(labels, predictions, classes));
  if (labels.empty() || resamples < 1) return std::pair(0.0, 0.0);
  std::vector<double> values;
  for (int64_t r = 0; r < resamples; ++r) {
    Philox random(seed, static_cast<uint64_t>(r));
    Margins drawn(classes);
    for (size_t i = 0; i < labels.size(); ++i) {
      const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(labels.size())));
      drawn.add(labels[at], predictions[at], 1);
    }
    values.push_back(metric == ClassMetric::kF1 ? drawn.f1() : drawn.matthews());
  }
  return std::pair(quantile(values, 0.025), quantile(values, 0.975));
}

Result<PairedTest> mcnemar(std::span<const int64_t> labels,
                           std::span<const int64_t> first,
                           std::span<const int64_t> second) {
  if (first.size() != labels.size() || second.size() != labels.size())
    return error("{} labels, {} and {} predictions; a paired test wants the same examples",
                 labels.size(), first.size(), second.size());
  PairedTest out;
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool a = first[i] == labels[i], b = second[i] == labels[i];
    out.only_first += a && !b ? 1 : 0;
    out.only_second += b && !a ? 1 : 0;
  }
  if (labels.empty()) return out;
  const auto n = static_cast<double>(labels.size());
  out.difference = static_cast<double>(out.only_second - out.only_first) / n;
  // Half an example added to each of the four cells keeps the interval honest for small counts.
  constexpr double kZ = 1.959963984540054;
  const double b = static_cast<double>(out.only_first) + 0.5,
               c = static_cast<double>(out.only_second) + 0.5, m = n + 2;
  const double middle = (c - b) / m;
  const double spread = kZ * std::sqrt(b + c - (c - b) * (c - b) / m) / m;
  out.interval = {std::max(-1.0, middle - spread), std::min(1.0, middle + spread)};
  const int64_t differing = out.only_first + out.only_second;
  out.p_value = two_sided_binomial(std::min(out.only_first, out.only_second), differing);
  return out;
}

} // namespace octet
