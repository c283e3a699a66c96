// SPDX-License-Identifier: Apache-2.0
// octet check: would this target take the file?
#include <optional>

#include "cli/command.h"
#include "cli/findings.h"
#include "cli/mending.h"
#include "cli/models.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/target.h"

namespace octet::cli {
namespace {

class Check final : public Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override {
    return "whether a target takes a model; exit 1: refused";
  }
  std::string_view example() const override {
    return "octet check cnn.int8.onnx --target tensorrt-10.1";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option(
           "--target", target_,
           "tensorrt-8.5 to tensorrt-11.1 (tensorrt-10: the newest 10), onnxruntime-1.15 to "
           "onnxruntime-1.31, onnxruntime-cuda, octet, or your own: FILE.toml")
        ->required();
  }

  Result<Answer> run(const Common& common) override {
    const std::string target = OCTET_TRY(parse_target(target_));
    const Graph graph = OCTET_TRY(common.strict ? open_model(model_, common) : open_model(model_));
    const std::vector<Finding> findings = OCTET_TRY_WITH(check(graph, target), model_);
    const bool ok = accepted(findings);
    const std::optional<Mending> mended = mending(graph, model_, target, findings);
    if (common.json) {
      nlohmann::ordered_json out = {{"accepted", ok}, {"findings", findings_json(findings)}};
      out["repair"] = nullptr; // octet repair can do nothing about it
      if (mended) out["repair"] = {{"command", mended->command}, {"mended", mended->mended}};
      fmt::print("{}\n", json_text(out));
      return ok ? Answer::kDone : Answer::kNo;
    }
    fmt::print("{}{}: {} by {}{}\n", text(findings, model_), model_, ok ? "accepted" : "refused",
               target, findings.empty() ? "" : ": " + counts(findings));
    if (mended) print_mending(findings, *mended);
    return ok ? Answer::kDone : Answer::kNo;
  }

 private:
  static void print_mending(const std::vector<Finding>& findings, const Mending& mended) {
    if (mended.left.empty())
      fmt::print("mends it: {}\n", mended.command);
    else
      fmt::print("mends {} of {} ({} left): {}\n", mended.mended, findings.size(),
                 counts(mended.left), mended.command);
  }

  std::string model_, target_;
};

} // namespace

Command& check_command() {
  static Check command;
  return command;
}

} // namespace octet::cli
