// SPDX-License-Identifier: Apache-2.0
// octet calibrate: ranges of a model's tensors over data, in the files that runtimes read.
#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/range_files.h"
#include "cli/terminal.h"
#include "cli/watched_data.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/range_shards.h"
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
    output_.define(app);
    app.add_option("--calibrator", calibrator_,
                   "auto (the best of the next four on examples held back), min-max, "
                   "percentile[:p], entropy, mse, moving-average[:momentum]")
        ->capture_default_str();
    app.add_flag("--asymmetric", asymmetric_,
                 "ranges for codes with a zero point, which percentile and mse clip side by side");
    app.add_option("--shard", shard_,
                   "1/8 to 8/8: observe one of eight parts of the data; octet ranges merge makes "
                   "ranges of all");
    add_count_option(app, "--samples", samples_, "examples, 0: all")->capture_default_str();
    add_count_option(app, "--batch", batch_, "examples a run: fewer take less memory", {1, 65536})
        ->capture_default_str();
    add_max_length(app, max_length_);
    add_zeros(app, zeros_);
    app.add_option("--mask-input", mask_input_, "input that is 0 where the others hold padding");
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(output_.check({model_, data_}, common));
    QuantizeOptions o;
    o.calibrator = OCTET_TRY(parse_calibrator(calibrator_));
    if (asymmetric_) o.symmetric = false;
    o.samples = samples_;
    o.batch_size = batch_;
    std::optional<Shard> shard;
    if (!shard_.empty()) {
      shard = OCTET_TRY_WITH(parse_shard(shard_), "--shard");
      OCTET_TRY(check_shard_options(o));
    }
    const Graph graph = OCTET_TRY(open_model(model_, common));
    o.mask_input = padding_mask(graph, mask_input_, data_);
    const WatchedData examples(OCTET_TRY(open_model_data(
        {data_, Split::kTrain, max_length_, samples_, {}, zeros_}, graph, model_, common)));
    o.executor = measuring_executor(common, true);
    ProgressLine progress("calibrate", "examples");
    const Interruptible interruptible;
    o.progress = [&](int64_t done, int64_t total) {
      progress.update(done, total);
      return !interruptible.stopped();
    };
    if (OCTET_TRY_WITH(mixes_examples(graph, examples, o), model_)) {
      note_one_at_a_time(model_);
      o.batch_size = 1;
    }
    if (shard) return observe_part(graph, examples, o, *shard, common);
    if (std::holds_alternative<Auto>(o.calibrator))
      o.calibrator =
          OCTET_TRY_WITH(best_calibrator(graph, examples, o, OCTET_TRY(output_.format())), model_);
    const auto ranges =
        OCTET_TRY_WITH(examples.with_infinity(observe_ranges(graph, examples, o)), model_);
    examples.tell_constant(zeros_);
    OCTET_TRY_WITH(output_.write(ranges, common), model_);
    return Answer::kDone;
  }

 private:
  Status check_shard_options(const QuantizeOptions& options) const {
    if (std::holds_alternative<Auto>(options.calibrator))
      return error("--shard: auto measures quantized networks on examples held back, of which a "
                   "part has too few; say --calibrator min-max, percentile, entropy, mse or "
                   "moving-average (octet calibrate with auto and few --samples finds one)");
    if (output_.formatted())
      return error("--shard: --format and --heading are for octet ranges merge, which writes "
                   "ranges");
    return ok_status();
  }

  Result<Answer> observe_part(const Graph& graph,
                              const Dataset& examples,
                              const QuantizeOptions& options,
                              const Shard& part,
                              const Common& common) const {
    const RangeShard shard = OCTET_TRY_WITH(observe_shard(graph, examples, options, part), model_);
    OCTET_TRY(write_file(output_.path(), shard_text(shard),
                         common.force ? Overwrite::kYes : Overwrite::kNo));
    if (common.json)
      fmt::print("{}\n", json_text(nlohmann::ordered_json{{"shard", part.index},
                                                          {"of", part.count},
                                                          {"seen", shard.samples},
                                                          {"tensors", shard.tensors.size()}},
                                   -1));
    else
      fmt::print("{}: shard {} of {}, {} of {} samples, {} tensors\n", output_.path(), part.index,
                 part.count, shard.samples, shard.run.samples, shard.tensors.size());
    return Answer::kDone;
  }

  /// With which a plan of the model errs least, as `auto` measures it; min-max where it plans
  /// nothing.
  static Result<Calibrator> best_calibrator(const Graph& graph,
                                            const Dataset& examples,
                                            QuantizeOptions options,
                                            RangeFormat format) {
    options.target = format == RangeFormat::kTensorRt      ? "tensorrt-10"
                     : format == RangeFormat::kOnnxRuntime ? "onnxruntime"
                                                           : "octet";
    if (format != RangeFormat::kJson) options.symmetric.reset(); // as the runtime wants it
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

  std::string model_, data_, calibrator_ = "auto", mask_input_, shard_;
  RangeOutput output_;
  bool asymmetric_ = false;
  std::vector<std::string> zeros_;
  int64_t samples_ = 512, max_length_ = 0, batch_ = QuantizeOptions{}.batch_size;
};

} // namespace

Command& calibrate_command() {
  static Calibrate command;
  return command;
}

} // namespace octet::cli
