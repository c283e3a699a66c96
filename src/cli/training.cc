// SPDX-License-Identifier: Apache-2.0
#include "cli/training.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/page_origin.h"
#include "cli/terminal.h"
#include "cli/training_page.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/dataset_hash.h"
#include "report/tensorboard.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/version.h"

namespace octet::cli {
namespace {

/// The value that a name stands for; an error suggests the nearest name.
template <class T>
Result<T> choose(std::string_view what,
                 const std::string& text,
                 const std::vector<std::pair<std::string, T>>& table) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    names.push_back(name);
  }
  return error("{} \"{}\" is not known{}", what, text, suggestion(text, names));
}

std::string metric_text(const TermRecord& term) {
  return term.metric == TermMetric::kAbsoluteError
             ? fmt::format("mean absolute error {:.4f}", term.absolute_error)
             : fmt::format("accuracy {:.2f} %", 100 * term.accuracy);
}

/// Accuracy, by output where there are several.
std::string terms_text(const EpochRecord& e) {
  if (e.terms.size() < 2) return e.terms.empty() ? std::string() : metric_text(e.terms[0]);
  std::vector<std::string> parts;
  for (const TermRecord& term : e.terms)
    parts.push_back(
        fmt::format("{} {:.4f} ({:.2f} %)", term.output, term.loss, 100 * term.accuracy));
  return join(parts, ", ");
}

bool is_of_numbers(const std::vector<TermRecord>& terms) {
  return terms.size() == 1 && terms[0].metric == TermMetric::kAbsoluteError;
}

/// What is shown of the held-out part after an epoch.
std::string validation_text(const char* part, const EpochRecord& e) {
  return is_of_numbers(e.terms) ? fmt::format("  {} loss {:.4f}", part, e.validation_loss)
                                : fmt::format("  {} {:.2f} %", part, 100 * e.validation_accuracy);
}

/// Numbers and truth values as such.
nlohmann::ordered_json typed(const std::string& value) {
  const Result<nlohmann::json> parsed = parse_json(value);
  if (parsed.ok() && (parsed->is_number() || parsed->is_boolean())) return *parsed;
  return value;
}

/// Whether a file begins as the trainer's checkpoints do: a safetensors file whose header says so.
bool is_checkpoint(const std::string& path) {
  constexpr uint64_t kMostHeader = uint64_t{64} << 20;
  uint64_t header_bytes = 0;
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  std::string header(in ? std::min(header_bytes, kMostHeader) : 0, ' ');
  in.read(header.data(), static_cast<std::streamsize>(header.size()));
  return header.find("octet-checkpoint-") != std::string::npos;
}

/// Few epochs are also looked at between their ends, since fine-tuning may be past its best by then:
/// where what is looked at is held out or small beside what is trained on. 0: at their ends alone.
int64_t steps_between_looks(const TrainingData& data, const TrainOptions& o) {
  constexpr int64_t kFewEpochs = 3, kLooks = 4;
  if (o.epochs > kFewEpochs || o.max_steps > 0 || o.patience > 0) return 0;
  const int64_t examples = data.examples->size();
  const bool small = data.test != nullptr && 10 * data.test->size() <= examples;
  if (o.validation_split == 0 && !small) return 0;
  const double trained = (1 - o.validation_split) * static_cast<double>(examples);
  const int64_t steps =
      static_cast<int64_t>(trained) / (o.batch_size * o.accumulate * o.world.size);
  return steps / kLooks;
}

/// What was found about a run that diverged.
std::string divergence(const TrainReport& report) {
  for (const TrainFinding& f : report.findings)
    if (f.kind == TrainFinding::Kind::kDiverged || f.kind == TrainFinding::Kind::kNotFinite)
      return f.message;
  return "training diverged";
}

} // namespace

void TrainFlags::define(CLI::App& app, bool with_data) {
  if (with_data) app.add_option("--data", data, "data set, kind:path")->default_val("generated");
  epochs_option_ = add_count_option(app, "--epochs", options_.epochs,
                                    "passes over the training data", {1, 1000000})
                       ->capture_default_str();
  add_count_option(app, "--steps", options_.max_steps, "end after so many steps, 0: by epochs");
  batch_option_ = add_count_option(app, "--batch", options_.batch_size,
                                   "examples that go through the graph at once", {1, 1 << 20})
                      ->capture_default_str();
  add_count_option(app, "--accumulate", options_.accumulate,
                   "batches whose gradients make one step", {1, 1 << 20})
      ->capture_default_str();
  rate_option_ =
      add_number_option(app, "--lr", options_.optimizer.lr, "highest learning rate", 1e-12, 1e3)
          ->capture_default_str();
  optimizer_option_ =
      app.add_option("--optimizer", optimizer_, "sgd, adam or adamw")->capture_default_str();
  app.add_option("--schedule", schedule_, "constant, one-cycle, cosine or linear")
      ->capture_default_str();
  add_number_option(app, "--warmup", options_.schedule.warmup_fraction,
                    "share of the steps with a rising rate (all schedules but one-cycle)", 0.0,
                    1.0);
  add_number_option(app, "--weight-decay", options_.optimizer.weight_decay,
                    "weight decay, of all but biases and normalizations", 0, 1e3)
      ->capture_default_str();
  add_number_option(app, "--clip-norm", options_.optimizer.clip_norm,
                    "largest norm of gradients, 0: none", 0, 1e30)
      ->capture_default_str();
  add_number_option(app, "--label-smoothing", options_.label_smoothing, "label smoothing", 0, 1);
  add_list_option(app, "--freeze", options_.freeze, "constants not to train (*)");
  app.add_option("--device", device_, "cpu or cuda")->capture_default_str();
  app.add_option("--precision", precision_, "f32, bf16, fp8, or f16 on CUDA")
      ->capture_default_str();
  fp8_options_ = {
      app.add_option("--fp8-scaling", fp8_scaling_,
                     "delayed: by the magnitudes of steps before; current: by each tensor's own")
          ->capture_default_str(),
      add_count_option(app, "--fp8-history", options_.fp8.history,
                       "steps whose magnitudes count (delayed)", {1, 1 << 20})
          ->capture_default_str(),
      add_count_option(app, "--fp8-margin", options_.fp8.margin, "factors are divided by 2^margin",
                       {0, 64})
          ->capture_default_str(),
      app.add_option("--fp8-amax", fp8_amax_, "of the history: max or most-recent (delayed)")
          ->capture_default_str()};
  app.add_option("--report", report_, "curves, findings and the recipe as an HTML page");
  app.add_option("--log-dir", log_dir_, "folder for TensorBoard event files");
  app.add_option("--checkpoint", checkpoint_, "checkpoint file; default: OUTPUT.checkpoint");
  add_count_option(app, "--checkpoint-steps", options_.checkpoint_steps,
                   "also every so many steps, 0: each epoch only")
      ->capture_default_str();
  app.add_flag("--keep-diverged", keep_diverged_,
               "write the model also when training diverged and nothing better was kept");
  app.add_flag("--no-checkpoint", no_checkpoint_, "write no checkpoint");
  app.add_flag("--resume", options_.resume, "continue from the checkpoint if there is one");
  add_number_option(app, "--validation-split", options_.validation_split,
                    "share of the training data held out; its best epoch is kept", 0.0, 0.9);
  add_count_option(app, "--evaluate-steps", options_.evaluate_steps,
                   "also evaluate every so many steps, 0: each epoch only");
  add_count_option(app, "--patience", options_.patience,
                   "stop after so many validations without a better one, 0: never");
  app.add_flag("--no-validation", no_validation_,
               "do not show the accuracy on the test data after each epoch");
}

void TrainFlags::define_limits(CLI::App& app) {
  add_count_option(app, "--limit", limit_, "texts to train on, drawn by the seed; 0: all");
  add_count_option(app, "--test-limit", test_limit_, "texts that accuracy is shown on; 0: all")
      ->capture_default_str();
}

std::string TrainFlags::checkpoint_path(const std::string& output) const {
  if (no_checkpoint_) return {};
  if (!checkpoint_.empty()) return checkpoint_;
  // Beside a folder, however it is written: `lm/` has its checkpoint in `lm.checkpoint`.
  return output.substr(0, output.find_last_not_of('/') + 1) + ".checkpoint";
}

Status TrainFlags::check(const std::string& output, const Common& common) const {
  const bool held_out = options_.validation_split > 0;
  if (options_.patience > 0 && !held_out)
    return error(
        "--patience goes by held-out examples, since test data only informs; hold some out "
        "with --validation-split 0.1");
  if (options_.evaluate_steps > 0 && !held_out && (no_validation_ || !has_test_data_))
    return error("--evaluate-steps has no examples to evaluate on; hold some out with "
                 "--validation-split 0.1");
  const std::string checkpoint = checkpoint_path(output);
  if (!report_.empty()) OCTET_TRY(check_output(report_, {data, output, checkpoint}, common));
  if (checkpoint.empty())
    return options_.resume ? Status(error("--resume wants the checkpoint that --no-checkpoint "
                                          "leaves out; leave one of them out"))
                           : ok_status();
  std::error_code ignored;
  namespace fs = std::filesystem;
  if (fs::weakly_canonical(checkpoint, ignored) == fs::weakly_canonical(output, ignored))
    return error("--checkpoint and --output both name {}; give each a name of its own", output);
  if (fs::exists(checkpoint, ignored)) {
    if (!is_checkpoint(checkpoint))
      return error("{}: exists and is no checkpoint; name another file with --checkpoint",
                   checkpoint);
    if (!options_.resume && !common.force)
      return error("{}: exists; --resume continues the run that left it, --force starts over",
                   checkpoint);
    return ok_status();
  }
  [[maybe_unused]] const auto made = OCTET_TRY(AtomicFile::create(checkpoint, Overwrite::kYes));
  if (options_.resume)
    fmt::print(stderr,
               "--resume: there is no checkpoint {}, so the run starts from the beginning\n",
               checkpoint);
  return ok_status();
}

std::string TrainFlags::use_defaults(const TrainDefaults& defaults) {
  std::vector<std::string> taken;
  const auto take = [&](const CLI::Option* option, auto& value, const auto& other) {
    if (option->count() > 0) return;
    value = other;
    taken.push_back(fmt::format("{} {}", option->get_name(), other));
  };
  take(optimizer_option_, optimizer_, defaults.optimizer);
  take(rate_option_, options_.optimizer.lr, defaults.lr);
  take(batch_option_, options_.batch_size, defaults.batch);
  if (options_.max_steps == 0) take(epochs_option_, options_.epochs, defaults.epochs);
  return join(taken, " ");
}

void TrainFlags::finished(const std::string& output) const {
  std::error_code ignored;
  if (!checkpoint_path(output).empty()) std::filesystem::remove(checkpoint_path(output), ignored);
}

Result<Answer> TrainFlags::conclude(const TrainedModel& model,
                                    const std::string& output,
                                    const std::vector<RunSetting>& given,
                                    const Common& common,
                                    const WriteTrained& write) const {
  const TrainReport& r = model.report;
  const Answer answer = r.diverged ? Answer::kNo : Answer::kDone;
  if (!writes()) return answer;
  const bool useless = r.diverged && r.best_step == 0;
  if (!useless || keep_diverged_) {
    const std::string json = record(model, output, given);
    OCTET_TRY(write(json));
    report(model, output, json, common);
    OCTET_TRY(write_page(model, output, given, common));
  }
  finished(output);
  if (!r.diverged) return answer;
  const bool is_best = r.best_step > 0;
  return Error(fmt::format("{}; {}", divergence(r),
                           is_best ? fmt::format("{} is the best model, that after step {}", output,
                                                 r.best_step)
                           : keep_diverged_ ? output + " was written all the same"
                                            : "no model was written (--keep-diverged writes it)"),
               ErrorCode::kRefused);
}

Status TrainFlags::write_page(const TrainedModel& model,
                              const std::string& output,
                              const std::vector<RunSetting>& given,
                              const Common& common) const {
  if (report_.empty()) return {};
  std::vector<RunSetting> settings = given;
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  return write_file(report_, training_page(output, model.report, settings, page_origin(common)),
                    common.force ? Overwrite::kYes : Overwrite::kNo);
}

Result<TrainingData> TrainFlags::open_data(const OpenData& open) const {
  TrainingData out;
  out.examples = OCTET_TRY(open(Split::kTrain, limit_));
  if (shows_test()) out.test = OCTET_TRY(open(Split::kTest, test_limit_));
  return out;
}

void TrainFlags::keep_settings(const TrainingData& examples, const TrainOptions& o) {
  settings_.clear();
  const auto say = [&](std::string name, const auto& value) {
    settings_.push_back({std::move(name), fmt::format("{}", value)});
  };
  say("data", examples.examples->description());
  say("examples", examples.examples->size());
  say("validation split", o.validation_split);
  say("seed", o.seed);
  say("epochs", o.epochs);
  say("steps at most", o.max_steps);
  say("batch size", o.batch_size);
  say("batches of a step", o.accumulate);
  say("processes", o.world.size);
  say("optimizer", optimizer_);
  say("learning rate", o.optimizer.lr);
  say("schedule", schedule_);
  say("warm-up", o.schedule.warmup_fraction);
  say("weight decay", o.optimizer.weight_decay);
  say("clipping norm", o.optimizer.clip_norm);
  say("label smoothing", o.label_smoothing);
  say("freezes", join(o.freeze, ","));
  say("scales", o.weight_scales == WeightScales::kLearned ? "learned" : "observed");
  say("scales start", o.scale_start == ScaleStart::kPublished ? "published" : "observed");
  say("clips", o.activation_scales == ActivationScales::kClipped ? "learned" : "observed");
  say("decay of clips", o.optimizer.clip_decay);
  say("share before scales freeze", o.freeze_scales_after);
  say("teacher's weight", o.teacher.graph == nullptr ? 0.0 : o.teacher.weight);
  say("patience", o.patience);
  say("precision", precision_);
  if (o.precision == Precision::kFloat8) {
    say("FP8 scaling", fp8_scaling_);
    say("FP8 history", o.fp8.history);
    say("FP8 margin", o.fp8.margin);
    say("FP8 amax", fp8_amax_);
  }
  say("device", device_);
  say("threads", o.threads);
}

Status TrainFlags::choose_fp8(TrainOptions& o) const {
  if (o.precision != Precision::kFloat8) {
    for (const CLI::Option* option : fp8_options_)
      if (option->count() > 0)
        return error("{} is for --precision fp8; give both or neither", option->get_name());
    return ok_status();
  }
  o.fp8.scaling = OCTET_TRY(
      choose<Fp8Scaling>("FP8 scaling", fp8_scaling_,
                         {{"delayed", Fp8Scaling::kDelayed}, {"current", Fp8Scaling::kCurrent}}));
  o.fp8.amax = OCTET_TRY(choose<Fp8Amax>(
      "FP8 amax", fp8_amax_, {{"max", Fp8Amax::kMax}, {"most-recent", Fp8Amax::kMostRecent}}));
  return ok_status();
}

Result<TrainedModel> TrainFlags::train(const Graph& graph,
                                       const TrainingData& examples,
                                       const std::string& output,
                                       const Common& common,
                                       TrainOptions o) {
  o.optimizer.kind = OCTET_TRY(choose<OptimizerKind>("optimizer", optimizer_,
                                                     {{"sgd", OptimizerKind::kSgd},
                                                      {"adam", OptimizerKind::kAdam},
                                                      {"adamw", OptimizerKind::kAdamW}}));
  o.schedule.kind = OCTET_TRY(choose<ScheduleKind>("schedule", schedule_,
                                                   {{"constant", ScheduleKind::kConstant},
                                                    {"one-cycle", ScheduleKind::kOneCycle},
                                                    {"cosine", ScheduleKind::kCosine},
                                                    {"linear", ScheduleKind::kLinear}}));
  o.device = OCTET_TRY(
      choose<Device>("device", device_, {{"cpu", Device::kCpu}, {"cuda", Device::kCuda}}));
  o.precision = OCTET_TRY(choose<Precision>("precision", precision_,
                                            {{"f32", Precision::kFloat32},
                                             {"bf16", Precision::kBfloat16},
                                             {"f16", Precision::kFloat16},
                                             {"fp8", Precision::kFloat8}}));
  OCTET_TRY(choose_fp8(o));
  o.world = OCTET_TRY(world_from_environment());
  rank_ = o.world.rank;
  o.seed = common.seed;
  o.threads = common.threads;
  o.checkpoint = checkpoint_path(output);
  // To the end of the process: a trained model is also written.
  o.cancel = &interruptible_.emplace().token();
  TrainApi* api = OCTET_TRY(train_api());
  // Test data only informs: a model chosen by it would look better than it is.
  o.keep_best = o.validation_split > 0;
  const bool validates = examples.test != nullptr || o.keep_best;
  const bool print_evaluations = o.evaluate_steps > 0;
  if (!print_evaluations) o.evaluate_steps = steps_between_looks(examples, o);
  const char* const part = o.keep_best ? "validation" : "test";
  std::unique_ptr<TensorBoardWriter> log;
  if (!log_dir_.empty() && writes()) log = OCTET_TRY(TensorBoardWriter::create(log_dir_));

  ProgressLine progress("train", "steps");
  o.on_step = [&](const TrainProgress& p) {
    if (writes())
      progress.update(p.step, p.steps,
                      fmt::format("epoch {}/{}, loss {:.4f}", p.epoch, p.epochs, p.loss));
  };
  o.on_epoch = [&](const EpochRecord& e) {
    if (!writes()) return;
    progress.line(fmt::format("epoch {:>3}  loss {:.4f}  {}{}  {}", e.epoch, e.train_loss,
                              terms_text(e), validates ? validation_text(part, e) : std::string(),
                              duration_text(e.seconds)));
  };
  if (print_evaluations)
    o.on_evaluation = [&](const EvaluationRecord& e) {
      if (writes())
        progress.line(fmt::format("step {:>6}  {} loss {:.4f}  {}{}", e.step, part, e.loss,
                                  metric_text(e.terms[0]), e.best ? "  best so far" : ""));
    };
  o.on_finding = [&](const TrainFinding& f) {
    progress.line(fmt::format("look: epoch {}: {}", f.epoch, f.message));
  };
  if (log)
    o.on_scalar = [&](std::string_view tag, int64_t step, double value) {
      // A full disk must not end a training run; the curve just ends.
      if (!log->scalar(tag, step, value).ok()) o.on_scalar = nullptr;
    };
  keep_settings(examples, o);
  Result<TrainedModel> trained = api->train(graph, *examples.examples, examples.test.get(), o);
  // Of a loss that is no number: what led to it is worth no second try.
  if (!trained.ok() && trained.error().code() == ErrorCode::kRefused && writes()) finished(output);
  TrainedModel model = OCTET_TRY(std::move(trained));
  if (model.report.cancelled)
    return Error(o.checkpoint.empty()
                     ? "stopped by the user; without a checkpoint nothing is kept"
                     : "stopped by the user; --resume continues from " + o.checkpoint,
                 ErrorCode::kCancelled);
  data_hash_ = model.report.data_hash;
  if (data_hash_ == 0) data_hash_ = dataset_hash(*examples.examples);
  return model;
}

void TrainFlags::report(const TrainedModel& model,
                        const std::string& output,
                        const std::string& record,
                        const Common& common) const {
  const TrainReport& r = model.report;
  if (common.json) {
    fmt::print("{}\n", record);
    return;
  }
  fmt::print("{}: {} tensors trained in {} steps, {}{}{}\n", output, r.parameters.size(), r.steps,
             duration_text(r.seconds), r.stopped_early ? ", stopped early" : "",
             r.best_step > 0 && r.best_step < r.steps
                 ? fmt::format("; this is the model after step {}, the best one", r.best_step)
                 : "");
}

std::string TrainFlags::record(const TrainedModel& model,
                               const std::string& output,
                               const std::vector<RunSetting>& given) const {
  const TrainReport& r = model.report;
  nlohmann::ordered_json recipe;
  for (const auto* list : {&given, &settings_})
    for (const RunSetting& s : *list)
      recipe[s.name] = typed(s.value);
  nlohmann::ordered_json out = {{"model", output},
                                {"octet", std::string(version())},
                                {"recipe", recipe},
                                {"data_hash", hash_text(data_hash_)},
                                {"steps", r.steps},
                                {"seconds", r.seconds},
                                {"best_epoch", r.best_epoch},
                                {"best_step", r.best_step},
                                {"stopped_early", r.stopped_early},
                                {"diverged", r.diverged},
                                {"resumed_from", r.resumed_from},
                                {"parameters", r.parameters},
                                {"epochs", nlohmann::ordered_json::array()},
                                {"evaluations", nlohmann::ordered_json::array()},
                                {"findings", nlohmann::ordered_json::array()}};
  for (const EpochRecord& e : r.history) {
    out["epochs"].push_back({{"epoch", e.epoch},
                             {"train_loss", e.train_loss},
                             {"train_accuracy", e.train_accuracy},
                             {"validation_loss", e.validation_loss},
                             {"validation_accuracy", e.validation_accuracy},
                             {"lr", e.lr},
                             {"seconds", e.seconds},
                             {"train_seconds", e.train_seconds}});
    if (is_of_numbers(e.terms))
      out["epochs"].back()["train_absolute_error"] = e.terms[0].absolute_error;
  }
  for (const EvaluationRecord& e : r.evaluations)
    out["evaluations"].push_back({{"step", e.step},
                                  {"epoch", e.epoch},
                                  {"loss", e.loss},
                                  {"accuracy", e.accuracy},
                                  {"best", e.best}});
  for (const TrainFinding& f : r.findings)
    out["findings"].push_back({{"epoch", f.epoch}, {"message", f.message}});
  return json_text(out);
}

std::vector<LossTerm> language_losses(const Graph& graph) {
  std::vector<LossTerm> out;
  for (const ValueId id : graph.outputs()) {
    const std::string& name = graph.value(id).name;
    if (name == "mlm_logits") out.push_back({.output = name, .target = "mlm_labels"});
    if (name == "nsp_logits") out.push_back({.output = name, .target = "nsp_labels"});
  }
  return out;
}

} // namespace octet::cli
