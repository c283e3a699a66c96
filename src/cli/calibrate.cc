// SPDX-License-Identifier: Apache-2.0
// octet calibrate: ranges of a model's tensors over data, in the files that runtimes read.
#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/ranges.h"

namespace octet::cli {
namespace {

class Calibrate final : public Command {
 public:
  std::string_view name() const override { return "calibrate"; }
  std::string_view summary() const override {
    return "ranges of a model's tensors, as TensorRT's cache, ONNX Runtime's table or JSON";
  }
  std::string_view example() const override {
    return "octet calibrate cnn.onnx --data fashion-mnist:DIR --format tensorrt -o cnn.cache";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "float model, folder or ONNX file")->required();
    app.add_option("--data", data_, "calibration data, kind:path (its training part)")->required();
    app.add_option("-o,--output", output_, "file to write")->required();
    app.add_option("--format", format_, "json, tensorrt (8 to 10) or onnxruntime")
        ->capture_default_str();
    app.add_option("--calibrator", calibrator_,
                   "auto (the best of the next four on examples held back), min-max, "
                   "percentile[:p], entropy, mse, moving-average[:momentum]")
        ->capture_default_str();
    app.add_option("--heading", heading_, "first line of a TensorRT cache: version and calibrator")
        ->capture_default_str();
    add_count_option(app, "--samples", samples_, "examples, 0: all")->capture_default_str();
    add_count_option(app, "--batch", batch_, "examples a run: fewer take less memory", {1, 65536})
        ->capture_default_str();
    add_max_length(app, max_length_);
    add_zeros(app, zeros_);
    app.add_option("--mask-input", mask_input_, "input that is 0 where the others hold padding");
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_output(output_, {model_, data_}, common));
    const RangeFormat format = OCTET_TRY(parse_range_format(format_));
    QuantizeOptions o;
    o.calibrator = OCTET_TRY(parse_calibrator(calibrator_));
    o.samples = samples_;
    o.batch_size = batch_;
    const Graph graph = OCTET_TRY(open_model(model_, common));
    o.mask_input = padding_mask(graph, mask_input_, data_);
    const auto examples = OCTET_TRY(open_model_data(
        {data_, Split::kTrain, max_length_, samples_, {}, zeros_}, graph, model_, common));
    o.executor = measuring_executor(common, true);
    ProgressLine progress("calibrate", "examples");
    const Interruptible interruptible;
    o.progress = [&](int64_t done, int64_t total) {
      progress.update(done, total);
      return !interruptible.stopped();
    };
    if (std::holds_alternative<Auto>(o.calibrator))
      o.calibrator = OCTET_TRY_WITH(best_calibrator(graph, *examples, o, format), model_);
    const auto ranges = OCTET_TRY_WITH(observe_ranges(graph, *examples, o), model_);
    const std::string text = OCTET_TRY_WITH(format_ranges(ranges, format, heading_), model_);
    OCTET_TRY(write_file(output_, text, common.force ? Overwrite::kYes : Overwrite::kNo));
    if (common.json)
      fmt::print("{}\n", json_text(nlohmann::ordered_json{{"tensors", ranges.size()}}, -1));
    else
      fmt::print("{}: ranges of {} tensors\n", output_, ranges.size());
    return Answer::kDone;
  }

 private:
  /// With which a plan of the model errs least, as `auto` measures it; min-max where it plans
  /// nothing.
  static Result<Calibrator> best_calibrator(const Graph& graph,
                                            const Dataset& examples,
                                            QuantizeOptions options,
                                            RangeFormat format) {
    options.target = format == RangeFormat::kTensorRt      ? "tensorrt-10"
                     : format == RangeFormat::kOnnxRuntime ? "onnxruntime"
                                                           : "octet";
    const Result<QuantizationPlan> plan = plan_quantization(graph, examples, options);
    if (!plan.ok()) {
      if (plan.error().code() == ErrorCode::kCancelled) return plan.error();
      fmt::print(stderr, "auto measures nothing: {}; ranges are those of min-max\n",
                 plan.error().text());
      return Calibrator(MinMax{});
    }
    const PlanTrial* best = nullptr;
    for (const PlanTrial& trial : plan->trials)
      if (parse_calibrator(trial.what).ok() && (best == nullptr || trial.sqnr > best->sqnr))
        best = &trial;
    return best == nullptr ? Calibrator(MinMax{}) : parse_calibrator(best->what);
  }

  std::string model_, data_, output_, format_ = "json", calibrator_ = "auto", mask_input_;
  std::string heading_{kTensorRtHeading};
  std::vector<std::string> zeros_;
  int64_t samples_ = 512, max_length_ = 0, batch_ = QuantizeOptions{}.batch_size;
};

} // namespace

Command& calibrate_command() {
  static Calibrate command;
  return command;
}

} // namespace octet::cli
