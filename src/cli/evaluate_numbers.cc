// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_numbers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "cli/loss.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "data/batch_rows.h"
#include "report/table.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

/// What each example should give and gives, one row behind the other.
struct NumberRows {
  std::vector<double> wanted, given;
  size_t columns = 0;
  double seconds = 0;
};

Result<NumberRows> run_all_rows(const Graph& graph,
                                Executor& executor,
                                const Dataset& data,
                                const EvalOptions& options) {
  ProgressLine progress("evaluate", "examples");
  const Interruptible interruptible;
  const int64_t total = options.limit > 0 ? std::min(options.limit, data.size()) : data.size();
  const BatchRows rows(graph, data, options.batch);
  if (total < 1) return error("{}: holds no examples", data.description());
  NumberRows out;
  for (int64_t begin = 0; begin < total; begin += rows.size()) {
    OCTET_TRY(interruptible.check());
    const int64_t meant = rows.meant(begin, total);
    const std::vector<int64_t> indices = rows.from(begin, total);
    const Batch batch = OCTET_TRY(data.batch(indices));
    const std::vector<Tensor> inputs = OCTET_TRY(bind_inputs(graph, batch));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Tensor> outputs = OCTET_TRY(executor.run(inputs));
    out.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::vector<double> wanted = OCTET_TRY(number_labels(batch));
    wanted.resize(wanted.size() / indices.size() * static_cast<size_t>(meant));
    if (wanted.empty()) return error("the data set has no labels");
    const Tensor answers = OCTET_TRY(first_rows(outputs.front(), meant));
    const std::vector<double> given = OCTET_TRY(answers.to_doubles());
    if (wanted.size() != given.size())
      return error("the output \"{}\" is {} numbers of {} examples, and the labels are {}",
                   graph.value(graph.outputs()[0]).name, given.size(), meant, wanted.size());
    out.columns = given.size() / static_cast<size_t>(meant);
    out.wanted.insert(out.wanted.end(), wanted.begin(), wanted.end());
    out.given.insert(out.given.end(), given.begin(), given.end());
    progress.update(begin + meant, total);
  }
  return out;
}

void measure_numbers(const NumberRows& rows, NumberEvaluation& out) {
  const size_t n = rows.wanted.size(), examples = n / rows.columns;
  std::vector<double> means(rows.columns, 0.0);
  for (size_t i = 0; i < n; ++i)
    means[i % rows.columns] += rows.wanted[i] / static_cast<double>(examples);
  double squares = 0, apart = 0, absolute = 0;
  for (size_t i = 0; i < n; ++i) {
    const double gap = rows.given[i] - rows.wanted[i];
    const double spread = rows.wanted[i] - means[i % rows.columns];
    squares += gap * gap;
    absolute += std::abs(gap);
    apart += spread * spread;
  }
  out.mean_square = squares / static_cast<double>(n);
  out.mean_absolute = absolute / static_cast<double>(n);
  out.explained = apart > 0 ? 1 - squares / apart : 0;
}

/// Right and wrong of one class: found, missed, and found where it is not.
struct ClassCounts {
  double found = 0, missed = 0, wrong = 0;
  double f1() const {
    const double all = 2 * found + missed + wrong;
    return all > 0 ? 2 * found / all : 0;
  }
};

void measure_classes(const NumberRows& rows, double threshold, NumberEvaluation& out) {
  std::vector<ClassCounts> counts(rows.columns);
  ClassCounts all;
  double right = 0, exact = 0;
  const size_t n = rows.wanted.size(), examples = n / rows.columns;
  for (size_t begin = 0; begin < n; begin += rows.columns) {
    bool whole = true;
    for (size_t c = 0; c < rows.columns; ++c) {
      const bool is = rows.wanted[begin + c] > 0.5, said = rows.given[begin + c] > threshold;
      for (ClassCounts* each : {&counts[c], &all}) {
        each->found += is && said ? 1 : 0;
        each->missed += is && !said ? 1 : 0;
        each->wrong += !is && said ? 1 : 0;
      }
      right += is == said ? 1 : 0;
      whole = whole && is == said;
    }
    exact += whole ? 1 : 0;
  }
  out.accuracy = right / static_cast<double>(n);
  out.exact = exact / static_cast<double>(examples);
  out.micro_f1 = all.f1();
  for (const ClassCounts& one : counts)
    out.macro_f1 += one.f1() / static_cast<double>(rows.columns);
}

bool are_truths(const std::vector<double>& labels) {
  return std::all_of(labels.begin(), labels.end(), [](double v) { return v == 0 || v == 1; });
}

} // namespace

Result<std::vector<double>> number_labels(const Batch& batch) {
  if (!batch.labels.empty()) return batch.labels.to_doubles();
  for (const auto& [name, tensor] : batch.targets)
    if (name == kNumberLabels) return tensor.to_doubles();
  return std::vector<double>();
}

Result<bool> has_number_labels(const Graph& graph, const Dataset& data) {
  if (data.size() < 1 || graph.outputs().empty()) return false;
  const Batch first = OCTET_TRY(data.batch(std::array<int64_t, 1>{0}));
  if (first.labels.empty())
    return std::any_of(first.targets.begin(), first.targets.end(),
                       [](const auto& target) { return target.first == kNumberLabels; });
  const TypeInfo& type = graph.value(graph.outputs()[0]).type;
  return type.has_rank() && type.rank() >= 1 &&
         (type.rank() == 1 || type.shape->back().maybe_value() == 1);
}

Result<NumberEvaluation> evaluate_numbers(const Graph& graph,
                                          Executor& executor,
                                          const Dataset& data,
                                          const EvalOptions& options) {
  NumberRows rows = OCTET_TRY(run_all_rows(graph, executor, data, options));
  NumberEvaluation out;
  out.samples = static_cast<int64_t>(rows.wanted.size() / std::max<size_t>(1, rows.columns));
  out.samples_per_second = static_cast<double>(out.samples) / rows.seconds;
  const std::optional<LossKind> loss = trained_loss(graph);
  out.classes = loss ? *loss == LossKind::kBinaryCrossEntropy : are_truths(rows.wanted);
  if (out.classes)
    measure_classes(rows, score_kind(graph) == ScoreKind::kProbabilities ? 0.5 : 0.0, out);
  else
    measure_numbers(rows, out);
  if (options.keep_probabilities) {
    out.wanted = std::move(rows.wanted);
    out.given = std::move(rows.given);
  }
  return out;
}

void print_json(const std::vector<NumberEvaluation>& results) {
  auto out = nlohmann::ordered_json::array();
  for (const NumberEvaluation& e : results) {
    nlohmann::ordered_json one = {{"model", e.model}, {"executor", e.executor}};
    if (e.classes)
      one.update({{"accuracy", e.accuracy},
                  {"exact", e.exact},
                  {"micro_f1", e.micro_f1},
                  {"macro_f1", e.macro_f1}});
    else
      one.update({{"mean_square_error", e.mean_square},
                  {"mean_absolute_error", e.mean_absolute},
                  {"r2", e.explained}});
    one.update({{"samples", e.samples},
                {"size_bytes", e.size_bytes},
                {"samples_per_second", e.samples_per_second}});
    out.push_back(std::move(one));
  }
  fmt::print("{}\n", json_text(out));
}

void print_table(const std::vector<NumberEvaluation>& results, const Dataset& data) {
  const bool classes = results.front().classes;
  std::vector<std::string> header = {"model", "executor"};
  for (const char* title :
       classes ? std::array{"labels right %", "all right %", "micro F1 %", "macro F1 %"}
               : std::array{"mean square error", "its root", "mean absolute error", "R^2"})
    header.emplace_back(title);
  header.insert(header.end(), {"size", "examples/s"});
  Table table(header);
  for (const NumberEvaluation& e : results) {
    std::vector<std::string> row = {e.model, e.executor};
    if (classes)
      for (const double share : {e.accuracy, e.exact, e.micro_f1, e.macro_f1})
        row.push_back(fmt::format("{:.2f}", 100 * share));
    else
      for (const double value :
           {e.mean_square, std::sqrt(e.mean_square), e.mean_absolute, e.explained})
        row.push_back(fmt::format("{:.6g}", value));
    row.push_back(bytes_text(e.size_bytes));
    row.push_back(fmt::format("{:.0f}", e.samples_per_second));
    table.add(row);
  }
  fmt::print("{}, {} examples\n{}", data.description(), results.front().samples, table.text());
}

} // namespace octet::cli
