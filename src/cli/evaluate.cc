// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate.h"

#include <algorithm>
#include <chrono>

#include "cli/terminal.h"
#include "core/format.h"
#include "data/batch_rows.h"

#include "octet/metrics.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

Status measure_latency(
    const Graph& graph, Executor& executor, const Dataset& data, int64_t runs, Evaluation& out) {
  std::vector<double> times;
  const BatchRows rows(graph, data, 1);
  for (int64_t i = 0; i < runs + runs / 10; ++i) {
    const int64_t at = i % data.size();
    const Batch example = OCTET_TRY(data.batch(rows.from(at, at + 1)));
    const auto inputs = OCTET_TRY(bind_inputs(graph, example));
    const auto begin = Clock::now();
    OCTET_TRY(executor.run(inputs));
    // The first tenth warms up.
    if (i >= runs / 10) times.push_back(milliseconds(Clock::now() - begin));
  }
  out.latency_ms_median = quantile(times, 0.5);
  out.latency_ms_p99 = quantile(times, 0.99);
  return ok_status();
}

Status add_class_metrics(int64_t classes, Evaluation& out) {
  for (const std::vector<int64_t>* each : {&out.labels, &out.predictions})
    for (const int64_t c : *each)
      classes = std::max(classes, c + 1);
  const ConfusionMatrix counts =
      OCTET_TRY(ConfusionMatrix::of(out.labels, out.predictions, classes));
  out.f1 = counts.f1();
  out.matthews = counts.matthews();
  out.f1_interval =
      OCTET_TRY(bootstrap_interval(ClassMetric::kF1, out.labels, out.predictions, classes));
  out.matthews_interval =
      OCTET_TRY(bootstrap_interval(ClassMetric::kMatthews, out.labels, out.predictions, classes));
  return ok_status();
}

} // namespace

Result<Evaluation>
evaluate(const Graph& graph, Executor& executor, const Dataset& data, const EvalOptions& options) {
  ProgressLine progress("evaluate", "examples");
  const Interruptible interruptible;
  ClassifyOptions classify_options;
  classify_options.batch = options.batch;
  classify_options.limit = options.limit;
  classify_options.keep_probabilities = options.keep_probabilities;
  classify_options.progress = [&](int64_t done, int64_t total) {
    progress.update(done, total);
    return !interruptible.stopped();
  };
  Classification said = OCTET_TRY(classify(graph, executor, data, classify_options));
  Evaluation out;
  out.samples = static_cast<int64_t>(said.labels.size());
  out.accuracy = said.accuracy();
  out.interval = said.interval();
  out.samples_per_second = static_cast<double>(out.samples) / said.seconds;
  out.not_numbers = said.not_numbers;
  out.labels = std::move(said.labels);
  out.predictions = std::move(said.predictions);
  out.probabilities = std::move(said.probabilities);
  OCTET_TRY(add_class_metrics(static_cast<int64_t>(data.classes().size()), out));
  if (options.latency_runs > 0)
    OCTET_TRY(measure_latency(graph, executor, data, options.latency_runs, out));
  return out;
}

Status compare_with_first(std::vector<Evaluation>& evaluations) {
  for (Evaluation& e : evaluations)
    e.against_first = OCTET_TRY(mcnemar(e.labels, evaluations.front().predictions, e.predictions));
  return ok_status();
}

double changed_share(const Evaluation& a, const Evaluation& b) {
  if (a.predictions.size() != b.predictions.size() || a.predictions.empty()) return -1;
  size_t changed = 0;
  for (size_t i = 0; i < a.predictions.size(); ++i)
    changed += a.predictions[i] != b.predictions[i] ? 1 : 0;
  return static_cast<double>(changed) / static_cast<double>(a.predictions.size());
}

} // namespace octet::cli
