// SPDX-License-Identifier: Apache-2.0
// octet inspect: what a model holds, as a table, JSON, or the textual form.
#include <map>

#include "cli/command.h"
#include "cli/models.h"
#include "cli/terminal.h"
#include "ops/infer.h"
#include "passes/lower/lower.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/text.h"

namespace octet::cli {
namespace {

class Inspect final : public Command {
 public:
  std::string_view name() const override { return "inspect"; }
  std::string_view summary() const override { return "what a model holds"; }
  std::string_view example() const override { return "octet inspect cnn.onnx --text"; }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_flag("--text", text_, "the graph in its textual form");
    app.add_flag("--lowered", lowered_, "the graph that the native executor runs");
    app.add_option("--max-elements", max_elements_,
                   "with --text: longer constants are written as their hash");
  }

  Result<Answer> run(const Common& common) override {
    Graph graph = OCTET_TRY(open_model(model_));
    OCTET_TRY_WITH(infer_types(graph), model_);
    if (lowered_) graph = OCTET_TRY_WITH(lower(graph), model_).graph;
    if (text_) {
      fmt::print("{}", print(graph, {.max_elements = max_elements_, .types = true}));
      return Answer::kDone;
    }
    common.json ? print_json(graph) : print_summary(graph);
    return Answer::kDone;
  }

 private:
  static std::map<std::string, int> count_ops(const Graph& graph) {
    std::map<std::string, int> count;
    for (const NodeId id : graph.nodes()) {
      const Node& n = graph.node(id);
      ++count[n.domain.empty() ? n.op_type : n.domain + "." + n.op_type];
    }
    return count;
  }

  static int64_t count_parameters(const Graph& graph) {
    int64_t total = 0;
    for (const ValueId id : graph.constants())
      total += graph.value(id).constant.count();
    return total;
  }

  void print_json(const Graph& graph) const {
    nlohmann::ordered_json out;
    for (const auto& [domain, version] : graph.opsets)
      out["opset"][domain] = version;
    const auto values = [&](const std::vector<ValueId>& ids) {
      auto list = nlohmann::ordered_json::array();
      for (const ValueId id : ids)
        list.push_back({{"name", graph.value(id).name}, {"type", graph.value(id).type.text()}});
      return list;
    };
    out["inputs"] = values(graph.inputs());
    out["outputs"] = values(graph.outputs());
    out["nodes"] = count_ops(graph);
    out["parameters"] = count_parameters(graph);
    out["size_bytes"] = model_bytes(model_);
    fmt::print("{}\n", out.dump(2));
  }

  void print_summary(const Graph& graph) const {
    fmt::print("{}  {}, {} parameters\n", model_, bytes_text(model_bytes(model_)),
               count_parameters(graph));
    for (const auto& [domain, version] : graph.opsets)
      fmt::print("opset    {} {}\n", domain.empty() ? "ai.onnx" : domain, version);
    for (const ValueId id : graph.inputs())
      fmt::print("input    {}: {}\n", graph.value(id).name, graph.value(id).type.text());
    for (const ValueId id : graph.outputs())
      fmt::print("output   {}: {}\n", graph.value(id).name, graph.value(id).type.text());
    for (const auto& [op, count] : count_ops(graph))
      fmt::print("{:>7}  {}\n", count, op);
  }

  std::string model_;
  bool text_ = false, lowered_ = false;
  int64_t max_elements_ = 64;
};

} // namespace

Command& inspect_command() {
  static Inspect command;
  return command;
}

} // namespace octet::cli
