// SPDX-License-Identifier: Apache-2.0
// octet export: a model written for another runtime: form of the codes, 16 bits, operator set.
#include "octet/export.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/drop_inputs.h"
#include "cli/export_notes.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include "targets/runtime_limits.h"
#include "targets/tables.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/passes.h"
#include "octet/target.h"

namespace octet::cli {
namespace {

class Export final : public Command {
 public:
  std::string_view name() const override { return "export"; }
  std::string_view summary() const override {
    return "a model written for another runtime; exit 1: the target refuses it";
  }
  std::string_view example() const override {
    return "octet export cnn.int8.onnx --form qoperator -o cnn.qlinear.onnx; octet export "
           "bert.onnx --precision fp16 --opset 19 -o bert.fp16.onnx";
  }

  void define(CLI::App& app) override {
    // Not marked as required: `octet export hf` has its own.
    app.add_option("model", model_, "model folder or ONNX file");
    app.add_option("-o,--output", output_, "ONNX file or model folder to write");
    app.add_option("--form", form_,
                   "how codes are written: qdq, qcdq (with Clips), qoperator (QLinearConv, ...), "
                   "fused (com.microsoft's float operators too) or qordered (QOrderedMatMul, ..., "
                   "for onnxruntime-cuda); from a file with Q/DQ")
        ->capture_default_str();
    app.add_option("--precision", precision_, "compute in fp16 or bf16 what is f32")
        ->check(CLI::IsMember({"fp16", "bf16"}));
    add_list_option(app, "--keep-float", keep_float_,
                    "for --precision: leave nodes or operators like this in f32 (* and ?)", ',');
    add_list_option(app, "--drop-input", drop_inputs_,
                    "NAME or NAME=VALUE: the input becomes VALUE (0) everywhere", ',');
    add_count_option(app, "--opset", opset_, "write for this operator set", {13, 23});
    app.add_option("--target", target_, "check the result for tensorrt-11, onnxruntime, ...");
    app.add_flag("--log", log_, "print everything that was done");
  }

  Result<Answer> run(const Common& common) override {
    if (model_.empty()) return error("no model was named; see octet export --help");
    OCTET_TRY(
        check_model_output(output_, writes_folder(output_, model_), {model_, target_}, common));
    const FileForm form = OCTET_TRY(parse_file_form(form_));
    std::string target;
    if (!target_.empty()) target = OCTET_TRY(parse_target(target_));
    if (precision_.empty() && !keep_float_.empty())
      return error("--keep-float is for --precision; quantize has its own");
    Graph graph = OCTET_TRY(open_model(model_, common));
    if (form != FileForm::kQdq && !holds_codes(graph))
      fmt::print(stderr,
                 "{}: holds no codes, so that --form {} changes nothing; quantize it first\n",
                 model_, form_);
    OCTET_TRY_WITH(convert(graph, form, target), model_);
    graph.info.ir_version = std::min(graph.info.ir_version, runtime_limits(target).ir_version);
    std::vector<Finding> findings;
    if (!target.empty()) findings = OCTET_TRY_WITH(check(graph, target), model_);
    const bool ok = accepted(findings);
    if (ok)
      OCTET_TRY(write_model(graph, output_, common, model_, {},
                            {{"form", form_}, {"target", target}, {"precision", precision_}}));
    report(common, graph, findings, ok);
    return ok ? Answer::kDone : Answer::kNo;
  }

 private:
  Status convert(Graph& graph, FileForm form, const std::string& target) {
    if (!graph.info.functions.empty()) OCTET_TRY(inline_functions(graph));
    for (const std::string& item : drop_inputs_)
      notes_.push_back({"drop_input", item, OCTET_TRY(drop_named_input(graph, item)).words, true});
    // Up first: 16-bit scales need 19. Down last: it may be what the other steps ask for.
    if (opset_ > graph.opset()) OCTET_TRY(append_notes(notes_, convert_opset(graph, opset_)));
    if (!target.empty() && OCTET_TRY(find_placement(target))->dynamic == DynamicForm::kOnnx)
      OCTET_TRY(append_notes(notes_, convert_dynamic(graph)));
    OCTET_TRY(append_notes(notes_, convert_form(graph, form)));
    if (!precision_.empty()) {
      PrecisionOptions options;
      options.type = precision_ == "fp16" ? DType::kFloat16 : DType::kBfloat16;
      options.keep_float = keep_float_;
      if (opset_ > 0) options.max_opset = std::max<int64_t>(opset_, graph.opset());
      OCTET_TRY(append_notes(notes_, convert_precision(graph, options)));
    }
    if (opset_ > 0) OCTET_TRY(append_notes(notes_, convert_opset(graph, opset_)));
    return ok_status();
  }

  void report(const Common& common,
              const Graph& graph,
              const std::vector<Finding>& findings,
              bool ok) const {
    const int64_t before = model_bytes(model_), after = ok ? model_bytes(output_) : 0;
    if (common.json) {
      nlohmann::ordered_json out = {
          {"accepted", ok},         {"form", form_},       {"precision", precision_},
          {"opset", graph.opset()}, {"size_bytes", after}, {"notes", export_notes_json(notes_)}};
      out["findings"] = nlohmann::ordered_json::array();
      for (const Finding& f : findings)
        out["findings"].push_back({{"rule", f.rule}, {"node", f.node}, {"message", f.message}});
      fmt::print("{}\n", json_text(out));
      return;
    }
    print_export_notes(notes_, log_);
    for (const Finding& f : findings)
      fmt::print("{}: {}: {} [{}]\n  fix: {}\n", model_, f.node, f.message, f.rule, f.fix);
    if (!ok)
      fmt::print("{}: refused by {}; no file was written\n", model_, target_);
    else
      fmt::print("{}: opset {}, {} ({:.0f} % of {})\n", output_, graph.opset(), bytes_text(after),
                 100.0 * static_cast<double>(after) / static_cast<double>(before),
                 bytes_text(before));
  }

  std::string model_, output_, form_ = "qdq", precision_, target_;
  std::vector<std::string> keep_float_, drop_inputs_;
  int opset_ = 0;
  bool log_ = false;
  std::vector<ExportNote> notes_;
};

} // namespace

Command& export_command() {
  static Export command;
  return command;
}

} // namespace octet::cli
