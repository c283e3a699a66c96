// SPDX-License-Identifier: Apache-2.0
// octet check: would this target take the file?
#include "cli/command.h"
#include "cli/models.h"
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
    const Graph graph = OCTET_TRY(open_model(model_));
    const std::vector<Finding> findings = OCTET_TRY_WITH(check(graph, target), model_);
    const bool ok = accepted(findings);
    if (common.json) {
      nlohmann::ordered_json out = {{"accepted", ok},
                                    {"findings", nlohmann::ordered_json::array()}};
      for (const Finding& f : findings)
        out["findings"].push_back({{"rule", f.rule},
                                   {"severity", severity(f)},
                                   {"node", f.node},
                                   {"message", f.message},
                                   {"fix", f.fix},
                                   {"source", f.source}});
      fmt::print("{}\n", out.dump(2));
      return ok ? Answer::kDone : Answer::kNo;
    }
    for (const Finding& f : findings)
      fmt::print("{}: {}: {} [{}]\n  {}\n  fix: {}\n  source: {}\n", model_, f.node, severity(f),
                 f.rule, f.message, f.fix, f.source);
    fmt::print("{}: {} by {}\n", model_, ok ? "accepted" : "refused", target);
    return ok ? Answer::kDone : Answer::kNo;
  }

 private:
  static std::string severity(const Finding& f) {
    return f.severity == Severity::kError ? "error" : "warning";
  }
  std::string model_, target_;
};

} // namespace

Command& check_command() {
  static Check command;
  return command;
}

} // namespace octet::cli
