// SPDX-License-Identifier: Apache-2.0
// octet inspect: what a model holds, as a table, JSON, a drawing, or the textual form.
#include <map>

#include "cli/command.h"
#include "cli/history.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/predictions.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "ops/infer.h"
#include "passes/lower/lower.h"
#include "report/graph_view.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/graph_text.h"

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
    app.add_flag("--nodes", nodes_, "every node with its operator, results and size");
    app.add_flag("--dot", dot_,
                 "a drawing in Graphviz' language: octet inspect M --dot | dot -Tsvg");
    app.add_option("--target", target_,
                   "with --json, --nodes or --dot: how it runs there, and what check finds");
    app.add_flag("--lowered", lowered_, "the graph that the native executor runs");
    add_count_option(app, "--max-elements", max_elements_,
                     "with --text: longer constants are written as their hash");
  }

  Result<Answer> run(const Common& common) override {
    Graph graph = OCTET_TRY(open_model(model_, common));
    OCTET_TRY_WITH(infer_types(graph), model_);
    if (Result<std::vector<nlohmann::json>> history = history_of(graph); history.ok())
      history_ = std::move(*history);
    else
      fmt::print(stderr, "{}: {}\n", model_, history.error().text());
    if (lowered_) graph = OCTET_TRY_WITH(lower(graph), model_).graph;
    if (text_) {
      fmt::print("{}", print(graph, {.max_elements = max_elements_, .types = true}));
      return Answer::kDone;
    }
    if (!common.json && !dot_ && !nodes_) {
      if (!target_.empty()) return error("--target goes with --json, --nodes or --dot");
      print_summary(graph);
      return Answer::kDone;
    }
    const std::string target = target_.empty() ? "" : OCTET_TRY(parse_target(target_));
    const GraphView view = OCTET_TRY_WITH(view_graph(graph, target), model_);
    if (dot_)
      fmt::print("{}", view_dot(view));
    else if (common.json)
      print_json(graph, view);
    else
      print_nodes(view);
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

  void print_json(const Graph& graph, const GraphView& view) const {
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
    out["operators"] = count_ops(graph);
    out["parameters"] = count_parameters(graph);
    out["size_bytes"] = model_bytes(model_);
    for (const auto& [key, value] : graph.info.metadata)
      if (key != kHistoryMetadata) out["metadata"][key] = value;
    if (!history_.empty()) out["history"] = history_;
    out["graph"] = graph_json(view);
    fmt::print("{}\n", json_text(out));
  }

  static void print_nodes(const GraphView& view) {
    std::map<std::string_view, std::string_view> types;
    for (const GraphView::Value& value : view.values)
      types[value.name] = value.type;
    std::vector<std::string> header = {"node", "operator", "result", "constants"};
    if (!view.target.empty()) header.insert(header.end(), {"precision", "findings"});
    Table table(std::move(header));
    for (const GraphView::Node& node : view.nodes) {
      std::string result;
      for (const std::string& output : node.outputs)
        if (!output.empty())
          result += fmt::format("{}{}: {}", result.empty() ? "" : ", ", output, types[output]);
      std::vector<std::string> row = {
          node.name, node.domain.empty() ? node.op : node.domain + "." + node.op, std::move(result),
          node.bytes > 0 ? bytes_text(node.bytes) : ""};
      if (!view.target.empty()) {
        std::string rules;
        for (const Finding& finding : node.findings)
          rules += (rules.empty() ? "" : ", ") + finding.rule;
        row.emplace_back(node.layer ? node.layer->precision_name() : "");
        row.push_back(std::move(rules));
      }
      table.add(std::move(row));
    }
    fmt::print("{}", table.text());
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
    constexpr size_t kMostCharacters = 160;
    for (const auto& [key, value] : graph.info.metadata)
      if (key != kHistoryMetadata)
        fmt::print("says     {}: {}\n", one_line(key), one_line(value, kMostCharacters));
    for (const nlohmann::json& step : history_)
      fmt::print("made by  {}\n", history_line(step));
  }

  std::string model_, target_;
  bool text_ = false, lowered_ = false, dot_ = false, nodes_ = false;
  int64_t max_elements_ = 64;
  std::vector<nlohmann::json> history_;
};

} // namespace

Command& inspect_command() {
  static Inspect command;
  return command;
}

} // namespace octet::cli
