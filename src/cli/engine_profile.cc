// SPDX-License-Identifier: Apache-2.0
// octet engine profile: the time that each layer of an engine takes, beside what was predicted.
#include "cli/command.h"
#include "cli/engine_report.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/random_inputs.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class EngineProfile final : public Command {
 public:
  std::string_view name() const override { return "engine profile"; }
  std::string_view summary() const override {
    return "time of each layer of a TensorRT engine, with predicted and real precision";
  }
  std::string_view example() const override {
    return "octet engine profile cnn.int8.onnx cnn.engine --shape x=64x1x28x28";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file that the engine was built from")
        ->required();
    app.add_option("engine", engine_, "file of octet engine build")->required();
    add_list_option(app, "--shape", shapes_,
                    "NAME=1x128, once for each input; else what the engine is best at");
    add_count_option(app, "--runs", runs_, "runs to average over", {1, 1000000});
    app.add_option("--times", times_file_, "write the times as JSON");
    app.add_option("--target", target_,
                   "whose rules to predict with; default: the TensorRT that is installed");
  }

  Result<Answer> run(const Common& common) override {
    EngineApi* api = OCTET_TRY(engine_api());
    if (!times_file_.empty())
      OCTET_TRY(check_output(times_file_, {model_, engine_, target_}, common));
    const std::string target = OCTET_TRY(engine_target(target_, api->tensorrt_version()));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    const std::unique_ptr<Engine> engine = OCTET_TRY(open_engine(*api, engine_, graph));
    InputShapes shapes = OCTET_TRY_WITH(parse_input_shapes(graph, shapes_), model_);
    for (const EnginePort& port : engine->inputs())
      if (!port.best.empty()) shapes.emplace(port.name, port.best);
    const std::vector<Tensor> inputs =
        OCTET_TRY_WITH(random_inputs(graph, shapes, {}, common.seed), model_);
    EngineReport report = OCTET_TRY_WITH(
        make_engine_report(graph, model_, target, OCTET_TRY(engine->layers())), engine_);
    report.times = OCTET_TRY_WITH(engine->profile(inputs, runs_), engine_);
    if (!times_file_.empty())
      OCTET_TRY(write_file(times_file_, times_json(report.times),
                           common.force ? Overwrite::kYes : Overwrite::kNo));
    if (common.json)
      fmt::print("{}\n", json_text(report_json(report)));
    else
      fmt::print("{}\n{}", nodes_text(report, ShowNodes::kOtherwise), times_text(report));
    return Answer::kDone;
  }

 private:
  /// As trtexec --exportProfile names it.
  static std::string times_json(const std::vector<LayerTime>& times) {
    auto out = nlohmann::ordered_json::array();
    for (const LayerTime& t : times)
      out.push_back({{"name", t.layer}, {"averageMs", t.ms}});
    return json_text(out) + "\n";
  }

  std::string model_, engine_, times_file_, target_;
  std::vector<std::string> shapes_;
  int64_t runs_ = 100;
};

} // namespace

Command& engine_profile_command() {
  static EngineProfile command;
  return command;
}

} // namespace octet::cli
