// SPDX-License-Identifier: Apache-2.0
// octet simplify: the same model said shorter, with a record of every rewrite.
#include <algorithm>
#include <chrono>
#include <map>

#include "cli/command.h"
#include "cli/compare_models.h"
#include "cli/drop_inputs.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/random_inputs.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "ops/infer.h"
#include "passes/standardize/raise_opset.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/passes.h"

namespace octet::cli {
namespace {

/// What reordered rounding may move an output by, as a part of its largest magnitude: eight times the
/// rounding of what is stored in 16 bits.
double rounding_tolerance(const Graph& graph) {
  double out = 1e-4;
  for (int32_t i = 0; i < graph.value_bound(); ++i) {
    const DType type = graph.value(ValueId{i}).type.type;
    if (type == DType::kFloat16) out = std::max(out, 4e-3);
    if (type == DType::kBfloat16) out = std::max(out, 3e-2);
  }
  return out;
}

using Counts = std::map<std::string, std::pair<int, int>>; ///< operator -> before, after

void count(const Graph& graph, Counts& counts, int std::pair<int, int>::*side) {
  for (const NodeId id : graph.nodes()) {
    const Node& n = graph.node(id);
    ++(counts[n.domain.empty() ? n.op_type : n.domain + "." + n.op_type].*side);
  }
}

const char* effect_name(Exactness exactness) {
  return exactness == Exactness::kExact      ? "exact"
         : exactness == Exactness::kRounding ? "rounding"
                                             : "inexact";
}

class Simplify final : public Command {
 public:
  std::string_view name() const override { return "simplify"; }
  std::string_view summary() const override {
    return "the same model with fewer nodes; exit 1: --verify found a difference";
  }
  std::string_view example() const override {
    return "octet simplify bert.onnx -o simple.onnx --drop-input token_type_ids --verify 3";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder or ONNX file")->required();
    app.add_option("-o,--output", output_, "ONNX file or model folder to write")->required();
    add_count_option(app, "--verify", verify_, "run both models on so many random inputs",
                     {1, 1000});
    app.add_option("--executor", executor_, "for --verify: reference, or native (much faster)");
    add_number_option(app, "--tolerance", tolerance_,
                      "for --verify: the largest difference, as a part of the output's largest "
                      "magnitude; by default 0 when every rewrite is exact, else 1e-4 (with "
                      "f16 4e-3, with bf16 3e-2)",
                      0, 1e30);
    add_list_option(app, "--shape", shapes_,
                    "for --verify: NAME=1x128; open sizes are small numbers otherwise");
    add_list_option(app, "--drop-input", drop_inputs_,
                    "NAME or NAME=VALUE: the input becomes VALUE (0) everywhere");
    add_list_option(app, "--drop-output", drop_outputs_, "NAME: an output that nobody needs");
    app.add_flag("--drop-training-dropout", drop_dropout_,
                 "remove Dropout that an export in training mode left");
    add_count_option(app, "--opset", opset_,
                     "write for this operator set, 13 to 23: LayerNormalization needs 17, Gelu 20",
                     {13, 23});
    app.add_flag("--standard-operators", standard_,
                 "write com.microsoft's attention and normalization in operators of ai.onnx");
    app.add_flag("--keep-parameters", keep_parameters_,
                 "keep biases of zeros and gains of ones, for a model to be trained on");
    app.add_flag("--log", log_, "print every rewrite");
    add_count_option(app, "--max-steps", max_steps_,
                     "stop after so many rewrites (to find a wrong one)");
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_model_output(output_, writes_folder(output_, model_), {model_}, common));
    if (executor_ != "reference" && executor_ != "native")
      return error("--executor {}: wants reference or native", executor_);
    const Graph original = OCTET_TRY(open_model(model_, common));
    const auto begin = std::chrono::steady_clock::now();
    Graph graph = original;
    if (!graph.info.functions.empty()) OCTET_TRY_WITH(inline_functions(graph), model_);
    OCTET_TRY_WITH(drop(graph), model_);
    if (opset_ > 0) OCTET_TRY_WITH(raise_opset(graph, opset_), model_);
    SimplifyOptions options;
    options.max_steps = max_steps_;
    options.neutral_parameters =
        keep_parameters_ ? NeutralParameters::kKeep : NeutralParameters::kEliminate;
    if (drop_dropout_) options.training_dropout = TrainingDropout::kRemove;
    if (standard_) options.microsoft_operators = MicrosoftOperators::kDecompose;
    steps_ = OCTET_TRY_WITH(simplify(graph, options), model_);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rounding_tolerance_ = rounding_tolerance(graph);
    if (verify_ > 0) difference_ = OCTET_TRY(compare(original, graph, common));
    OCTET_TRY(write_model(graph, output_, common, model_));
    common.json ? print_json(original, graph) : print_text(original, graph);
    return verify_ > 0 && difference_.relative > tolerance() ? Answer::kNo : Answer::kDone;
  }

 private:
  Status drop(Graph& graph) {
    for (const std::string& item : drop_inputs_)
      dropped_.push_back(OCTET_TRY(drop_named_input(graph, item)));
    std::vector<ValueId> outputs = graph.outputs();
    for (const std::string& name : drop_outputs_) {
      const size_t before = outputs.size();
      std::erase_if(outputs, [&](ValueId id) { return graph.value(id).name == name; });
      if (outputs.size() == before) return error("has no output \"{}\"", name);
    }
    if (outputs.empty() && !drop_outputs_.empty())
      return error("--drop-output: leave the model at least one output");
    graph.set_outputs(std::move(outputs));
    return ok_status();
  }

  bool is_dropped(const std::string& input) const {
    return std::any_of(dropped_.begin(), dropped_.end(),
                       [&](const DroppedInput& d) { return d.name == input; });
  }

  Result<Difference> compare(const Graph& before, const Graph& after, const Common& common) const {
    const InputShapes shapes = OCTET_TRY_WITH(parse_input_shapes(before, shapes_), model_);
    const auto sizes = different_sizes(before);
    const auto inputs = [&](int run) -> Result<std::vector<Tensor>> {
      auto out =
          OCTET_TRY(random_inputs(before, shapes, sizes, common.seed + static_cast<uint64_t>(run)));
      for (size_t i = 0; i < out.size(); ++i)
        for (const DroppedInput& d : dropped_)
          if (before.value(before.inputs()[i]).name == d.name)
            out[i] = OCTET_TRY(Tensor::from_doubles(
                out[i].type(), out[i].shape(),
                std::vector<double>(static_cast<size_t>(out[i].count()), d.value)));
      return out;
    };
    const auto for_after = [&](const std::vector<Tensor>& given) {
      std::vector<Tensor> out;
      for (size_t i = 0; i < given.size(); ++i)
        if (!is_dropped(before.value(before.inputs()[i]).name)) out.push_back(given[i]);
      return out;
    };
    const auto make = [&](const Graph& g) { return make_executor(g, executor_, common); };
    return compare_models(before, after, make, verify_, inputs, for_after)
        .with(fmt::format("{}: --verify", model_));
  }

  double tolerance() const {
    if (tolerance_ >= 0) return tolerance_;
    const bool exact = std::all_of(steps_.begin(), steps_.end(),
                                   [](const Step& s) { return s.exactness == Exactness::kExact; });
    return exact ? 0 : rounding_tolerance_;
  }

  std::vector<std::string> unused_inputs(const Graph& graph) const {
    std::vector<std::string> out;
    const Uses uses(graph);
    for (const ValueId id : graph.inputs())
      if (uses.count(id) == 0) out.push_back(graph.value(id).name);
    return out;
  }

  static Counts counts_of(const Graph& before, const Graph& after) {
    Counts counts;
    count(before, counts, &std::pair<int, int>::first);
    count(after, counts, &std::pair<int, int>::second);
    return counts;
  }

  void print_text(const Graph& before, const Graph& after) const {
    if (log_)
      for (const Step& s : steps_)
        fmt::print("#{} {} {}: {} ({})\n", s.number, s.rule, s.node, s.why,
                   effect_name(s.exactness));
    for (const DroppedInput& d : dropped_)
      fmt::print("{}\n", d.words);
    for (const std::string& name : unused_inputs(after))
      fmt::print("input \"{}\" is not used; --drop-input {} removes it\n", name, name);
    fmt::print("{}: {} nodes -> {} in {:.3f} s\n", model_, before.nodes().size(),
               after.nodes().size(), seconds_);
    for (const auto& [op, n] : counts_of(before, after))
      if (n.first != n.second) fmt::print("{:>7} -> {:<6} {}\n", n.first, n.second, op);
    std::map<std::pair<std::string, Exactness>, int> rules;
    for (const Step& s : steps_)
      ++rules[{s.rule, s.exactness}];
    for (const auto& [rule, times] : rules)
      fmt::print("{:>7} x {} ({})\n", times, rule.first, effect_name(rule.second));
    if (verify_ == 0) return;
    const bool ok = difference_.relative <= tolerance();
    fmt::print("{} on {} random inputs ({} executor): largest difference {:.3g}, {:.3g} of the "
               "output's largest magnitude{}; {:.3g} is allowed\n",
               ok ? "equal" : "DIFFERENT", difference_.runs, executor_, difference_.absolute,
               difference_.relative,
               difference_.output.empty() ? "" : " (\"" + difference_.output + "\")", tolerance());
  }

  void print_json(const Graph& before, const Graph& after) const {
    nlohmann::ordered_json out = {{"nodes_before", before.nodes().size()},
                                  {"nodes_after", after.nodes().size()},
                                  {"seconds", seconds_}};
    for (const auto& [op, n] : counts_of(before, after))
      out["operators"][op] = {{"before", n.first}, {"after", n.second}};
    out["changes"] = nlohmann::ordered_json::array();
    for (const Step& s : steps_)
      out["changes"].push_back({{"step", s.number},
                                {"rule", s.rule},
                                {"node", s.node},
                                {"why", s.why},
                                {"effect", effect_name(s.exactness)},
                                {"exact", s.exactness == Exactness::kExact}});
    out["dropped_inputs"] = nlohmann::ordered_json::array();
    for (const DroppedInput& d : dropped_)
      out["dropped_inputs"].push_back(
          {{"name", d.name}, {"value", d.value}, {"replaced_by", d.words}});
    out["unused_inputs"] = unused_inputs(after);
    if (verify_ > 0)
      out["verify"] = {{"runs", difference_.runs},
                       {"executor", executor_},
                       {"max_difference", difference_.absolute},
                       {"max_relative_difference", difference_.relative},
                       {"tolerance", tolerance()},
                       {"equal", difference_.relative <= tolerance()}};
    fmt::print("{}\n", json_text(out));
  }

  std::string model_, output_, executor_ = "reference";
  std::vector<std::string> shapes_, drop_inputs_, drop_outputs_;
  int verify_ = 0, max_steps_ = -1, opset_ = 0;
  double tolerance_ = -1, rounding_tolerance_ = 0, seconds_ = 0;
  bool drop_dropout_ = false, standard_ = false, keep_parameters_ = false, log_ = false;
  std::vector<DroppedInput> dropped_;
  std::vector<Step> steps_;
  Difference difference_;
};

} // namespace

Command& simplify_command() {
  static Simplify command;
  return command;
}

} // namespace octet::cli
