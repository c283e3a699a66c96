// SPDX-License-Identifier: Apache-2.0
// octet repair: rewrites a quantized model until the target takes it.
#include "octet/repair.h"

#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "core/json.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/quantize.h"

namespace octet::cli {
namespace {

class RepairModel final : public Command {
 public:
  std::string_view name() const override { return "repair"; }
  std::string_view summary() const override {
    return "rewrite a quantized model so that a target takes it; exit 1: something is left";
  }
  std::string_view example() const override {
    return "octet repair theirs.onnx --target tensorrt-10 --data fashion-mnist:DIR -o fixed.onnx";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "quantized model, folder or ONNX file")->required();
    app.add_option("--target", target_, "tensorrt-8.6, tensorrt-10, onnxruntime, ...")->required();
    app.add_option("-o,--output", output_, "ONNX file to write")->required();
    app.add_option("--data", data_,
                   "data that ranges and costs are taken from, kind:path (its training part)");
    add_count_option(app, "--samples", samples_, "examples of the data, 0: all")
        ->capture_default_str();
    add_max_length(app, max_length_);
    app.add_option("--mask-input", mask_input_,
                   "input that is 0 where the others hold padding (of texts: attention_mask)");
    app.add_option(
           "--weights", weights_,
           "keep, stored (int8 codes) or float (with Q and DQ), where the target takes both")
        ->check(CLI::IsMember({"keep", "stored", "float"}))
        ->capture_default_str();
    app.add_option(
           "--zero-points", zero_points_,
           "shift (same codes and scale, a constant added before and behind) or widen (a larger "
           "scale, no nodes more), where the target takes no zero point")
        ->check(CLI::IsMember({"shift", "widen"}))
        ->capture_default_str();
    app.add_flag("--unify-scales", unify_,
                 "one scale for what a Concat joins and for several quantizers of one tensor");
    app.add_option("--attention", attention_,
                   "keep, int8 (Q/DQ where TensorRT's fused kernel wants them) or float (none)")
        ->check(CLI::IsMember({"keep", "int8", "float"}))
        ->capture_default_str();
    app.add_option(
           "--precision", precision_,
           "fp16 or bf16: compute in it what is float, but for what --data shows to overflow")
        ->check(CLI::IsMember({"fp16", "bf16"}));
    app.add_flag("--partial", partial_, "write the file even if something is left unrepaired");
  }

  Result<Answer> run(const Common& common) override {
    const std::string target = OCTET_TRY(parse_target(target_));
    OCTET_TRY(check_model_output(output_, writes_folder(output_, model_), {model_, data_, target_},
                                 common));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    RepairOptions options;
    options.weights = weights_ == "stored"  ? WeightForm::kStored
                      : weights_ == "float" ? WeightForm::kFloat
                                            : WeightForm::kKeep;
    options.attention = attention_ == "int8"    ? AttentionForm::kInt8
                        : attention_ == "float" ? AttentionForm::kFloat
                                                : AttentionForm::kKeep;
    options.zero_points = zero_points_ == "widen" ? ZeroPointForm::kWiden : ZeroPointForm::kShift;
    if (!precision_.empty())
      options.precision = precision_ == "fp16" ? DType::kFloat16 : DType::kBfloat16;
    options.scales = unify_ ? ScaleForm::kUnified : ScaleForm::kKeep;
    std::shared_ptr<const Dataset> data;
    if (!data_.empty()) {
      data = OCTET_TRY(
          open_model_data({data_, Split::kTrain, max_length_, samples_}, graph, model_, common));
      options.data = [&] { return batches_of(graph, *data, samples_, kBatch); };
      options.mask_input = padding_mask(graph, mask_input_, data_);
      // Codes must be what the file says, not what a runtime makes of them.
      options.executor = measuring_executor(common, false);
    }
    const Repaired repaired = OCTET_TRY_WITH(repair(graph, target, options), model_);
    const bool ok = accepted(repaired.left);
    const bool written = ok || partial_;
    if (written)
      OCTET_TRY(write_model(repaired.graph, output_, common, model_, {}, {{"target", target}}));
    if (common.json)
      print_json(repaired, ok, written);
    else
      print_text(repaired, target, ok, written);
    return ok ? Answer::kDone : Answer::kNo;
  }

 private:
  static void print_json(const Repaired& repaired, bool ok, bool written) {
    nlohmann::ordered_json out = {{"accepted", ok},
                                  {"written", written},
                                  {"changes", nlohmann::ordered_json::array()},
                                  {"left", nlohmann::ordered_json::array()}};
    for (const Change& c : repaired.changes) {
      nlohmann::ordered_json change = {
          {"rule", c.rule},         {"node", c.node},
          {"exact", c.exact},       {"max_error", nullptr}, // null: nothing bounds it
          {"measured", c.measured}, {"why", c.why}};
      if (c.max_error) change["max_error"] = *c.max_error;
      out["changes"].push_back(std::move(change));
    }
    for (const Finding& f : repaired.left)
      out["left"].push_back({{"rule", f.rule},
                             {"severity", f.severity == Severity::kError ? "error" : "warning"},
                             {"node", f.node},
                             {"message", f.message},
                             {"fix", f.fix}});
    for (const OutputDifference& d : repaired.outputs)
      out["outputs"].push_back({{"output", d.output}, {"max_error", d.max_error}});
    fmt::print("{}\n", json_text(out));
  }

  void
  print_text(const Repaired& repaired, const std::string& target, bool ok, bool written) const {
    Table table({"repair", "node", "cost", "why"});
    for (const Change& c : repaired.changes)
      table.add({c.rule, c.node, cost(c), c.why});
    if (!repaired.changes.empty()) fmt::print("{}", table.text());
    for (const OutputDifference& d : repaired.outputs)
      fmt::print("output {}: at most {:.3g} from the file as it came, on the data\n", d.output,
                 d.max_error);
    for (const Finding& f : repaired.left)
      fmt::print("{}: {}: left: {} [{}]\n  fix: {}\n", model_, f.node, f.message, f.rule, f.fix);
    fmt::print("{}: {} changes, {} by {}{}\n", written ? output_ : model_, repaired.changes.size(),
               ok ? "accepted" : "still refused", target, written ? "" : "; no file was written");
  }

  std::string cost(const Change& c) const {
    if (c.exact) return "exact";
    if (!c.max_error) return !data_.empty() ? "not bounded" : "not bounded: give --data";
    return fmt::format("{}{:.3g}", c.measured ? "" : "<= ", *c.max_error);
  }

  static constexpr int64_t kBatch = 16;
  std::string model_, target_, output_, data_, mask_input_, precision_;
  std::string weights_ = "keep", attention_ = "keep", zero_points_ = "shift";
  int64_t samples_ = 64, max_length_ = 0;
  bool partial_ = false, unify_ = false;
};

} // namespace

Command& repair_command() {
  static RepairModel command;
  return command;
}

} // namespace octet::cli
