// SPDX-License-Identifier: Apache-2.0
// octet explain: how each layer of a model will run on a target and why; with data, what quantizing
// it would do.
#include <algorithm>

#include "cli/command.h"
#include "cli/explanation.h"
#include "cli/models.h"
#include "cli/quantize_options.h"
#include "core/format.h"
#include "core/json.h"
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
    flags_.define_batch(app);
  }

  Result<Answer> run(const Common& common) override {
    if (!other_.empty() && flags_.target().find(',') == std::string::npos)
      return show_changes(model_, other_, OCTET_TRY(parse_target(flags_.target())), common);
    const Graph graph = OCTET_TRY(open_model(model_, common));
    if (!flags_.data.empty() || !flags_.plan_file.empty() || !flags_.ranges_file.empty()) {
      const QuantizationPlan plan = OCTET_TRY_WITH(flags_.plan(graph, model_, common), model_);
      fmt::print("{}", common.json ? plan.to_json() + "\n" : plan.text());
      return Answer::kDone;
    }
    const std::vector<std::string> targets = OCTET_TRY(parse_targets());
    if (targets.size() > 1 && (!tensor_.empty() || !other_.empty()))
      return error("--tensor and --diff take one target, not {}", targets.size());
    if (!tensor_.empty()) return explain_one(graph, targets.front(), common);
    std::vector<Explanation> all;
    all.reserve(targets.size());
    for (const std::string& target : targets)
      all.push_back(OCTET_TRY_WITH(explanation(graph, target), model_));
    if (common.json)
      fmt::print("{}\n", json_text(json(all)));
    else if (targets.size() == 1)
      show(all.front());
    else
      show_side_by_side(all);
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
                     {"precision", l.precision_name()},
                     {"fusion", l.fusion},
                     {"work", l.work},
                     {"float_work", l.float_work},
                     {"why", l.why},
                     {"mend", l.mend},
                     {"source", l.source}});
    return out;
  }
  /// An object by target, of one target as of several.
  static nlohmann::ordered_json json(const std::vector<Explanation>& all) {
    nlohmann::ordered_json out;
    for (const Explanation& one : all) {
      const auto share = [&](LayerPrecision precision) -> nlohmann::ordered_json {
        if (one.errors > 0) return nullptr; // a refused file runs in nothing
        return share_in(one.layers, precision);
      };
      out[one.target] = {{"errors", one.errors}, {"int8_share", share(LayerPrecision::kInt8)}};
      for (const LayerPrecision precision : kOtherCodes)
        out[one.target][fmt::format("{}_share", octet::name(precision))] = share(precision);
      out[one.target]["layers"] = json(one.layers);
    }
    return out;
  }

  void show(const Explanation& one) const {
    Table table({"node", "operator", "runs as", "precision", "why"});
    for (const LayerForm& l : one.layers)
      table.add({l.node, l.op, l.fusion.empty() ? l.form : l.form + " in " + l.fusion,
                 std::string(l.precision_name()),
                 l.mend.empty() ? l.why : fmt::format("{}; to mend it, {}", l.why, l.mend)});
    fmt::print("{} on {}\n{}{}\n", model_, one.target, table.text(), shares_text(one));
    print_refusal(one);
  }

  static std::vector<std::string> share_row(const std::vector<Explanation>& all,
                                            LayerPrecision precision) {
    std::vector<std::string> out = {fmt::format("share of work in {}", octet::name(precision)), ""};
    for (const Explanation& one : all)
      out.push_back(share_text(one, precision));
    return out;
  }

  /// One column a target. Layers are matched by name.
  void show_side_by_side(const std::vector<Explanation>& all) const {
    std::vector<std::string> header = {"node", "operator"};
    for (const Explanation& one : all)
      header.push_back(one.target);
    Table table(std::move(header));
    for (const LayerForm& layer : all.front().layers) {
      std::vector<std::string> row = {layer.node, layer.op};
      for (const Explanation& one : all) {
        const auto same =
            std::find_if(one.layers.begin(), one.layers.end(), [&](const LayerForm& l) {
              return l.node == layer.node && l.op == layer.op;
            });
        row.push_back(same == one.layers.end() ? "-" : std::string(same->precision_name()));
      }
      table.add(std::move(row));
    }
    table.add(share_row(all, LayerPrecision::kInt8));
    for (const LayerPrecision precision : kOtherCodes)
      if (std::any_of(all.begin(), all.end(),
                      [&](const Explanation& one) { return share_in(one.layers, precision) > 0; }))
        table.add(share_row(all, precision));
    fmt::print("{}\n{}", model_, table.text());
    for (const Explanation& one : all)
      print_refusal(one);
  }

  Result<Answer> explain_one(const Graph& graph, const std::string& target, const Common& common) {
    const TensorAnswer a = OCTET_TRY_WITH(explain_tensor(graph, tensor_, target), model_);
    if (common.json) {
      const nlohmann::ordered_json out = {
          {"tensor", a.tensor},   {"producer", a.producer}, {"consumers", a.consumers},
          {"matters", a.matters}, {"why", a.why},           {"fix", a.fix}};
      fmt::print("{}\n", json_text(out));
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
