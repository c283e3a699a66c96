// SPDX-License-Identifier: Apache-2.0
// octet run: a model on tensors from npy and npz files.
#include <filesystem>

#include "cli/command.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/bind.h"
#include "data/npy.h"
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
    app.add_option("model", model_, "model folder or ONNX file")->required();
    add_list_option(app, "--input", inputs_, "NAME=FILE.npy, once for each input");
    app.add_option("--inputs", archive_, "npz file with tensors named as the inputs");
    app.add_option("-o,--output", output_, "npz file to write")->required();
    app.add_option("--executor", executor_, "native, reference or torch");
  }

  Result<Answer> run(const Common& common) override {
    UsedFiles used = inputs_;
    used.insert(used.end(), {model_, archive_});
    OCTET_TRY(check_output(output_, used, common));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    const NamedTensors given = OCTET_TRY(read_inputs());
    const std::vector<Tensor> inputs = OCTET_TRY(order(graph, given));
    const std::unique_ptr<Executor> executor =
        OCTET_TRY_WITH(make_executor(graph, executor_, common), model_);
    const std::vector<Tensor> outputs = OCTET_TRY_WITH(executor->run(inputs), model_);
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
  Result<NamedTensors> read_inputs() const {
    NamedTensors out;
    if (!archive_.empty()) out = OCTET_TRY(read_npz(archive_));
    for (const std::string& item : inputs_) {
      const size_t equals = item.find('=');
      if (equals == std::string::npos || equals == 0)
        return error("--input {}: wants NAME=FILE.npy", item);
      out.emplace_back(item.substr(0, equals), OCTET_TRY(read_npy(item.substr(equals + 1))));
    }
    return out;
  }

  Result<std::vector<Tensor>> order(const Graph& graph, const NamedTensors& given) const {
    std::vector<std::string> names;
    for (const ValueId id : graph.inputs())
      names.push_back(graph.value(id).name);
    for (const auto& [name, tensor] : given)
      if (std::find(names.begin(), names.end(), name) == names.end())
        return error("{}: has no input \"{}\"{}", model_, name, suggestion(name, names));
    std::vector<Tensor> out;
    for (const std::string& name : names) {
      const Tensor* found = nullptr;
      for (const auto& [key, tensor] : given)
        if (key == name) found = &tensor;
      if (found == nullptr)
        return error("{}: input \"{}\" was not given; use --input {}=FILE.npy", model_, name, name);
      const DType wanted = graph.value(*graph.find_value(name)).type.type;
      if (wanted == DType::kUndefined || wanted == found->type()) {
        out.push_back(*found);
        continue;
      }
      out.push_back(OCTET_TRY_WITH(converted(*found, wanted), fmt::format("input \"{}\"", name)));
      fmt::print(stderr, "input \"{}\" is {}, the model takes {}: converted\n", name,
                 octet::name(found->type()), octet::name(wanted));
    }
    return out;
  }

  std::string model_, archive_, output_, executor_ = "native";
  std::vector<std::string> inputs_;
};

} // namespace

Command& run_command() {
  static Run command;
  return command;
}

} // namespace octet::cli
