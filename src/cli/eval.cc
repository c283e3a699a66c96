// SPDX-License-Identifier: Apache-2.0
// octet eval: any number of models and executors in one table.
#include <algorithm>

#include "cli/command.h"
#include "cli/evaluate.h"
#include "cli/evaluate_lm.h"
#include "cli/evaluation_page.h"
#include "cli/evaluation_table.h"
#include "cli/list_option.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include <CLI/CLI.hpp>

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
    add_max_length(app, max_length_);
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
    OCTET_TRY(write_page(results, *data, common));
    common.json ? print_json(results) : print_table(results, *data);
    return Answer::kDone;
  }

  template <class Results>
  Status write_page(const Results& results, const Dataset& data, const Common& common) const {
    if (report_.empty()) return ok_status();
    return write_file(report_, evaluation_page(results, data),
                      common.force ? Overwrite::kYes : Overwrite::kNo);
  }

  Result<Answer> run_language_models(const std::vector<Graph>& graphs, const Common& common) const {
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
    OCTET_TRY(compare_with_first(results));
    OCTET_TRY(write_page(results, *data, common));
    common.json ? cli::print_json(results) : cli::print_table(results, *data);
    return Answer::kDone;
  }

  std::vector<std::string> models_, executors_;
  std::string data_, report_;
  int64_t max_length_ = 0;
  bool training_split_ = false;
  EvalOptions options_;
};

} // namespace

Command& eval_command() {
  static Eval command;
  return command;
}

} // namespace octet::cli
