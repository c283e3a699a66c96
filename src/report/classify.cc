// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/format.h"
#include "data/batch_rows.h"

#include "octet/classification.h"
#include "octet/metrics.h"

namespace octet {

namespace {

int64_t count_right(const Classification& c) {
  int64_t right = 0;
  for (size_t i = 0; i < c.labels.size(); ++i)
    right += c.labels[i] == c.predictions[i] ? 1 : 0;
  return right;
}

Status
add_batch(const Dataset& data, const Tensor& labels, const Tensor& scores, Classification& out) {
  const std::vector<int64_t> best = OCTET_TRY(top1(scores));
  const std::vector<int64_t> want = OCTET_TRY(labels.to_ints());
  if (want.size() != best.size())
    return error("{} labels and {} rows of scores; a classifier gives one row an example",
                 want.size(), best.size());
  out.classes = scores.dim(1);
  for (size_t i = 0; i < want.size(); ++i)
    if (want[i] < 0 || want[i] >= out.classes)
      return error("example {} of {} has label {}, the model has classes 0 .. {}",
                   out.labels.size() + i, data.description(), want[i], out.classes - 1);
  const std::vector<double> values = OCTET_TRY(scores.to_doubles());
  for (auto row = values.begin(); row != values.end(); row += out.classes)
    out.not_numbers += std::any_of(row, row + out.classes, [](double v) { return std::isnan(v); });
  out.predictions.insert(out.predictions.end(), best.begin(), best.end());
  out.labels.insert(out.labels.end(), want.begin(), want.end());
  return ok_status();
}

} // namespace

double Classification::accuracy() const {
  if (labels.empty()) return 0;
  return static_cast<double>(count_right(*this)) / static_cast<double>(labels.size());
}

std::pair<double, double> Classification::interval() const {
  return wilson_interval(count_right(*this), static_cast<int64_t>(labels.size()));
}

Result<Classification> classify(const Graph& graph,
                                Executor& executor,
                                const Dataset& data,
                                const ClassifyOptions& options) {
  const int64_t total = options.limit > 0 ? std::min(options.limit, data.size()) : data.size();
  if (total < 1) return error("{}: holds no examples", data.description());
  Classification out;
  const ScoreKind kind = score_kind(graph);
  const BatchRows rows(graph, data, options.batch);
  for (int64_t begin = 0; begin < total; begin += rows.size()) {
    const int64_t meant = rows.meant(begin, total);
    const Batch examples = OCTET_TRY(data.batch(rows.from(begin, total)));
    if (examples.labels.empty()) return error("{}: has no labels", data.description());
    const std::vector<Tensor> inputs = OCTET_TRY(bind_inputs(graph, examples));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Tensor> scores = OCTET_TRY(executor.run(inputs));
    const std::chrono::duration<double> busy = std::chrono::steady_clock::now() - start;
    out.seconds += busy.count();
    const Tensor answers = OCTET_TRY(first_rows(scores.front(), meant));
    OCTET_TRY(add_batch(data, OCTET_TRY(first_rows(examples.labels, meant)), answers, out));
    if (options.keep_probabilities) {
      const Tensor each = OCTET_TRY(probabilities(answers, kind));
      const auto values = each.data<float>();
      out.probabilities.insert(out.probabilities.end(), values.begin(), values.end());
    }
    if (options.progress && !options.progress(begin + meant, total))
      return Error("stopped by the user", ErrorCode::kCancelled);
  }
  return out;
}

} // namespace octet
