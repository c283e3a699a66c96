// SPDX-License-Identifier: Apache-2.0
// octet eval: any number of models and executors in one table.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/command.h"
#include "cli/evaluate.h"
#include "cli/evaluate_lm.h"
#include "cli/list_option.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "report/html.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class Eval final : public Command {
 public:
  std::string_view name() const override { return "eval"; }
  std::string_view summary() const override { return "accuracy, size and speed of models"; }
  std::string_view example() const override {
    return "octet eval cnn.onnx cnn.int8.onnx --data fashion-mnist:DIR";
  }

  void define(CLI::App& app) override {
    app.add_option("models", models_, "model folders or ONNX files")
        ->required()
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--data", data_, "data set, kind:path")->required();
    add_list_option(app, "--executor", executors_, "native, reference or torch; may be repeated");
    app.add_option("--batch", options_.batch, "examples a run")->check(CLI::Range(1, 65536));
    app.add_option("--limit", options_.limit, "only the first examples, 0: all");
    app.add_option("--max-length", max_length_, "tokens of a row, for text")
        ->check(CLI::Range(3, 65536))
        ->capture_default_str();
    app.add_flag("--training-data", training_split_, "the training part of the data set instead");
    app.add_option("--report", report_, "write the table and charts as an HTML page");
    app.add_option("--latency-runs", options_.latency_runs, "runs of one example, 0: none");
  }

  Result<Answer> run(const Common& common) override {
    if (executors_.empty()) executors_ = {"native"};
    if (!report_.empty()) OCTET_TRY(check_output(report_, common));
    std::vector<Graph> graphs;
    for (const std::string& path : models_)
      graphs.push_back(OCTET_TRY(open_model(path)));
    const auto lms = std::count_if(graphs.begin(), graphs.end(), is_language_model);
    if (lms == 0) return run_classifiers(graphs, common);
    if (lms == static_cast<std::ptrdiff_t>(graphs.size()))
      return run_language_models(graphs, common);
    return Error("some of the models are language models and some are not; compare them apart");
  }

 private:
  Result<std::shared_ptr<const Dataset>>
  open_data(const Graph& graph, const std::string& path, const Common& common) const {
    const ModelData data{data_, training_split_ ? Split::kTrain : Split::kTest, max_length_,
                         options_.limit};
    return open_model_data(data, graph, path, common).with(path);
  }

  Result<Answer> run_classifiers(const std::vector<Graph>& graphs, const Common& common) const {
    std::vector<Evaluation> results;
    std::shared_ptr<const Dataset> data;
    for (size_t i = 0; i < graphs.size(); ++i) {
      const std::string& path = models_[i];
      data = OCTET_TRY(open_data(graphs[i], path, common));
      OCTET_TRY(check_labels(*data, path));
      for (const std::string& kind : executors_) {
        const auto executor = OCTET_TRY_WITH(make_executor(graphs[i], kind, common), path);
        results.push_back(OCTET_TRY_WITH(evaluate(graphs[i], *executor, *data, options_), path));
        results.back().model = path;
        results.back().executor = kind;
        results.back().size_bytes = model_bytes(path);
      }
    }
    OCTET_TRY(compare_with_first(results));
    if (!report_.empty())
      OCTET_TRY(write_file(report_, page(results, *data),
                           common.force ? Overwrite::kYes : Overwrite::kNo));
    common.json ? print_json(results) : print_table(results, *data);
    return Answer::kDone;
  }

  Result<Answer> run_language_models(const std::vector<Graph>& graphs, const Common& common) const {
    if (!report_.empty()) return Error("--report is for classifiers; use --json");
    std::vector<LmEvaluation> results;
    std::shared_ptr<const Dataset> data;
    for (size_t i = 0; i < graphs.size(); ++i) {
      const std::string& path = models_[i];
      data = OCTET_TRY(open_data(graphs[i], path, common));
      for (const std::string& kind : executors_) {
        const auto executor = OCTET_TRY_WITH(make_executor(graphs[i], kind, common), path);
        results.push_back(
            OCTET_TRY_WITH(evaluate_language_model(graphs[i], *executor, *data, options_), path));
        results.back().model = path;
        results.back().executor = kind;
        results.back().size_bytes = model_bytes(path);
      }
    }
    common.json ? cli::print_json(results) : cli::print_table(results, *data);
    return Answer::kDone;
  }

  static nlohmann::ordered_json paired_json(const PairedTest& t) {
    return {{"only_first_right", t.only_first},
            {"only_this_right", t.only_second},
            {"difference", t.difference},
            {"difference_interval", {t.interval.first, t.interval.second}},
            {"mcnemar_p", t.p_value}};
  }

  static void print_json(const std::vector<Evaluation>& results) {
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
                     {"changed", changed_share(results.front(), e)},
                     {"size_bytes", e.size_bytes},
                     {"latency_ms_median", e.latency_ms_median},
                     {"latency_ms_p99", e.latency_ms_p99},
                     {"samples_per_second", e.samples_per_second}});
    fmt::print("{}\n", out.dump(2));
  }

  static const std::vector<std::string>& header() {
    static const std::vector<std::string> names = {"model",         "executor",  "accuracy %",
                                                   "95 % interval", "changed %", "size",
                                                   "median ms",     "p99 ms",    "examples/s"};
    return names;
  }

  static std::vector<std::vector<std::string>> rows(const std::vector<Evaluation>& results) {
    std::vector<std::vector<std::string>> out;
    out.reserve(results.size());
    for (const Evaluation& e : results)
      out.push_back(
          {e.model, e.executor, fmt::format("{:.2f}", 100 * e.accuracy), percent(e.interval),
           fmt::format("{:.2f}", 100 * changed_share(results.front(), e)), bytes_text(e.size_bytes),
           fmt::format("{:.4f}", e.latency_ms_median), fmt::format("{:.4f}", e.latency_ms_p99),
           fmt::format("{:.0f}", e.samples_per_second)});
    return out;
  }

  static constexpr std::string_view kLegend =
      "changed: predictions other than the first model's; median and p99 of one example a run, "
      "examples/s in batches";

  static std::string percent(const std::pair<double, double>& interval) {
    return fmt::format("{:.2f} .. {:.2f}", 100 * interval.first, 100 * interval.second);
  }

  static const std::vector<std::string>& class_header() {
    static const std::vector<std::string> names = {"model",
                                                   "executor",
                                                   "F1 %",
                                                   "95 % interval",
                                                   "MCC",
                                                   "95 % interval",
                                                   "right",
                                                   "only first right",
                                                   "only this right",
                                                   "difference",
                                                   "95 % interval",
                                                   "p"};
    return names;
  }

  static std::vector<std::vector<std::string>> class_rows(const std::vector<Evaluation>& results) {
    std::vector<std::vector<std::string>> out;
    for (const Evaluation& e : results) {
      const PairedTest& t = e.against_first;
      const auto right = std::llround(e.accuracy * static_cast<double>(e.samples));
      out.push_back(
          {e.model, e.executor, fmt::format("{:.2f}", 100 * e.f1), percent(e.f1_interval),
           fmt::format("{:.4f}", e.matthews),
           fmt::format("{:.4f} .. {:.4f}", e.matthews_interval.first, e.matthews_interval.second),
           std::to_string(right), std::to_string(t.only_first), std::to_string(t.only_second),
           fmt::format("{:+.2f}", 100 * t.difference),
           fmt::format("{:+.2f} .. {:+.2f}", 100 * t.interval.first, 100 * t.interval.second),
           fmt::format("{:.4f}", t.p_value)});
    }
    return out;
  }

  static constexpr std::string_view kClassLegend =
      "F1: of class 1, with more than two classes their mean; MCC: Matthews' correlation; "
      "difference: points of accuracy to the first model; p: chance of such a difference between "
      "models as good as each other (McNemar)";

  static std::string text_of(const std::vector<std::string>& header,
                             const std::vector<std::vector<std::string>>& rows) {
    Table table(header);
    for (const std::vector<std::string>& row : rows)
      table.add(row);
    return table.text();
  }

  static void print_table(const std::vector<Evaluation>& results, const Dataset& data) {
    fmt::print("{}, {} examples\n{}{}\n\n{}{}\n", data.description(), results.front().samples,
               text_of(header(), rows(results)), kLegend,
               text_of(class_header(), class_rows(results)), kClassLegend);
  }

  /// The name that a chart has room for.
  static std::string label(const Evaluation& e) {
    const std::string file = std::filesystem::path(e.model).filename().string();
    return e.executor == "native" ? file : file + " " + e.executor;
  }

  static std::string page(const std::vector<Evaluation>& results, const Dataset& data) {
    HtmlPage html("octet: models compared");
    html.paragraph(fmt::format("{}, {} examples.", data.description(), results.front().samples));
    html.table(header(), rows(results));
    html.paragraph(kLegend);
    html.heading("Classes, and each model against the first");
    html.table(class_header(), class_rows(results));
    html.paragraph(kClassLegend);
    std::vector<HtmlPage::Bar> accuracy, size, latency;
    double lowest = 100;
    for (const Evaluation& e : results) {
      lowest = std::min(lowest, 100 * e.interval.first);
      accuracy.push_back({label(e), 100 * e.accuracy, fmt::format("{:.2f} %", 100 * e.accuracy),
                          100 * e.interval.first, 100 * e.interval.second});
      size.push_back({label(e), static_cast<double>(e.size_bytes), bytes_text(e.size_bytes), 0, 0});
      latency.push_back({label(e), e.latency_ms_median,
                         fmt::format("{:.1f} µs", 1e3 * e.latency_ms_median), 0, 0});
    }
    html.heading("Accuracy");
    const double from = std::max(0.0, lowest - 1);
    html.bars(fmt::format("per cent, with 95 % intervals; the axis starts at {:.1f}", from),
              accuracy, from);
    html.heading("Size");
    html.bars("bytes of the file", size);
    html.heading("Latency");
    html.bars("median of one example a run", latency);
    return html.text();
  }

  std::vector<std::string> models_, executors_;
  std::string data_, report_;
  int64_t max_length_ = 128;
  bool training_split_ = false;
  EvalOptions options_;
};

} // namespace

Command& eval_command() {
  static Eval command;
  return command;
}

} // namespace octet::cli
