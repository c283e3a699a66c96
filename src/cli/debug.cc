// SPDX-License-Identifier: Apache-2.0
// octet debug: proves on data that the native executor computes what the model says. The native
// executor against the reference on the lowered graph, bit for bit; the lowered graph against the
// literal Q/DQ graph, every difference classified; layers without stored codes (dynamic ones,
// weights alone) by their signal-to-noise ratio. With two models: debug_models.cc.
#include "quant/debug.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/debug_models.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "data/batch_rows.h"
#include "quant/debug_layers.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/dataset.h"
#include "octet/executor.h"
#include "octet/session.h"

namespace octet::cli {
namespace {

/// The reference executor, which a signal stops between two nodes.
class StoppableReference {
 public:
  static Result<StoppableReference> create(Graph graph) {
    const size_t outputs = graph.outputs().size();
    for (const NodeId id : graph.nodes())
      for (const ValueId made : graph.node(id).outputs)
        if (made.valid() && !graph.is_output(made)) graph.mark_output(made);
    return StoppableReference(OCTET_TRY(make_reference_executor(graph)), outputs);
  }

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs,
                                  const Interruptible& interruptible) {
    std::vector<Tensor> out(outputs_);
    OCTET_TRY(executor_->stream(inputs, [&](size_t output, const Tensor& value) -> Status {
      if (output < out.size()) out[output] = value.clone();
      return interruptible.check();
    }));
    return out;
  }

 private:
  StoppableReference(std::unique_ptr<Executor> executor, size_t outputs)
      : executor_(std::move(executor)), outputs_(outputs) {}

  std::unique_ptr<Executor> executor_;
  size_t outputs_; ///< of the graph itself; those of its nodes follow
};

class Debug final : public Command {
 public:
  std::string_view name() const override { return "debug"; }
  std::string_view summary() const override {
    return "prove on data that a quantized model runs as it says (exit 1: it does not), or see "
           "where it loses accuracy beside its float model";
  }
  std::string_view example() const override {
    return "octet debug cnn.onnx cnn.int8.onnx --data fashion-mnist:DIR --report debug.html";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "quantized model, or the float one before it")->required();
    app.add_option("quantized", models_.quantized_model,
                   "quantized model, compared with the first one, its float model");
    app.add_option("--data", data_, "data set, kind:path")->required();
    add_count_option(app, "--batch", batch_, "examples a run", {1, 65536});
    add_count_option(app, "--limit", limit_, "only the first examples, 0: all");
    add_max_length(app, max_length_);
    app.add_flag("--bits-only", bits_only_, "leave out the comparison with the literal graph");
    app.add_option("--plan", models_.plan,
                   "two models: the plan that the file was made with; else one beside it "
                   "(NAME.plan.json, plan.json), else what the file says");
    app.add_option("--target", models_.target,
                   "two models: what the file is for, where no plan says");
    add_count_option(app, "--remedies", models_.remedies,
                     "two models: layers that changes are tried for")
        ->capture_default_str();
    add_count_option(app, "--samples", models_.samples,
                     "two models: training examples that ranges of changes are taken from", {1})
        ->capture_default_str();
    app.add_flag("--apply", models_.apply,
                 "two models: write the file with the changes that help, to -o");
    app.add_option("-o,--output", models_.output, "with --apply: ONNX file to write, or a folder");
    app.add_option("--save-plan", models_.save_plan, "with --apply: write its plan as JSON");
    app.add_option("--report", models_.report, "two models: write an HTML page");
  }

  Result<Answer> run(const Common& common) override {
    if (!models_.quantized_model.empty()) return run_two(common);
    for (const std::string* each :
         {&models_.plan, &models_.target, &models_.output, &models_.save_plan, &models_.report})
      if (!each->empty() || models_.apply)
        return error("--plan, --target, --apply, -o, --save-plan and --report are for two models: "
                     "octet debug "
                     "FLOAT {} --data {}",
                     model_, data_.empty() ? "KIND:PATH" : data_);
    const Graph graph = OCTET_TRY(open_model(model_, common));
    const auto data = OCTET_TRY(
        open_model_data({data_, Split::kTest, max_length_, limit_}, graph, model_, common));
    Session session = OCTET_TRY_WITH(
        Session::create(graph, {.threads = common.threads, .keep_weights = true}), model_);
    auto reference = OCTET_TRY_WITH(StoppableReference::create(session.lowered()), model_);
    if (!bits_only_) OCTET_TRY_WITH(compare_literal(graph), model_);
    const int64_t total = limit_ > 0 ? std::min(limit_, data->size()) : data->size();
    ProgressLine progress("compare", "examples");
    const Interruptible interruptible;
    int64_t identical = 0;
    const BatchRows rows(graph, *data, batch_);
    for (int64_t begin = 0; begin < total; begin += rows.size()) {
      OCTET_TRY(interruptible.check());
      const int64_t end = std::min(begin + rows.size(), total);
      const Batch batch = OCTET_TRY(data->batch(rows.from(begin, total)));
      const auto inputs = OCTET_TRY(bind_inputs(graph, batch));
      const auto got = OCTET_TRY(session.run(inputs));
      const auto want = OCTET_TRY(reference.run(inputs, interruptible));
      bool same = true;
      for (size_t i = 0; i < got.size(); ++i)
        same = same && got[i].identical(want[i]);
      identical += same ? end - begin : 0;
      if (codes_) OCTET_TRY(codes_->add(inputs, &interruptible.token()));
      if (layers_) OCTET_TRY(layers_->add(inputs, &interruptible.token()));
      progress.update(end, total);
    }
    if (common.json)
      print_json(session, identical, total);
    else
      print_tables(session, identical, total);
    return identical == total && unexplained() == 0 ? Answer::kDone : Answer::kNo;
  }

 private:
  Result<Answer> run_two(const Common& common) {
    if (bits_only_) return error("--bits-only is for one model");
    models_.float_model = model_;
    models_.data = data_;
    models_.max_length = max_length_;
    models_.batch = batch_;
    models_.limit = limit_;
    return debug_models(models_, common);
  }

  /// By codes where the graph stores those of activations, else by layers.
  Status compare_literal(const Graph& graph) {
    Result<LoweringComparison> codes = LoweringComparison::create(graph);
    if (codes.ok()) {
      codes_.emplace(std::move(codes).value());
      return ok_status();
    }
    if (codes.error().code() != ErrorCode::kRefused) return std::move(codes).error();
    layers_.emplace(OCTET_TRY(LayerComparison::create(graph)));
    return ok_status();
  }

  int64_t unexplained() const {
    return (codes_ ? codes_->unexplained() : 0) + (layers_ ? layers_->unexplained() : 0);
  }

  void print_json(const Session& session, int64_t identical, int64_t total) const {
    nlohmann::ordered_json out = {{"examples", total},
                                  {"identical", identical},
                                  {"isa", std::string(session.isa())},
                                  {"threads", session.threads()},
                                  {"batch", batch_}};
    if (codes_ || layers_) out["unexplained"] = unexplained();
    if (codes_)
      for (const CodeDifferences& d : codes_->report())
        out["layers"].push_back({{"value", d.value},
                                 {"elements", d.elements},
                                 {"differing", d.differing},
                                 {"ties", d.ties},
                                 {"saturation", d.saturation},
                                 {"reassociation", d.reassociation},
                                 {"unexplained", d.unexplained},
                                 {"worst_distance", d.worst_distance}});
    if (layers_)
      for (const LayerDifference& d : layers_->report()) {
        nlohmann::ordered_json layer = {{"value", d.value},          {"operators", d.operators},
                                        {"elements", d.elements},    {"differing", d.differing},
                                        {"sqnr_db", nullptr}, // null: no difference
                                        {"explained", d.explained()}};
        if (d.differing > 0) layer["sqnr_db"] = d.sqnr_db();
        out["layers"].push_back(std::move(layer));
      }
    fmt::print("{}\n", json_text(out));
  }

  void print_tables(const Session& session, int64_t identical, int64_t total) const {
    fmt::print("native ({}, {} threads, batch {}) against the reference on the lowered graph: "
               "{} of {} examples have the same bits\n",
               session.isa(), session.threads(), batch_, identical, total);
    if (codes_) {
      Table table({"codes of", "compared", "differing", "ties", "saturation", "reassociation",
                   "unexplained", "example"});
      for (const CodeDifferences& d : codes_->report())
        table.add({d.value, fmt::format("{}", d.elements), fmt::format("{}", d.differing),
                   fmt::format("{}", d.ties), fmt::format("{}", d.saturation),
                   fmt::format("{}", d.reassociation), fmt::format("{}", d.unexplained),
                   d.example});
      fmt::print("the lowered graph against the literal Q/DQ graph, layer by layer:\n{}",
                 table.text());
    }
    if (layers_) {
      Table table({"output", "operators", "compared", "differing", "SQNR dB", "explained"});
      for (const LayerDifference& d : layers_->report())
        table.add({d.value, d.operators, fmt::format("{}", d.elements),
                   fmt::format("{}", d.differing),
                   d.differing > 0 ? fmt::format("{:.1f}", d.sqnr_db()) : "equal",
                   d.explained() ? "yes" : "no"});
      fmt::print("the lowered graph against the literal graph, layer by layer:\n{}", table.text());
    }
  }

  std::optional<LoweringComparison> codes_;
  std::optional<LayerComparison> layers_;
  DebugModels models_;
  std::string model_, data_;
  int64_t max_length_ = 0, batch_ = 64, limit_ = 0;
  bool bits_only_ = false;
};

} // namespace

Command& debug_command() {
  static Debug command;
  return command;
}

} // namespace octet::cli
