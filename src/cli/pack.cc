// SPDX-License-Identifier: Apache-2.0
// octet pack: the weight store of a model, or a check of one.
#include "octet/pack.h"

#include "cli/command.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/model_folder.h"

namespace octet::cli {
namespace {

class Pack final : public Command {
 public:
  std::string_view name() const override { return "pack"; }
  std::string_view summary() const override {
    return "lower and pack a model once, into a file that run, bench and eval map";
  }
  std::string_view example() const override { return "octet pack cnn.int8.onnx --force"; }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file; with --verify a weight store")
        ->required();
    app.add_option("-o,--output", output_,
                   "file to write; MODEL.octetpack beside the model, where it is used by itself");
    app.add_option("--isa", isa_,
                   "scalar, avx2, vnni256, avx512, avx512vnni or amxint8: what the file is for; "
                   "OCTET_ISA or the best otherwise");
    app.add_flag("--verify", verify_, "check every byte of a weight store; writes nothing");
  }

  Result<Answer> run(const Common& common) override {
    if (verify_) return check(common);
    const std::string model = OCTET_TRY(resolve_model(model_));
    const std::string path = output_.empty() ? pack_path(model) : output_;
    OCTET_TRY(check_output(path, {model_}, common));
    const PackReport made = OCTET_TRY(pack_model(model, path, {isa_, common.force}));
    if (common.json)
      fmt::print("{}\n", json_text(nlohmann::ordered_json{{"path", made.path},
                                                          {"isa", made.isa},
                                                          {"bytes", made.bytes},
                                                          {"packs", made.packs}}));
    else
      fmt::print("{}: {} packed weights for {}, {:.1f} MB\n", made.path, made.packs, made.isa,
                 static_cast<double>(made.bytes) * 1e-6);
    return Answer::kDone;
  }

 private:
  Result<Answer> check(const Common& common) const {
    if (!output_.empty() || !isa_.empty())
      return error("--verify reads a weight store; leave out {}",
                   output_.empty() ? "--isa" : "--output");
    OCTET_TRY(verify_pack(model_));
    if (common.json)
      fmt::print("{}\n", json_text(nlohmann::ordered_json{{"path", model_}, {"whole", true}}));
    else
      fmt::print("{}: whole\n", model_);
    return Answer::kDone;
  }

  std::string model_, output_, isa_;
  bool verify_ = false;
};

} // namespace

Command& pack_command() {
  static Pack command;
  return command;
}

} // namespace octet::cli
