// SPDX-License-Identifier: Apache-2.0
// octet engine compare: layers that were written down elsewhere (trtexec, another machine) beside
// what explain predicts; needs no TensorRT.
#include "cli/command.h"
#include "cli/engine_report.h"
#include "cli/models.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class EngineCompare final : public Command {
 public:
  std::string_view name() const override { return "engine compare"; }
  std::string_view summary() const override {
    return "an engine's layers beside what explain predicts; needs no TensorRT";
  }
  std::string_view example() const override {
    return "octet engine compare cnn.int8.onnx layers.json --target tensorrt-10";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file that the engine was built from")
        ->required();
    app.add_option("layers", layers_,
                   "JSON of octet engine build --layers or trtexec --exportLayerInfo "
                   "--profilingVerbosity=detailed")
        ->required();
    app.add_option("--times", times_,
                   "JSON of octet engine profile --times or trtexec --exportProfile");
    app.add_option("--target", target_, "TensorRT that built it: tensorrt-8.6 to tensorrt-11")
        ->required();
  }

  Result<Answer> run(const Common& common) override {
    constexpr size_t kLargest = size_t{1} << 30;
    const std::string target = OCTET_TRY(engine_target(target_, ""));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    EngineReport report = OCTET_TRY_WITH(
        make_engine_report(graph, model_, target, OCTET_TRY(read_file(layers_, kLargest))),
        layers_);
    if (!times_.empty())
      report.times =
          OCTET_TRY_WITH(parse_engine_profile(OCTET_TRY(read_file(times_, kLargest))), times_);
    if (common.json)
      fmt::print("{}\n", json_text(report_json(report)));
    else
      fmt::print("{}{}", nodes_text(report, ShowNodes::kAll),
                 times_.empty() ? "" : "\n" + times_text(report));
    return Answer::kDone;
  }

 private:
  std::string model_, layers_, times_, target_;
};

} // namespace

Command& engine_compare_command() {
  static EngineCompare command;
  return command;
}

} // namespace octet::cli
