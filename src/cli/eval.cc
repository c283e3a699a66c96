// SPDX-License-Identifier: Apache-2.0
// octet eval: any number of models and executors in one table.
#include "cli/command.h"
#include "cli/evaluate.h"
#include "cli/models.h"
#include "cli/terminal.h"
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
    app.add_option("models", models_, "ONNX files")
        ->required()
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_option("--data", data_, "data set, kind:path")->required();
    app.add_option("--executor", executors_, "native, reference or torch; may be repeated")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    app.add_option("--batch", options_.batch, "examples a run")->check(CLI::Range(1, 65536));
    app.add_option("--limit", options_.limit, "only the first examples, 0: all");
    app.add_option("--latency-runs", options_.latency_runs, "runs of one example, 0: none");
  }

  Result<Answer> run(const Common& common) override {
    if (executors_.empty()) executors_ = {"native"};
    const auto data = OCTET_TRY(open_dataset(data_, Split::kTest));
    std::vector<Evaluation> results;
    for (const std::string& path : models_) {
      const Graph graph = OCTET_TRY(open_model(path));
      for (const std::string& kind : executors_) {
        const auto executor = OCTET_TRY_WITH(make_executor(graph, kind, common), path);
        results.push_back(OCTET_TRY_WITH(evaluate(graph, *executor, *data, options_), path));
        results.back().model = path;
        results.back().executor = kind;
        results.back().size_bytes = model_bytes(path);
      }
    }
    common.json ? print_json(results) : print_table(results, *data);
    return Answer::kDone;
  }

 private:
  static void print_json(const std::vector<Evaluation>& results) {
    auto out = nlohmann::ordered_json::array();
    for (const Evaluation& e : results)
      out.push_back({{"model", e.model},
                     {"executor", e.executor},
                     {"accuracy", e.accuracy},
                     {"accuracy_interval", {e.interval.first, e.interval.second}},
                     {"samples", e.samples},
                     {"changed", changed_share(results.front(), e)},
                     {"size_bytes", e.size_bytes},
                     {"latency_ms_median", e.latency_ms_median},
                     {"latency_ms_p99", e.latency_ms_p99},
                     {"samples_per_second", e.samples_per_second}});
    fmt::print("{}\n", out.dump(2));
  }

  static void print_table(const std::vector<Evaluation>& results, const Dataset& data) {
    Table table({"model", "executor", "accuracy %", "95 % interval", "changed %", "size",
                 "median ms", "p99 ms", "examples/s"});
    for (const Evaluation& e : results)
      table.add({e.model, e.executor, fmt::format("{:.2f}", 100 * e.accuracy),
                 fmt::format("{:.2f} .. {:.2f}", 100 * e.interval.first, 100 * e.interval.second),
                 fmt::format("{:.2f}", 100 * changed_share(results.front(), e)),
                 bytes_text(e.size_bytes), fmt::format("{:.4f}", e.latency_ms_median),
                 fmt::format("{:.4f}", e.latency_ms_p99),
                 fmt::format("{:.0f}", e.samples_per_second)});
    fmt::print("{}, {} examples\n{}", data.description(), results.front().samples, table.text());
    fmt::print("changed: predictions other than the first model's; median and p99 of one example a "
               "run, examples/s in batches\n");
  }

  std::vector<std::string> models_, executors_;
  std::string data_;
  EvalOptions options_;
};

} // namespace

Command& eval_command() {
  static Eval command;
  return command;
}

} // namespace octet::cli
