// SPDX-License-Identifier: Apache-2.0
// octet assemble: from the textual form back to an ONNX file.
#include "cli/command.h"
#include "cli/models.h"
#include "cli/outputs.h"
#include "cli/text_model.h"
#include <CLI/CLI.hpp>

namespace octet::cli {
namespace {

class Assemble final : public Command {
 public:
  std::string_view name() const override { return "assemble"; }
  std::string_view summary() const override { return "a textual graph to an ONNX file"; }
  std::string_view example() const override {
    return "octet inspect cnn.onnx --text > cnn.txt; octet assemble cnn.txt --weights cnn.onnx -o "
           "edited.onnx";
  }

  void define(CLI::App& app) override {
    app.add_option("text", text_, "graph in its textual form")->required();
    app.add_option("--weights", weights_, "model that has the constants that the text leaves out");
    app.add_option("-o,--output", output_, "ONNX file to write")->required();
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_model_output(output_, writes_folder(output_, {}), {text_, weights_}, common));
    Graph weights;
    if (!weights_.empty()) weights = OCTET_TRY(open_model(weights_, common));
    const Graph graph =
        OCTET_TRY(open_text_model(text_, weights_.empty() ? nullptr : &weights, common.seed));
    OCTET_TRY(write_model(graph, output_, common));
    return Answer::kDone;
  }

 private:
  std::string text_, weights_, output_;
};

} // namespace

Command& assemble_command() {
  static Assemble command;
  return command;
}

} // namespace octet::cli
