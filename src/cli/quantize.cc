// SPDX-License-Identifier: Apache-2.0
// octet quantize: a float model to 8 bits, by a plan that can be kept and edited.
#include <algorithm>

#include "cli/command.h"
#include "cli/drop_inputs.h"
#include "cli/export_notes.h"
#include "cli/history.h"
#include "cli/mending.h"
#include "cli/model_images.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/quantize_options.h"
#include "cli/readers.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/certify.h"
#include "octet/export.h"
#include "octet/repair.h"
#include "octet/target.h"

namespace octet::cli {
namespace {

class Quantize final : public Command {
 public:
  std::string_view name() const override { return "quantize"; }
  std::string_view summary() const override { return "quantize a float model to 8 bits or fewer"; }
  std::string_view example() const override {
    return "octet quantize cnn.onnx --data fashion-mnist:DIR --target tensorrt-10 -o "
           "cnn.int8.onnx";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "float model, folder or ONNX file")->required();
    app.add_option("-o,--output", output_, "ONNX file to write, or a model folder")->required();
    app.add_option("--save-plan", save_plan_, "write the plan as JSON");
    app.add_flag("--explain", explain_, "print the plan with its reasons");
    app.add_option("--form", form_,
                   "how codes are written: qdq, qcdq (with Clips), qoperator (QLinearConv, ...), "
                   "fused (with com.microsoft's float operators too) or qordered (QOrderedMatMul, "
                   "...); the last three are onnxruntime's, the last of all onnxruntime-cuda's, "
                   "unless --target says otherwise");
    app.add_option("--precision", precision_,
                   "compute in fp16 or bf16 what is not in 8 bits; scales become such numbers")
        ->check(CLI::IsMember({"fp16", "bf16"}));
    add_list_option(app, "--keep-fp32", keep_fp32_,
                    "for --precision: leave nodes or operators like this in f32 (* and ?)", ',');
    add_list_option(app, "--drop-input", drop_inputs_,
                    "NAME or NAME=VALUE: the input becomes VALUE (0) everywhere", ',');
    flags_.define(app);
    flags_.define_batch(app);
  }

  Result<Answer> run(const Common& common) override {
    UsedFiles used = flags_.used_files();
    used.push_back(model_);
    OCTET_TRY(check_model_output(output_, writes_folder(output_, model_), used, common));
    used.push_back(output_);
    if (!save_plan_.empty()) {
      OCTET_TRY(check_output(save_plan_, used, common));
      if (flags_.may_have_steps())
        OCTET_TRY(check_output(plan_numbers_path(save_plan_), used, common));
    }
    const FileForm form = OCTET_TRY(parse_file_form(form_));
    if (form == FileForm::kQOperator || form == FileForm::kFused)
      flags_.prefer_target("onnxruntime");
    if (form == FileForm::kQOrdered) flags_.prefer_target("onnxruntime-cuda");
    Graph graph = OCTET_TRY(open_model(model_, common));
    OCTET_TRY(keep_image_preparation(graph, model_, flags_.data));
    if (holds_codes(graph))
      fmt::print(stderr,
                 "{} is quantized already: what is in 8 bits stays as it is; for other settings "
                 "quantize its float model\n",
                 model_);
    const Graph original = graph;
    for (const std::string& item : drop_inputs_) {
      const DroppedInput dropped = OCTET_TRY_WITH(drop_named_input(graph, item), model_);
      notes_.push_back({"drop_input", item, dropped.words, true});
    }
    QuantizationPlan plan = OCTET_TRY_WITH(flags_.plan(graph, model_, common), model_);
    PrecisionOptions precision{.type = precision_ == "bf16" ? DType::kBfloat16 : DType::kFloat16,
                               .keep_float = keep_fp32_,
                               .ranges = {}};
    if (!precision_.empty()) round_scales(plan, precision.type);
    if (explain_) fmt::print(common.json ? stderr : stdout, "{}", plan.text());
    Graph quantized = OCTET_TRY_WITH(quantize(graph, plan), model_);
    OCTET_TRY_WITH(append_notes(notes_, convert_form(quantized, form)), model_);
    if (!precision_.empty()) {
      precision.ranges = OCTET_TRY_WITH(flags_.precision_ranges(quantized, model_, common), model_);
      for (const TensorPlan& tensor : plan.tensors)
        if (!tensor.axis && !tensor.ranges.empty())
          precision.ranges.try_emplace(tensor.value, tensor.ranges.front());
      OCTET_TRY_WITH(append_notes(notes_, convert_precision(quantized, precision)), model_);
    }
    if (form == FileForm::kQdq) OCTET_TRY_WITH(mend(quantized, plan.target), output_);
    if (flags_.reduces_range()) OCTET_TRY_WITH(reduce_pairs(quantized), "--reduce-range");
    OCTET_TRY(check_result(original, quantized, plan.target, form));
    OCTET_TRY(write_model(quantized, output_, common, model_, {}, facts(plan, form)));
    if (!save_plan_.empty()) OCTET_TRY(save_plan(plan, save_plan_, common.force));
    flags_.warn_if_unmeasured(graph, plan, model_, common);
    report(common, plan, OCTET_TRY_WITH(readers_of(quantized, plan.target, output_), output_));
    return Answer::kDone;
  }

 private:
  nlohmann::json facts(const QuantizationPlan& plan, FileForm form) const {
    nlohmann::json out = history_facts(plan);
    if (form != FileForm::kQdq) out["form"] = form_;
    if (!precision_.empty()) out["precision"] = precision_;
    if (!keep_fp32_.empty()) out["keep_fp32"] = keep_fp32_;
    if (!drop_inputs_.empty()) out["drop_input"] = drop_inputs_;
    if (flags_.reduces_range()) out["reduce_range"] = true;
    return out;
  }

  /// What a runtime would refuse for what stands around a layer, where an exact change helps.
  Status mend(Graph& quantized, const std::string& target) {
    Repaired mended = OCTET_TRY(mend_exactly(quantized, target));
    quantized = std::move(mended.graph);
    for (Change& change : mended.changes)
      notes_.push_back({change.rule, change.node, std::move(change.why), change.exact});
    return ok_status();
  }

  /// What the plan's ranges do not see to: steps that choose codes, a plan made without them.
  static Status reduce_pairs(Graph& quantized) {
    const Certification made = OCTET_TRY(Certification::create(quantized));
    const auto can_saturate = [](const CertifiedLayer& layer) { return layer.can_saturate(); };
    if (std::any_of(made.layers().begin(), made.layers().end(), can_saturate))
      quantized = OCTET_TRY(made.reduced());
    return ok_status();
  }

  /// Whether the target takes the result; the error says whose fault it is.
  Status check_result(const Graph& original,
                      const Graph& quantized,
                      const std::string& target,
                      FileForm form) const {
    const std::vector<Finding> findings = OCTET_TRY_WITH(check(quantized, target), output_);
    const Finding* first = first_error(findings);
    if (first == nullptr) return ok_status();
    OCTET_TRY(check_as_it_is(original, model_, target));
    if (form != FileForm::kQdq)
      return error(ErrorCode::kUnsupported, "--form {} is not for {}: {}: {}", form_, target,
                   first->node, first->message);
    return error(ErrorCode::kInternal, "the quantized model would be refused by {}: {}: {}", target,
                 first->node, first->message);
  }

  /// "8 bits", or the formats that there are where one has a name of its own.
  static std::string formats_text(const QuantizationPlan& plan) {
    std::vector<std::string> names;
    bool bytes = true;
    for (const TensorPlan& tensor : plan.tensors) {
      const NumberFormat format{tensor.scheme.type, tensor.scheme.scale, tensor.block};
      bytes = bytes && is_byte(format);
      const std::string known = octet::name(format);
      if (std::find(names.begin(), names.end(), known) == names.end()) names.push_back(known);
    }
    return bytes ? "8 bits" : fmt::format("{}", fmt::join(names, ", "));
  }

  void report(const Common& common,
              const QuantizationPlan& plan,
              const std::vector<Reader>& readers) const {
    int64_t quantized = 0;
    for (const NodePlan& n : plan.nodes)
      quantized += n.quantized ? 1 : 0;
    const int64_t before = model_bytes(model_), after = model_bytes(output_);
    if (common.json) {
      nlohmann::ordered_json out = {{"target", plan.target},
                                    {"mode", std::string(octet::name(plan.mode))},
                                    {"nodes", plan.nodes.size()},
                                    {"quantized", quantized},
                                    {"samples", plan.samples},
                                    {"size_bytes", after},
                                    {"float_bytes", before},
                                    {"peak_rss_bytes", peak_rss_bytes()},
                                    {"form", form_},
                                    {"readers", readers_json(readers)},
                                    {"notes", export_notes_json(notes_)}};
      if (const auto sqnr = plan.sqnr()) out["sqnr_db"] = *sqnr;
      for (const LayerCost& layer : plan.costly)
        out["costly"].push_back({{"node", layer.node}, {"sqnr_alone_db", layer.sqnr}});
      fmt::print("{}\n", json_text(out));
      return;
    }
    fmt::print("{}: {} of {} nodes in {} for {}, {} ({:.0f} % of {})\n", output_, quantized,
               plan.nodes.size(), formats_text(plan), plan.target, bytes_text(after),
               100.0 * static_cast<double>(after) / static_cast<double>(before),
               bytes_text(before));
    fmt::print("{}", text(readers, plan.mode));
    print_export_notes(notes_, explain_);
  }

  std::string model_, output_, save_plan_, form_ = "qdq", precision_;
  std::vector<std::string> keep_fp32_, drop_inputs_;
  std::vector<ExportNote> notes_;
  bool explain_ = false;
  QuantizeFlags flags_;
};

} // namespace

Command& quantize_command() {
  static Quantize command;
  return command;
}

} // namespace octet::cli
