// SPDX-License-Identifier: Apache-2.0
// octet eval for a TensorRT engine, beside the model that it was built from.
#include <algorithm>
#include <limits>

#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/engine_report.h"
#include "cli/evaluate.h"
#include "cli/evaluate_lm.h"
#include "cli/evaluation_table.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "core/format.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace octet::cli {
namespace {

class EngineEval final : public Command {
 public:
  std::string_view name() const override { return "engine eval"; }
  std::string_view summary() const override {
    return "accuracy and speed of a TensorRT engine beside its model";
  }
  std::string_view example() const override {
    return "octet engine eval cnn.int8.onnx cnn.engine --data fashion-mnist:DIR";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file that the engine was built from")
        ->required();
    app.add_option("engine", engine_, "file of octet engine build")->required();
    app.add_option("--data", data_, "data set, kind:path")->required();
    add_list_option(app, "--executor", executors_,
                    "what to run the model with beside it: native, reference, torch or none");
    add_count_option(app, "--batch", options_.batch, "examples a run", {1, 65536});
    add_count_option(app, "--limit", options_.limit, "only the first examples, 0: all");
    add_max_length(app, max_length_);
    add_count_option(app, "--latency-runs", options_.latency_runs, "runs of one example, 0: none");
  }

  Result<Answer> run(const Common& common) override {
    EngineApi* api = OCTET_TRY(engine_api());
    if (executors_.empty()) executors_ = {"native"};
    if (executors_ == std::vector<std::string>{"none"}) executors_.clear();
    const Graph graph = OCTET_TRY(open_model(model_, common));
    const std::unique_ptr<Engine> engine = OCTET_TRY(open_engine(*api, engine_, graph));
    const ModelData spec{data_, Split::kTest, max_length_, options_.limit, {}};
    const auto data = OCTET_TRY_WITH(open_model_data(spec, graph, model_, common), model_);
    for (const std::string& executor : executors_)
      OCTET_TRY(check_executor(executor));
    OCTET_TRY_WITH(check_data(graph, *data, data_, options_.limit), model_);
    OCTET_TRY(fit_batches(*engine, *data));
    const std::string version = "tensorrt " + api->tensorrt_version();
    if (is_language_model(graph)) {
      const auto results = OCTET_TRY(
          run_all<LmEvaluation>(graph, *engine, *data, version, evaluate_language_model, common));
      common.json ? print_json(results) : print_table(results, *data);
    } else {
      OCTET_TRY(check_labels(*data, graph, model_));
      auto results =
          OCTET_TRY(run_all<Evaluation>(graph, *engine, *data, version, evaluate, common));
      OCTET_TRY(compare_with_first(results));
      common.json ? print_json(results) : print_table(results, *data);
    }
    return Answer::kDone;
  }

 private:
  /// Batches within what the engine was built for. Where one example alone is too few, latency is
  /// not measured and examples that fill no batch are left out.
  Status fit_batches(const Engine& engine, const Dataset& data) {
    int64_t least = 1, most = std::numeric_limits<int64_t>::max();
    for (const EnginePort& port : engine.inputs()) {
      if (port.shape.empty()) continue;
      const bool fixed = port.shape[0] >= 0 || port.most.empty();
      least = std::max(least, fixed ? port.shape[0] : port.least[0]);
      most = std::min(most, fixed ? std::max<int64_t>(port.shape[0], 1) : port.most[0]);
    }
    if (least > most) return error("{}: its inputs take no batch in common", engine_);
    options_.batch = std::clamp(options_.batch, least, most);
    if (least == 1) return ok_status();
    const int64_t wanted = options_.limit > 0 ? std::min(options_.limit, data.size()) : data.size();
    options_.limit = wanted / options_.batch * options_.batch;
    options_.latency_runs = 0;
    if (options_.limit == 0)
      return error("{}: it takes {} examples at once, the data set has {}", engine_, least,
                   data.size());
    fmt::print(stderr,
               "the engine takes at least {} examples at once: latency of one is not measured, the "
               "first {} of {} examples are run\n",
               least, options_.limit, data.size());
    return ok_status();
  }

  /// The model with each executor, then the engine.
  template <class One, class Evaluate>
  Result<std::vector<One>> run_all(const Graph& graph,
                                   Executor& engine,
                                   const Dataset& data,
                                   const std::string& version,
                                   Evaluate evaluate_one,
                                   const Common& common) const {
    std::vector<One> out;
    for (const std::string& kind : executors_) {
      const auto executor = OCTET_TRY_WITH(make_executor(graph, kind, common), model_);
      out.push_back(OCTET_TRY_WITH(evaluate_one(graph, *executor, data, options_), model_));
      out.back().model = model_;
      out.back().executor = kind;
      out.back().size_bytes = model_bytes(model_);
    }
    out.push_back(OCTET_TRY_WITH(evaluate_one(graph, engine, data, options_), engine_));
    out.back().model = engine_;
    out.back().executor = version;
    out.back().size_bytes = model_bytes(engine_);
    return out;
  }

  std::string model_, engine_, data_;
  std::vector<std::string> executors_;
  int64_t max_length_ = 0;
  EvalOptions options_;
};

} // namespace

Command& engine_eval_command() {
  static EngineEval command;
  return command;
}

} // namespace octet::cli
