// SPDX-License-Identifier: Apache-2.0
// octet export hf: a model folder of octet's to one that Hugging Face's code reads.
#include <filesystem>

#include "cli/command.h"
#include "cli/models.h"
#include "cli/outputs.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/hugging_face.h"
#include "octet/model_folder.h"

namespace octet::cli {
namespace {

class ExportHf final : public Command {
 public:
  std::string_view name() const override { return "export hf"; }
  std::string_view summary() const override {
    return "write a BERT as config.json and model.safetensors";
  }
  std::string_view example() const override { return "octet export hf bert/ -o bert-hf/"; }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option("-o,--output", output_, "folder to write")->required();
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_model_output(output_, true, {model_}, common));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    ModelFolderWriter folder = OCTET_TRY(ModelFolderWriter::create(output_, common.force));
    OCTET_TRY(export_hugging_face(graph, folder.path(), false).with(model_));
    const Result<std::string> companions = companion_folder(model_);
    if (companions.ok()) OCTET_TRY(folder.add_companions(*companions));
    OCTET_TRY(folder.commit());
    if (!common.json) fmt::print("{}: exported\n", output_);
    return Answer::kDone;
  }

 private:
  std::string model_, output_;
};

} // namespace

Command& export_hf_command() {
  static ExportHf command;
  return command;
}

} // namespace octet::cli
