// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_models.h"

#include <algorithm>
#include <cmath>
#include <list>

#include "cli/debug_findings.h"
#include "cli/debug_setup.h"
#include "cli/history.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/outputs.h"
#include "cli/page_origin.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "quant/bias_room.h"
#include "quant/calibrate.h"
#include "quant/prepare.h"
#include "quant/see/file_plan.h"
#include "quant/see/findings.h"
#include "quant/see/remedies.h"
#include "quant/see/replanned.h"
#include "report/findings_page.h"
#include "targets/tables.h"

#include "octet/metrics.h"
#include "octet/quantize.h"
#include "octet/repair.h"
#include "octet/target.h"

namespace octet::cli {
namespace {

/// That layers are quantized alone on, unless more are asked for.
constexpr int64_t kAloneExamples = 64;
/// Multiply-adds that the layers, one by one, and the changes may take: a minute or two.
constexpr double kMostWork = 2e12;
constexpr int64_t kFewestExamples = 4;
constexpr size_t kFewestLayers = 8;
/// A change is kept where it takes that much of the error.
constexpr double kKept = 0.98;

/// Labels of examples and what is said of them.
struct Judge {
  std::vector<std::vector<int64_t>> labels; ///< by batch; empty: none
  int64_t right = 0, all = 0;

  OutputsOf counting() {
    right = all = 0;
    if (labels.empty()) return {};
    return [this](size_t batch, std::span<const Tensor> outputs) -> Status {
      const std::vector<int64_t> best = OCTET_TRY(top1(outputs.front()));
      for (size_t i = 0; i < std::min(best.size(), labels[batch].size()); ++i) {
        right += best[i] == labels[batch][i] ? 1 : 0;
        ++all;
      }
      return ok_status();
    };
  }
  std::optional<double> accuracy() const {
    return all > 0 ? std::optional(static_cast<double>(right) / static_cast<double>(all))
                   : std::nullopt;
  }
};

class Debugging {
 public:
  Debugging(const DebugModels& options, const Common& common) : o_(options), common_(common) {}

  Result<Answer> run() {
    models_ = OCTET_TRY(open_two_models(o_, common_));
    findings_.float_model = o_.float_model;
    findings_.quantized_model = o_.quantized_model;
    findings_.data = models_.data->description();
    findings_.pairs = models_.pairs;
    findings_.plan_from = models_.plan_from;
    const Interruptible interruptible;
    interruptible_ = &interruptible;
    OCTET_TRY(look_at_tensors());
    Answer answer = Answer::kDone;
    if (!stopped()) {
      OCTET_TRY(find_plan());
      OCTET_TRY(quantize_alone());
    }
    if (!stopped() && (o_.remedies > 0 || o_.apply)) OCTET_TRY(try_remedies());
    findings_.stopped = stopped();
    if (o_.apply && !stopped()) answer = OCTET_TRY(apply());
    if (common_.json)
      print_findings_json(findings_, applied_);
    else
      print_findings(findings_, applied_);
    if (!o_.report.empty())
      OCTET_TRY(write_file(o_.report, findings_page(findings_, page_origin(common_)),
                           common_.force ? Overwrite::kYes : Overwrite::kNo));
    return answer;
  }

 private:
  bool stopped() const { return interruptible_->stopped(); }
  std::string both() const { return fmt::format("{} and {}", o_.float_model, o_.quantized_model); }

  /// The first examples of the data, for as long as there are some; counts them and keeps their
  /// labels. What a graph gets may have no axis for examples, so that its rows say nothing of them.
  CalibrationSource first_examples(int64_t count) {
    read_ = 0;
    const auto keep_labels = [this](const Batch& batch) -> Status {
      in_batch_ = batch.inputs.empty() ? 1 : batch.inputs.front().second.dim(0);
      read_ += in_batch_;
      labels_.push_back(batch.labels.empty() ? std::vector<int64_t>()
                                             : OCTET_TRY(batch.labels.to_ints()));
      return {};
    };
    return [this, any = false,
            source = cli::first_examples(
                models_.prepared, models_.data, count, o_.batch,
                keep_labels)]() mutable -> Result<std::optional<std::vector<Tensor>>> {
      if (stopped() && any) return std::optional<std::vector<Tensor>>();
      any = true;
      return source();
    };
  }

  Status look_at_tensors() {
    ProgressLine progress("compare", "examples");
    const int64_t total = std::min(examples_of(o_), models_.data->size());
    int64_t seen = 0;
    findings_.looked = OCTET_TRY_WITH(look(models_.prepared, models_.quantized, findings_.pairs,
                                           first_examples(examples_of(o_)),
                                           {.executor = measuring_executor(common_, true),
                                            .mask_input = models_.mask,
                                            .cancel = &interruptible_->token(),
                                            .progress =
                                                [&](int64_t) {
                                                  seen = read_;
                                                  progress.update(std::min(seen, total), total);
                                                }}),
                                      both());
    findings_.looked.examples = seen;
    findings_.outputs = outputs_of(findings_.pairs, findings_.looked);
    return ok_status();
  }

  /// What layers are quantized alone on: as many examples as the network allows.
  Status take_examples(int64_t count) {
    labels_.clear();
    const CalibrationSource source = first_examples(count);
    while (auto inputs = OCTET_TRY(source())) {
      if (alone_.batches.empty()) work_ = work_of(models_.prepared, *inputs, in_batch_);
      const bool rows = !inputs->empty() && inputs->front().rank() > 0;
      whole_ = whole_ || (in_batch_ == 1 && rows && inputs->front().dim(0) != 1);
      alone_.examples += in_batch_;
      alone_.batches.push_back({std::move(*inputs), {}});
    }
    judge_.labels = labels_;
    const bool labelled =
        std::all_of(labels_.begin(), labels_.end(), [](const auto& l) { return !l.empty(); });
    const TypeInfo& scores = models_.prepared.value(models_.prepared.outputs().front()).type;
    if (!labelled || !scores.has_rank() || scores.rank() != 2) judge_.labels.clear();
    return ok_status();
  }

  Status find_plan() {
    const CalibrationSource one = first_examples(1);
    const auto inputs = OCTET_TRY(one());
    if (inputs) work_ = work_of(models_.prepared, *inputs, in_batch_);
    const size_t layers = std::max(findings_.pairs.nodes.size(), kFewestLayers);
    const double affordable = kMostWork / (work_ * static_cast<double>(layers));
    alone_limit_ = std::clamp(static_cast<int64_t>(std::min(affordable, 1e6)),
                              std::min(kFewestExamples, examples_of(o_)),
                              std::min(examples_of(o_), kAloneExamples));
    if (o_.limit > 0 && affordable >= static_cast<double>(o_.limit)) alone_limit_ = o_.limit;
    OCTET_TRY(take_examples(alone_limit_));
    findings_.alone_examples = alone_.examples;

    const std::string target = models_.plan ? models_.plan->target : OCTET_TRY(target_of_file());
    placement_ = OCTET_TRY(find_placement(target));
    if (!models_.plan && in_codes_at_every_run())
      models_.plan =
          OCTET_TRY_WITH(plan_quantization(models_.original, CalibrationSource{},
                                           {.target = target, .mode = QuantMode::kDynamic}),
                         o_.float_model);
    if (!models_.plan) models_.plan = plan_of_file(models_.prepared, findings_.pairs, *placement_);
    trials_.emplace(models_.prepared, *placement_, measuring_executor(common_, true), models_.mask);
    OCTET_TRY(trials_->run_float(alone_));
    const OutputsOf counting = judge_.counting();
    if (counting)
      for (size_t b = 0; b < alone_.batches.size(); ++b)
        OCTET_TRY(counting(b, alone_.batches[b].outputs));
    findings_.float_accuracy = judge_.accuracy();
    OCTET_TRY(compare_with_file());
    if (!findings_.plan_is_the_file && models_.plan_guessed) {
      // The one beside the file is of another; what the file says is nearer to it.
      QuantizationPlan guessed = std::move(*models_.plan);
      const double gap = findings_.plan_gap_db;
      models_.plan = plan_of_file(models_.prepared, findings_.pairs, *placement_);
      OCTET_TRY(compare_with_file());
      if (findings_.plan_gap_db > gap) {
        findings_.plan_from.clear();
      } else {
        models_.plan = std::move(guessed);
        OCTET_TRY(compare_with_file());
      }
    }
    return ok_status();
  }

  /// Whether the plan makes what the file does.
  Status compare_with_file() {
    HeldBack file;
    file.examples = alone_.examples;
    for (const HeldBack::Batch& batch : alone_.batches)
      file.batches.push_back({batch.inputs, {}});
    const OutputsOf counting = judge_.counting();
    file_error_ = OCTET_TRY(trials_->error_of(
        models_.quantized, alone_, [&](size_t b, std::span<const Tensor> outputs) -> Status {
          for (const Tensor& output : outputs)
            file.batches[b].outputs.push_back(output.clone());
          return counting ? counting(b, outputs) : ok_status();
        }));
    findings_.quantized_accuracy = judge_.accuracy();
    const double gap = OCTET_TRY(trials_->error_of(*models_.plan, file));
    constexpr double kHundredth = 0.01;
    findings_.plan_gap_db = decibels(gap);
    findings_.plan_is_the_file = gap <= kHundredth * file_error_ || gap == 0;
    return ok_status();
  }

  /// Such a plan needs no data: it is made again.
  bool in_codes_at_every_run() const {
    const std::vector<NodeId> nodes = models_.quantized.nodes();
    return std::none_of(findings_.pairs.values.begin(), findings_.pairs.values.end(),
                        [](const ValuePair& value) { return value.grid.has_value(); }) &&
           std::any_of(nodes.begin(), nodes.end(), [this](NodeId id) {
             const std::string& op = models_.quantized.node(id).op_type;
             return op == "DynamicQuantizeLinear" || op == "QDynamicGemm";
           });
  }

  Result<std::string> target_of_file() const {
    if (!o_.target.empty()) return parse_target(o_.target);
    const std::vector<NodeId> nodes = models_.quantized.nodes();
    if (std::any_of(nodes.begin(), nodes.end(), [this](NodeId id) {
          return models_.quantized.node(id).is("DynamicQuantizeLinear");
        }))
      return std::string("onnxruntime");
    switch (file_style(models_.quantized, findings_.pairs)) {
    case FileStyle::kStoredWeights:
      return std::string("octet");
    case FileStyle::kInt32Biases:
      return std::string("onnxruntime");
    case FileStyle::kFloatWeights:
      return parse_target("tensorrt-10");
    }
    return std::string("octet");
  }

  Status quantize_alone() {
    std::vector<QuantizedLayer> layers =
        by_own_error(layers_of(models_.prepared, *models_.plan), findings_.looked);
    findings_.layers = layers.size();
    const double each = work_ * static_cast<double>(alone_.examples);
    const auto most =
        static_cast<size_t>(std::clamp(kMostWork / each, static_cast<double>(kFewestLayers), 1e6));
    if (layers.size() > most) layers.resize(most);
    ProgressLine progress("each layer alone", "layers");
    for (size_t i = 0; i < layers.size() && !stopped(); ++i) {
      progress.update(static_cast<int64_t>(i), std::ssize(layers));
      LayerFinding finding;
      const OutputsOf counting = judge_.counting();
      finding.error_alone = OCTET_TRY_WITH(
          trials_->error_of(with_layer_alone(models_.prepared, *models_.plan, layers[i]), alone_,
                            counting),
          fmt::format("layer \"{}\" alone", layers[i].node));
      finding.accuracy_alone = judge_.accuracy();
      finding.op = models_.plan->node(layers[i].node)->op;
      finding.layer = std::move(layers[i]);
      findings_.ranking.push_back(std::move(finding));
    }
    std::stable_sort(
        findings_.ranking.begin(), findings_.ranking.end(),
        [](const LayerFinding& a, const LayerFinding& b) { return a.error_alone > b.error_alone; });
    return ok_status();
  }

  /// Ranges of activations by each calibrator, and examples that none of them saw.
  Status calibrate_again() {
    int64_t samples = o_.samples;
    const double affordable =
        kMostWork / (work_ * static_cast<double>(std::max<int64_t>(o_.remedies, 1)));
    samples = std::clamp(samples, std::min<int64_t>(samples, 32),
                         std::max<int64_t>(32, static_cast<int64_t>(std::min(affordable, 1e6))));
    training_ = OCTET_TRY(open_model_data({o_.data, Split::kTrain, o_.max_length, samples},
                                          models_.prepared, o_.float_model, common_));
    samples_ = std::min(samples, training_->size());
    source_options_.target = models_.plan->target;
    source_options_.executor = measuring_executor(common_, true);
    source_options_.mask_input = models_.mask;
    source_options_.threads = common_.threads;
    source_options_.calibrator = Auto{};
    source_options_.samples = samples_;
    source_options_.batch_size = o_.batch;
    source_options_.progress = [this](int64_t, int64_t) { return !stopped(); };
    std::vector<ObserveRequest> requests;
    for (const TensorPlan& tensor : models_.plan->tensors) {
      const auto id = models_.prepared.find_value(tensor.value);
      if (id && models_.prepared.constant(*id) == nullptr) requests.push_back({*id, tensor.scheme});
    }
    ValueId any;
    for (const ValueId output : models_.prepared.outputs())
      if (is_float(models_.prepared.value(output).type.type)) any = output;
    if (requests.empty() && any.valid()) requests.push_back({any, Scheme{}});
    const Calibration seen = OCTET_TRY(calibrate(
        models_.prepared, requests, batches_of(models_.prepared, *training_, samples_, o_.batch),
        source_options_, samples_, &held_));
    for (const auto& [id, observation] : seen.values)
      if (models_.plan->tensor(models_.prepared.value(id).name) != nullptr)
        ranges_[models_.prepared.value(id).name] = observation.choices;
    return ok_status();
  }

  OpenCalibration open_training() {
    return [this]() -> Result<CalibrationSource> {
      HeldBack& again = rest_.emplace_back();
      return hold_back(models_.prepared,
                       batches_of(models_.prepared, *training_, samples_, o_.batch), samples_,
                       again);
    };
  }

  Status try_remedies() {
    OCTET_TRY_WITH(calibrate_again(), "ranges for remedies");
    if (held_.batches.empty()) return ok_status();
    const int64_t held = whole_ ? std::ssize(held_.batches) : held_.examples;
    findings_.held_back = held_.observed ? 0 : held;
    held_error_ = OCTET_TRY(trials_->error_of(*models_.plan, held_));
    findings_.held_sqnr_db = decibels(held_error_);
    source_.emplace(RemedySource{*trials_, ranges_, open_training(), source_options_, samples_});
    OCTET_TRY(try_float_steps());
    ProgressLine progress("try changes", "layers");
    const size_t most =
        std::min(static_cast<size_t>(std::max<int64_t>(o_.remedies, 0)), findings_.ranking.size());
    for (size_t i = 0; i < most && !stopped(); ++i) {
      progress.update(static_cast<int64_t>(i), static_cast<int64_t>(most));
      LayerFinding& finding = findings_.ranking[i];
      // What takes less than a hundredth of the error is nobody's trouble.
      if (finding.error_alone < 0.01 * findings_.ranking.front().error_alone) break;
      Result<Prescription> found =
          prescribe(*trials_, OCTET_TRY(remedies_for(*source_, *models_.plan, finding.layer)),
                    *models_.plan, held_error_, held_);
      if (!found.ok() && stopped()) break;
      note_remedies(finding, OCTET_TRY(std::move(found)));
    }
    return ok_status();
  }

  void note_remedies(LayerFinding& finding, Prescription found) {
    const auto words = [](const MeasuredRemedy& m) {
      return TriedRemedy{m.remedy.name, m.remedy.words, m.gain_db};
    };
    for (const MeasuredRemedy& tried : found.all)
      finding.tried.push_back(words(tried));
    if (found.best) finding.remedy = words(*found.best);
    for (const Replanned& again : replanned_) {
      if (std::find(again.nodes.begin(), again.nodes.end(), finding.layer.node) ==
          again.nodes.end())
        continue;
      const double gain = decibels(again.error) - decibels(again.error_without);
      finding.tried.push_back({again.step, "plan made again behind this step", gain});
      const bool better = !found.best || is_in_float(found.best->remedy.name)
                              ? gain >= 0.8 * (found.best ? found.best->gain_db : 0.1)
                              : gain > found.best->gain_db + 0.5;
      if (better && gain >= 0.1) finding.remedy = finding.tried.back();
    }
    changes_.push_back({&finding, std::move(found.best)});
  }

  /// Channels that stand out are what smoothing and equalizing are for.
  Status try_float_steps() {
    constexpr double kStandsOut = 6;
    const auto stands_out = [&](const std::vector<TensorView>& views, bool per_tensor_only) {
      return std::any_of(views.begin(), views.end(), [&](const TensorView& view) {
        const auto worst = view.outliers(1);
        return view.grid() && !worst.empty() && worst.front().ratio >= kStandsOut &&
               (!per_tensor_only || view.grid()->per_tensor());
      });
    };
    std::vector<std::string> steps;
    if (stands_out(findings_.looked.values, false)) steps.push_back("smooth");
    if (stands_out(findings_.looked.weights, true)) steps.push_back("equalize");
    if (steps.empty()) return ok_status();
    const OpenCalibration open = open_training();
    Result<std::vector<Replanned>> made =
        replanned_with({models_.original, models_.prepared, *placement_, *models_.plan, open,
                        source_options_, samples_, held_},
                       steps);
    if (!made.ok() && stopped()) return ok_status();
    replanned_ = OCTET_TRY_WITH(std::move(made), "a plan behind smooth or equalize");
    return ok_status();
  }

  /// Keeps what helps, one after the other, and writes the file.
  Result<Answer> apply() {
    QuantizationPlan plan = *models_.plan;
    double error = held_error_;
    for (auto& [finding, change] : changes_) {
      if (!change || stopped()) continue;
      QuantizationPlan changed = OCTET_TRY(change->remedy.change(plan));
      const double with = OCTET_TRY(trials_->error_of(changed, held_));
      if (!(with < kKept * error)) continue;
      plan = std::move(changed);
      error = with;
      applied_.changes.push_back(
          {change->remedy.name, change->remedy.words, change->gain_db, true});
      if (finding->remedy) finding->remedy->applied = true;
    }
    for (const Replanned& again : replanned_)
      if (again.error < kKept * error) {
        plan = again.plan;
        error = again.error;
        applied_.changes = {{again.step, "plan made again behind this step",
                             decibels(again.error) - findings_.held_sqnr_db, true}};
      }
    if (applied_.changes.empty()) {
      applied_.why = "no change helps";
      return Answer::kNo;
    }
    Graph stepped = OCTET_TRY(prepare_for_quantization(models_.original, *placement_));
    OCTET_TRY(apply_steps(stepped, plan.steps, StepStage::kFloat));
    plan.graph_hash = models_.original.content_hash();
    plan.stepped_hash = plan.steps.empty() ? 0 : stepped.content_hash();
    make_room_for_biases(stepped, *placement_, plan); // for ranges that a remedy changed
    const Graph made = OCTET_TRY_WITH(quantize(models_.original, plan), o_.float_model);
    const Graph better = OCTET_TRY_WITH(mend_exactly(made, plan.target), o_.output).graph;
    applied_.before_db = decibels(file_error_);
    const double after = OCTET_TRY(trials_->error_of(better, alone_, judge_.counting()));
    applied_.after_db = decibels(after);
    applied_.accuracy = judge_.accuracy();
    if (!(after < file_error_)) {
      applied_.why = "what helps on the examples held back does not on the data";
      return Answer::kNo;
    }
    OCTET_TRY(write_model(better, o_.output, common_, o_.float_model, {}, history_facts(plan)));
    if (!o_.save_plan.empty()) OCTET_TRY(octet::save_plan(plan, o_.save_plan, common_.force));
    applied_.file = o_.output;
    return Answer::kDone;
  }

  const DebugModels& o_;
  const Common& common_;
  const Interruptible* interruptible_ = nullptr;
  TwoModels models_;
  std::shared_ptr<const Dataset> training_;
  std::vector<std::vector<int64_t>> labels_;
  Judge judge_;
  HeldBack alone_, held_;
  std::list<HeldBack> rest_;        ///< what passes of steps leave out
  int64_t read_ = 0, in_batch_ = 1; ///< of first_examples(): so far, in the last batch
  bool whole_ = false;              ///< an example is all that a run takes, whatever its axes are
  double work_ = 1;
  int64_t alone_limit_ = 0, samples_ = 0;
  double file_error_ = 0, held_error_ = 0;
  std::shared_ptr<const Placement> placement_;
  std::optional<PlanTrials> trials_;
  QuantizeOptions source_options_;
  RangeChoices ranges_;
  std::optional<RemedySource> source_;
  std::vector<Replanned> replanned_;
  std::vector<std::pair<LayerFinding*, std::optional<MeasuredRemedy>>> changes_;
  Findings findings_;
  AppliedChanges applied_;
};

} // namespace

Result<Answer> debug_models(const DebugModels& options, const Common& common) {
  return Debugging(options, common).run();
}

} // namespace octet::cli
