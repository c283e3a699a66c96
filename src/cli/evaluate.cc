// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "cli/terminal.h"
#include "core/format.h"
#include "report/metrics.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::vector<Tensor>>
inputs_of(const Graph& graph, const Dataset& data, int64_t begin, int64_t end, Tensor* labels) {
  std::vector<int64_t> indices(static_cast<size_t>(end - begin));
  std::iota(indices.begin(), indices.end(), begin);
  const Batch batch = OCTET_TRY(data.batch(indices));
  if (labels != nullptr) *labels = batch.labels;
  return bind_inputs(graph, batch);
}

Status measure_latency(
    const Graph& graph, Executor& executor, const Dataset& data, int64_t runs, Evaluation& out) {
  std::vector<double> times;
  for (int64_t i = 0; i < runs + runs / 10; ++i) {
    const int64_t at = i % data.size();
    const auto inputs = OCTET_TRY(inputs_of(graph, data, at, at + 1, nullptr));
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
  Evaluation out;
  out.samples = options.limit > 0 ? std::min(options.limit, data.size()) : data.size();
  if (out.samples < 1) return error("{}: holds no examples", data.description());
  ProgressLine progress("evaluate", "examples");
  int64_t hits = 0;
  Clock::duration busy{};
  const int64_t batch = batch_for(graph, options.batch);
  for (int64_t begin = 0; begin < out.samples; begin += batch) {
    if (interrupted().cancelled()) return Error("stopped by the user", ErrorCode::kCancelled);
    const int64_t end = std::min(begin + batch, out.samples);
    Tensor labels;
    const auto inputs = OCTET_TRY(inputs_of(graph, data, begin, end, &labels));
    if (labels.empty()) return error("{}: has no labels", data.description());
    const auto start = Clock::now();
    const std::vector<Tensor> scores = OCTET_TRY(executor.run(inputs));
    busy += Clock::now() - start;
    const std::vector<int64_t> best = OCTET_TRY(top1(scores.front()));
    const std::vector<int64_t> want = OCTET_TRY(labels.to_ints());
    if (want.size() != best.size())
      return error("{} examples have {} labels and {} rows of scores", end - begin, want.size(),
                   best.size());
    for (size_t i = 0; i < best.size(); ++i) {
      if (want[i] < 0 || want[i] >= scores.front().dim(1))
        return error("example {} of {} has label {}, the model has classes 0 .. {}",
                     begin + static_cast<int64_t>(i), data.description(), want[i],
                     scores.front().dim(1) - 1);
      hits += best[i] == want[i] ? 1 : 0;
    }
    out.predictions.insert(out.predictions.end(), best.begin(), best.end());
    out.labels.insert(out.labels.end(), want.begin(), want.end());
    progress.update(end, out.samples);
  }
  out.accuracy = static_cast<double>(hits) / static_cast<double>(out.samples);
  out.interval = wilson_interval(hits, out.samples);
  out.samples_per_second = static_cast<double>(out.samples) / (milliseconds(busy) / 1e3);
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
