// SPDX-License-Identifier: Apache-2.0
// octet explain: how each layer of a model will run on a target and why; with data, what quantizing
// it would do.
#include "cli/command.h"
#include "cli/models.h"
#include "cli/quantize_options.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/target.h"

namespace octet::cli {
namespace {

class Explain final : public Command {
 public:
  std::string_view name() const override { return "explain"; }
  std::string_view summary() const override {
    return "how each layer runs on a target, or with --data what quantizing it would do";
  }
  std::string_view example() const override {
    return "octet explain cnn.int8.onnx --target onnxruntime";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "ONNX file")->required();
    flags_.define(app);
  }

  Result<Answer> run(const Common& common) override {
    const Graph graph = OCTET_TRY(open_model(model_));
    if (!flags_.data.empty() || !flags_.plan_file.empty()) {
      const QuantizationPlan plan = OCTET_TRY_WITH(flags_.plan(graph, model_, common), model_);
      fmt::print("{}", common.json ? plan.to_json() + "\n" : plan.text());
      return Answer::kDone;
    }
    const std::string target = OCTET_TRY(flags_.options(common)).target;
    const std::vector<LayerForm> layers = OCTET_TRY_WITH(explain(graph, target), model_);
    if (common.json) {
      auto out = nlohmann::ordered_json::array();
      for (const LayerForm& l : layers)
        out.push_back({{"node", l.node},
                       {"op", l.op},
                       {"form", l.form},
                       {"precision", l.precision},
                       {"why", l.why},
                       {"source", l.source}});
      fmt::print("{}\n", out.dump(2));
      return Answer::kDone;
    }
    Table table({"node", "operator", "runs as", "precision", "why"});
    for (const LayerForm& l : layers)
      table.add({l.node, l.op, l.form, l.precision, l.why});
    fmt::print("{} on {}\n{}", model_, target, table.text());
    return Answer::kDone;
  }

 private:
  std::string model_;
  QuantizeFlags flags_;
};

} // namespace

Command& explain_command() {
  static Explain command;
  return command;
}

} // namespace octet::cli
