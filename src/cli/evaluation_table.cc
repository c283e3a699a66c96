// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluation_table.h"

#include <cmath>

#include "cli/terminal.h"
#include "core/json.h"
#include "report/table.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {

std::string table_text(const EvaluationTable& part) {
  Table table(part.header);
  for (const std::vector<std::string>& row : part.rows)
    table.add(row);
  return table.text() + part.legend + "\n";
}

nlohmann::ordered_json paired_json(const PairedTest& t) {
  return {{"only_first_right", t.only_first},
          {"only_this_right", t.only_second},
          {"difference", t.difference},
          {"difference_interval", {t.interval.first, t.interval.second}},
          {"mcnemar_p", t.p_value}};
}

std::vector<std::string> paired_header() {
  return {"only first right", "only this right", "difference", "95 % interval", "p"};
}

std::vector<std::string> paired_cells(const PairedTest& t) {
  return {std::to_string(t.only_first), std::to_string(t.only_second),
          fmt::format("{:+.2f}", 100 * t.difference),
          fmt::format("{:+.2f} .. {:+.2f}", 100 * t.interval.first, 100 * t.interval.second),
          fmt::format("{:.4f}", t.p_value)};
}

std::string percent_range(const std::pair<double, double>& interval) {
  return fmt::format("{:.2f} .. {:.2f}", 100 * interval.first, 100 * interval.second);
}

namespace {

/// `-` where no latency was measured.
std::string milliseconds(const Evaluation& e, double value) {
  return e.latency_ms_median > 0 ? fmt::format("{:.4f}", value) : "-";
}

nlohmann::ordered_json milliseconds_json(const Evaluation& e, double value) {
  return e.latency_ms_median > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

} // namespace

EvaluationTable scores_table(const std::vector<Evaluation>& results) {
  EvaluationTable out;
  out.header = {"model", "executor",  "accuracy %", "95 % interval", "changed %",
                "size",  "median ms", "p99 ms",     "examples/s"};
  for (const Evaluation& e : results)
    out.rows.push_back(
        {e.model, e.executor, fmt::format("{:.2f}", 100 * e.accuracy), percent_range(e.interval),
         fmt::format("{:.2f}", 100 * changed_share(results.front(), e)), bytes_text(e.size_bytes),
         milliseconds(e, e.latency_ms_median), milliseconds(e, e.latency_ms_p99),
         fmt::format("{:.0f}", e.samples_per_second)});
  out.legend = "changed: predictions other than the first model's; median and p99 of one example a "
               "run, examples/s in batches";
  constexpr double kNoisy = 2;
  for (const Evaluation& e : results)
    if (e.latency_ms_p99 > kNoisy * e.latency_ms_median)
      out.legend +=
          fmt::format("\n{} ({}): timings vary, p99 is {:.1f} times the median; measure again "
                      "where nothing else runs",
                      e.model, e.executor, e.latency_ms_p99 / e.latency_ms_median);
  for (const Evaluation& e : results)
    if (e.not_numbers > 0)
      out.legend += fmt::format("\n{} ({}): {} of {} examples have scores that are NaN; what is "
                                "counted of them means nothing",
                                e.model, e.executor, e.not_numbers, e.samples);
  return out;
}

EvaluationTable classes_table(const std::vector<Evaluation>& results) {
  EvaluationTable out;
  out.header = {"model", "executor", "F1 %", "95 % interval", "MCC", "95 % interval", "right"};
  for (const Evaluation& e : results) {
    const auto right = std::llround(e.accuracy * static_cast<double>(e.samples));
    out.rows.push_back(
        {e.model, e.executor, fmt::format("{:.2f}", 100 * e.f1), percent_range(e.f1_interval),
         fmt::format("{:.4f}", e.matthews),
         fmt::format("{:.4f} .. {:.4f}", e.matthews_interval.first, e.matthews_interval.second),
         std::to_string(right)});
  }
  out.legend = "F1: of class 1, with more than two classes their mean; MCC: Matthews' correlation";
  return out;
}

EvaluationTable pairs_table(const std::vector<Evaluation>& results) {
  EvaluationTable out;
  out.header = {"model", "executor"};
  for (std::string& title : paired_header())
    out.header.push_back(std::move(title));
  for (size_t i = 1; i < results.size(); ++i) {
    out.rows.push_back({results[i].model, results[i].executor});
    for (std::string& cell : paired_cells(results[i].against_first))
      out.rows.back().push_back(std::move(cell));
  }
  out.legend = kPairedLegend;
  return out;
}

void print_json(const std::vector<Evaluation>& results) {
  auto out = nlohmann::ordered_json::array();
  for (const Evaluation& e : results)
    out.push_back({{"model", e.model},
                   {"executor", e.executor},
                   {"accuracy", e.accuracy},
                   {"accuracy_interval", {e.interval.first, e.interval.second}},
                   {"f1", e.f1},
                   {"f1_interval", {e.f1_interval.first, e.f1_interval.second}},
                   {"matthews", e.matthews},
                   {"matthews_interval", {e.matthews_interval.first, e.matthews_interval.second}},
                   {"against_first", paired_json(e.against_first)},
                   {"samples", e.samples},
                   {"not_numbers", e.not_numbers},
                   {"changed", changed_share(results.front(), e)},
                   {"size_bytes", e.size_bytes},
                   {"latency_ms_median", milliseconds_json(e, e.latency_ms_median)},
                   {"latency_ms_p99", milliseconds_json(e, e.latency_ms_p99)},
                   {"samples_per_second", e.samples_per_second}});
  fmt::print("{}\n", json_text(out));
}

void print_table(const std::vector<Evaluation>& results, const Dataset& data) {
  fmt::print("{}, {} examples\n{}\n{}", data.description(), results.front().samples,
             table_text(scores_table(results)), table_text(classes_table(results)));
  if (results.size() > 1) fmt::print("\n{}", table_text(pairs_table(results)));
}

} // namespace octet::cli
