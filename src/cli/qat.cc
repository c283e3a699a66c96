// SPDX-License-Identifier: Apache-2.0
// octet qat: inserts Q/DQ with observed ranges, trains through them, and writes what was trained.
#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/history.h"
#include "cli/loss.h"
#include "cli/mending.h"
#include "cli/model_data.h"
#include "cli/model_images.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/quantize_options.h"
#include "cli/ready_model.h"
#include "cli/training.h"
#include "core/format.h"
#include "quant/apply.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/bert.h"
#include "octet/quantize.h"
#include "octet/repair.h"
#include "octet/target.h"

namespace octet::cli {
namespace {

class Qat final : public Command {
 public:
  std::string_view name() const override { return "qat"; }
  std::string_view summary() const override { return "quantization-aware training of a model"; }
  std::string_view example() const override {
    return "octet qat cnn.onnx --data fashion-mnist:DIR --epochs 2 -o cnn.qat.onnx";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "trained float model, folder or ONNX file")->required();
    app.add_option("-o,--output", output_, "ONNX file to write, or a model folder")->required();
    app.add_flag("--learned-scales", learned_scales_, "train the scales too (LSQ)");
    app.add_option("--scale-start", scale_start_,
                   "of learned scales: observed, or published (2 mean|v| / sqrt(largest code))")
        ->capture_default_str();
    app.add_flag("--learned-clips", learned_clips_,
                 "train the clip of each Relu's output (PACT); other activations stay as observed");
    add_number_option(app, "--clip-decay", clip_decay_, "weight decay of learned clips", 0, 1e3)
        ->capture_default_str();
    add_number_option(app, "--freeze-ranges-after", freeze_ranges_after_,
                      "share of the steps after which scales and clips stay, 1: never", 0.0, 1.0)
        ->capture_default_str();
    add_number_option(app, "--freeze-batch-norm-after", freeze_batch_norm_after_,
                      "share of the steps after which a batch norm that was not folded keeps its "
                      "statistics, 1: never",
                      0.0, 1.0)
        ->capture_default_str();
    app.add_flag("--distill", distill_, "learn from the float model's outputs too");
    app.add_option("--teacher", teacher_path_,
                   "learn from the outputs of this model, folder or ONNX file, instead");
    add_number_option(app, "--temperature", teacher_.temperature, "of distillation", 1e-3, 1e3)
        ->capture_default_str();
    add_number_option(app, "--distill-weight,--teacher-weight", teacher_.weight,
                      "share of distillation in the loss", 0.0, 1.0)
        ->capture_default_str();
    loss_.define(app);
    training_.define_limits(app);
    training_.define(app, false);
    quantization_.define(
        app, QuantizeFlags::For::kTraining); // with --data, which serves calibration and training
  }

  Result<Answer> run(const Common& common) override {
    UsedFiles used = quantization_.used_files();
    used.push_back(model_);
    if (!teacher_path_.empty()) used.push_back(teacher_path_);
    OCTET_TRY(check_model_output(output_, writes_folder(output_, model_), used, common));
    OCTET_TRY(training_.check(output_, common));
    Graph graph = OCTET_TRY(open_model(model_, common));
    OCTET_TRY_WITH(leave_training_mode(graph), model_);
    OCTET_TRY(keep_image_preparation(graph, model_, quantization_.data));
    const std::string recipe = OCTET_TRY(choose_defaults(graph));
    OCTET_TRY(check_float(graph, model_, "qat trains the float model that it came from"));
    const TrainingData data = OCTET_TRY(training_.open_data([&](Split split, int64_t limit) {
      ModelData part = quantization_.model_data();
      part.split = split;
      part.limit = limit;
      return open_model_data(part, graph, model_, common);
    }));
    OCTET_TRY(check_labels(*data.examples, graph, model_));
    OCTET_TRY_WITH(check_training_data(graph, *data.examples, data.test.get(), quantization_.data),
                   model_);
    if (!recipe.empty()) fmt::print(stderr, "a BERT: {}\n", recipe);
    const QuantizationPlan plan = OCTET_TRY_WITH(quantization_.plan(graph, model_, common), model_);
    if (plan.mode != QuantMode::kStatic)
      return error("quantization-aware training is of static quantization; leave --mode {} out",
                   octet::name(plan.mode));
    OCTET_TRY_WITH(check_trains(plan), model_);
    const Graph prepared = OCTET_TRY_WITH(quantize(graph, plan, WeightStorage::kFloat), model_);
    OCTET_TRY(check_result(graph, OCTET_TRY(finish(prepared, plan)), plan.target));
    TrainOptions options = training_.options();
    OCTET_TRY(choose_scales(options));
    options.losses = OCTET_TRY_WITH(loss_.choose(graph, *data.examples), model_);
    options.settings = {{"command", "qat"}, {"data set", quantization_.data}, {"from", model_}};
    Graph other;
    if (!teacher_path_.empty()) {
      other = OCTET_TRY(open_model(teacher_path_, common));
      OCTET_TRY_WITH(leave_training_mode(other), teacher_path_);
    }
    if (distill_ || !teacher_path_.empty()) {
      options.teacher = teacher_;
      options.teacher.graph = teacher_path_.empty() ? &graph : &other;
      options.settings.push_back({"teacher", teacher_path_.empty() ? model_ : teacher_path_});
    }
    const TrainedModel model =
        OCTET_TRY_WITH(training_.train(prepared, data, output_, common, options), model_);
    const auto write = [&](const std::string& record) -> Status {
      Graph written = OCTET_TRY(finish(model.graph, plan));
      if (quantization_.max_length() > 0) set_trained_length(written, quantization_.max_length());
      return write_model(written, output_, common, model_, record,
                         {{"quantization", history_facts(plan)}});
    };
    return training_.conclude(model, output_, options.settings, common, write);
  }

 private:
  /// What is written of a graph that was trained.
  Result<Graph> finish(const Graph& trained, const QuantizationPlan& plan) const {
    const Graph codes = OCTET_TRY_WITH(finalize_quantization(trained, plan), model_);
    return OCTET_TRY_WITH(mend_exactly(codes, plan.target), model_).graph;
  }

  /// Before a training that would end in a file which its target refuses.
  Status check_result(const Graph& original, const Graph& result, const std::string& target) const {
    const std::vector<Finding> findings = OCTET_TRY_WITH(check(result, target), model_);
    const Finding* first = first_error(findings);
    if (first == nullptr) return ok_status();
    OCTET_TRY(check_as_it_is(original, model_, target));
    return error(ErrorCode::kInternal, "{}: the quantized model would be refused by {}: {}: {}",
                 model_, target, first->node, first->message);
  }

  /// What is trained and held of scales.
  Status choose_scales(TrainOptions& options) const {
    if (scale_start_ != "observed" && scale_start_ != "published")
      return error("scale start \"{}\" is not known; it is observed or published", scale_start_);
    if (scale_start_ == "published" && !learned_scales_)
      return error("--scale-start is for --learned-scales; give both or neither");
    options.scale_start =
        scale_start_ == "published" ? ScaleStart::kPublished : ScaleStart::kObserved;
    if (learned_scales_) {
      options.weight_scales = WeightScales::kLearned;
      options.activation_scales = ActivationScales::kLearned;
    }
    if (learned_clips_) options.activation_scales = ActivationScales::kClipped;
    options.optimizer.clip_decay = clip_decay_;
    options.freeze_scales_after = freeze_ranges_after_;
    options.freeze_statistics_after = freeze_batch_norm_after_;
    return ok_status();
  }

  /// What suits a small network of images is no recipe for a pretrained encoder. What was taken.
  Result<std::string> choose_defaults(const Graph& graph) {
    if (!bert_options(graph).ok()) {
      if (quantization_.data.empty()) quantization_.data = "generated";
      return std::string();
    }
    if (quantization_.data.empty())
      return error("{}: a BERT is trained on texts; name them with --data, such as imdb:DIR, "
                   "tsv:FILE or reviews",
                   model_);
    return training_.use_defaults({.epochs = 1, .lr = 5e-5, .batch = 32, .optimizer = "adamw"});
  }

  std::string model_, output_, teacher_path_, scale_start_ = "observed";
  bool learned_scales_ = false, learned_clips_ = false, distill_ = false;
  double clip_decay_ = 1e-4, freeze_ranges_after_ = 1, freeze_batch_norm_after_ = 1;
  TeacherOptions teacher_;
  LossFlag loss_;
  QuantizeFlags quantization_;
  TrainFlags training_{{.epochs = 2, .lr = 1e-3}};
};

} // namespace

Command& qat_command() {
  static Qat command;
  return command;
}

} // namespace octet::cli
