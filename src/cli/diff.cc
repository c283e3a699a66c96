// SPDX-License-Identifier: Apache-2.0
// octet diff: the layers that run otherwise in another file, on one target.
#include "cli/command.h"
#include "cli/explanation.h"
#include "cli/models.h"
#include <CLI/CLI.hpp>

namespace octet::cli {
namespace {

class Diff final : public Command {
 public:
  std::string_view name() const override { return "diff"; }
  std::string_view summary() const override {
    return "the layers that run otherwise in another file, on one target";
  }
  std::string_view example() const override {
    return "octet diff cnn.onnx cnn.int8.onnx --target onnxruntime";
  }

  void define(CLI::App& app) override {
    app.add_option("before", before_, "model folder or ONNX file")->required();
    app.add_option("after", after_, "the one that is compared with it")->required();
    app.add_option("--target", target_, "tensorrt-10.1, onnxruntime, octet, a .toml file, ...")
        ->capture_default_str();
  }

  Result<Answer> run(const Common& common) override {
    return show_changes(before_, after_, OCTET_TRY(parse_target(target_)), common);
  }

 private:
  std::string before_, after_, target_ = "octet";
};

} // namespace

Command& diff_command() {
  static Diff command;
  return command;
}

} // namespace octet::cli
