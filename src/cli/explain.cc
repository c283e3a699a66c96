// SPDX-License-Identifier: Apache-2.0
// octet explain: how each layer of a model will run on a target and why; with data, what quantizing
// it would do.
#include <algorithm>

#include "cli/command.h"
#include "cli/models.h"
#include "cli/quantize_options.h"
#include "core/format.h"
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
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option("--diff", other_, "another model: show the layers that run otherwise there");
    app.add_option("--tensor", tensor_,
                   "whether it matters that TensorRT has no scale and zero-point for this tensor");
    flags_.define(app);
  }

  Result<Answer> run(const Common& common) override {
    const Graph graph = OCTET_TRY(open_model(model_));
    if (!flags_.data.empty() || !flags_.plan_file.empty() || !flags_.ranges_file.empty()) {
      const QuantizationPlan plan = OCTET_TRY_WITH(flags_.plan(graph, model_, common), model_);
      fmt::print("{}", common.json ? plan.to_json() + "\n" : plan.text());
      return Answer::kDone;
    }
    const std::vector<std::string> targets = OCTET_TRY(parse_targets());
    if (targets.size() > 1 && (!tensor_.empty() || !other_.empty()))
      return error("--tensor and --diff take one target, not {}", targets.size());
    if (!tensor_.empty()) return explain_one(graph, targets.front(), common);
    if (!other_.empty()) return show_changes(graph, targets.front(), common);
    std::vector<std::vector<LayerForm>> all;
    all.reserve(targets.size());
    for (const std::string& target : targets)
      all.push_back(OCTET_TRY_WITH(explain(graph, target), model_));
    if (common.json)
      fmt::print("{}\n", json(targets, all).dump(2));
    else if (targets.size() == 1)
      show(targets.front(), all.front());
    else
      show_side_by_side(targets, all);
    return Answer::kDone;
  }

 private:
  Result<std::vector<std::string>> parse_targets() const {
    std::vector<std::string> out;
    for (size_t begin = 0; begin <= flags_.target().size();) {
      const size_t end = std::min(flags_.target().find(',', begin), flags_.target().size());
      out.push_back(OCTET_TRY(parse_target(flags_.target().substr(begin, end - begin))));
      begin = end + 1;
    }
    return out;
  }

  static nlohmann::ordered_json json(const std::vector<LayerForm>& layers) {
    auto out = nlohmann::ordered_json::array();
    for (const LayerForm& l : layers)
      out.push_back({{"node", l.node},
                     {"op", l.op},
                     {"form", l.form},
                     {"precision", l.precision},
                     {"fusion", l.fusion},
                     {"work", l.work},
                     {"why", l.why},
                     {"mend", l.mend},
                     {"source", l.source}});
    return out;
  }
  /// The layers; of several targets an object, by target.
  static nlohmann::ordered_json json(const std::vector<std::string>& targets,
                                     const std::vector<std::vector<LayerForm>>& all) {
    if (targets.size() == 1) return json(all.front());
    nlohmann::ordered_json out;
    for (size_t i = 0; i < targets.size(); ++i)
      out[targets[i]] = {{"int8_share", int8_share(all[i])}, {"layers", json(all[i])}};
    return out;
  }

  void show(const std::string& target, const std::vector<LayerForm>& layers) const {
    Table table({"node", "operator", "runs as", "precision", "why"});
    for (const LayerForm& l : layers)
      table.add({l.node, l.op, l.fusion.empty() ? l.form : l.form + " in " + l.fusion, l.precision,
                 l.mend.empty() ? l.why : fmt::format("{}; to mend it, {}", l.why, l.mend)});
    fmt::print("{} on {}\n{}{:.1f} % of the multiply-adds in int8\n", model_, target, table.text(),
               100 * int8_share(layers));
  }

  /// One column a target. Layers are matched by name.
  void show_side_by_side(const std::vector<std::string>& targets,
                         const std::vector<std::vector<LayerForm>>& all) const {
    std::vector<std::string> header = {"node", "operator"};
    header.insert(header.end(), targets.begin(), targets.end());
    Table table(std::move(header));
    for (const LayerForm& layer : all.front()) {
      std::vector<std::string> row = {layer.node, layer.op};
      for (const auto& layers : all) {
        const auto same = std::find_if(layers.begin(), layers.end(), [&](const LayerForm& l) {
          return l.node == layer.node && l.op == layer.op;
        });
        row.push_back(same == layers.end() ? "-" : same->precision);
      }
      table.add(std::move(row));
    }
    std::vector<std::string> shares = {"share of work in int8", ""};
    for (const auto& layers : all)
      shares.push_back(fmt::format("{:.1f} %", 100 * int8_share(layers)));
    table.add(std::move(shares));
    fmt::print("{}\n{}", model_, table.text());
  }

  Result<Answer> show_changes(const Graph& graph, const std::string& target, const Common& common) {
    const Graph other = OCTET_TRY(open_model(other_));
    const auto before = OCTET_TRY_WITH(explain(graph, target), model_);
    const auto after = OCTET_TRY_WITH(explain(other, target), other_);
    const std::vector<LayerChange> changes = diff(before, after);
    if (common.json) {
      auto out = nlohmann::ordered_json::array();
      for (const LayerChange& c : changes)
        out.push_back({{"node", c.node},
                       {"op", c.op},
                       {"before", c.before},
                       {"after", c.after},
                       {"why", c.why}});
      fmt::print("{}\n", out.dump(2));
      return Answer::kDone;
    }
    Table table({"node", "operator", "before", "after", "why"});
    for (const LayerChange& c : changes)
      table.add({c.node, c.op, c.before.empty() ? "-" : c.before, c.after.empty() ? "-" : c.after,
                 c.why});
    fmt::print("{} and {} on {}\n{}", model_, other_, target,
               changes.empty() ? "every layer runs alike\n" : table.text());
    fmt::print("multiply-adds in int8: {:.1f} and {:.1f} %\n", 100 * int8_share(before),
               100 * int8_share(after));
    return Answer::kDone;
  }

  Result<Answer> explain_one(const Graph& graph, const std::string& target, const Common& common) {
    const TensorAnswer a = OCTET_TRY_WITH(explain_tensor(graph, tensor_, target), model_);
    if (common.json) {
      const nlohmann::ordered_json out = {
          {"tensor", a.tensor},   {"producer", a.producer}, {"consumers", a.consumers},
          {"matters", a.matters}, {"why", a.why},           {"fix", a.fix}};
      fmt::print("{}\n", out.dump(2));
      return Answer::kDone;
    }
    fmt::print("tensor \"{}\": made by {}, read by {}\n{}: {}\n", a.tensor, a.producer,
               a.consumers.empty() ? "nothing" : fmt::format("{}", fmt::join(a.consumers, ", ")),
               a.matters ? "it matters" : "it does not matter", a.why);
    if (!a.fix.empty()) fmt::print("fix: {}\n", a.fix);
    return Answer::kDone;
  }

  std::string model_, other_, tensor_;
  QuantizeFlags flags_;
};

} // namespace

Command& explain_command() {
  static Explain command;
  return command;
}

} // namespace octet::cli
