// SPDX-License-Identifier: Apache-2.0
// octet run: a model on tensors from npy and npz files.
#include <filesystem>

#include "cli/command.h"
#include "cli/input_files.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "core/json.h"
#include "data/npz.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class Run final : public Command {
 public:
  std::string_view name() const override { return "run"; }
  std::string_view summary() const override { return "run a model on npy or npz files"; }
  std::string_view example() const override {
    return "octet run cnn.onnx --input x=images.npy -o out.npz --executor native";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder, ONNX file or weight store")->required();
    add_input_options(app, inputs_, archive_);
    app.add_option("-o,--output", output_, "npz file to write")->required();
    app.add_option("--executor", executor_, "native, reference or torch");
  }

  Result<Answer> run(const Common& common) override {
    UsedFiles used = inputs_;
    used.insert(used.end(), {model_, archive_});
    OCTET_TRY(check_output(output_, used, common));
    const OpenedModel opened = OCTET_TRY(open_executor(model_, executor_, common));
    const Graph& graph = opened.graph;
    const std::vector<Tensor> inputs =
        OCTET_TRY_WITH(read_inputs(graph, inputs_, archive_), model_);
    const std::vector<Tensor> outputs = OCTET_TRY_WITH(opened.executor->run(inputs), model_);
    NamedTensors named;
    nlohmann::ordered_json json;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& value = graph.value(graph.outputs()[i]).name;
      named.emplace_back(value, outputs[i]);
      json["outputs"][value] = {{"type", octet::name(outputs[i].type())},
                                {"shape", outputs[i].shape()}};
    }
    OCTET_TRY(write_npz(output_, named, common.force ? Overwrite::kYes : Overwrite::kNo));
    if (common.json) fmt::print("{}\n", json_text(json));
    return Answer::kDone;
  }

 private:
  std::string model_, archive_, output_, executor_ = "native";
  std::vector<std::string> inputs_;
};

} // namespace

Command& run_command() {
  static Run command;
  return command;
}

} // namespace octet::cli
