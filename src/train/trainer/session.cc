// SPDX-License-Identifier: Apache-2.0
// Epochs and steps.
#include "train/trainer/session.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/philox.h"
#include "core/progress.h"
#include "data/bucketing.h"
#include "train/guard.h"
#include "train/trainer/diagnosis.h"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

namespace octet::train {
namespace {

constexpr double kSmallestScale = 1e-8;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

Result<std::vector<double>> TrainSession::counts_of_step(const std::vector<TorchBatch>& batches) {
  std::vector<double> counts(objective_.terms(), 0.0);
  for (const TorchBatch& batch : batches) {
    const std::vector<double> more = OCTET_TRY(
        guarded([&]() -> Result<std::vector<double>> { return objective_.counts(batch.targets); }));
    for (size_t i = 0; i < counts.size(); ++i)
      counts[i] += more[i];
  }
  return peers_ == nullptr ? Result<std::vector<double>>(std::move(counts)) : peers_->sum(counts);
}

Result<TrainSession::Outcome> TrainSession::run_step(std::span<const int64_t> indices) {
  std::vector<TorchBatch> batches;
  for (const std::span<const int64_t> own :
       own_batches(indices, options_.batch_size, options_.world))
    batches.push_back(OCTET_TRY(read_batch(graph_, options_.teacher.graph, objective_, *examples_,
                                           own, counters_.epoch, program_->device())));
  std::vector<double> counts = OCTET_TRY(counts_of_step(batches));
  follow_scales();
  step_sums_.assign(2 * objective_.terms() + 3, 0.0);
  for (size_t i = 0; i < batches.size(); ++i)
    OCTET_TRY(run_batch(std::move(batches[i]), counts, static_cast<int64_t>(i)));
  const bool cancelled = options_.cancel != nullptr && options_.cancel->cancelled();
  step_sums_.back() = cancelled ? 1 : 0;
  if (peers_ != nullptr) step_sums_ = OCTET_TRY(peers_->sum(step_sums_));
  return finish_step(counts);
}

Status
TrainSession::run_batch(TorchBatch batch, const std::vector<double>& counts, int64_t number) {
  // Each batch of a step and each process draws other random numbers.
  const auto stream = static_cast<uint64_t>(
      (counters_.step * options_.accumulate + number) * options_.world.size + options_.world.rank);
  std::vector<at::Tensor> taught;
  if (teacher_ != nullptr) {
    const at::NoGradGuard no_gradient;
    const AutocastScope precision(program_->device(), options_.precision);
    taught = OCTET_TRY_WITH(teacher_->forward(std::move(batch.teacher), RunState{}), "teacher");
  }
  const RunState run{true,
                     options_.freeze_statistics || is_behind(options_.freeze_statistics_after),
                     options_.seed, stream};
  std::vector<at::Tensor> outputs;
  {
    const AutocastScope precision(program_->device(), options_.precision);
    outputs = OCTET_TRY(program_->forward(std::move(batch.inputs), run));
  }
  const Status status = guarded([&]() -> Status {
    const Sums sums = objective_.measure(outputs, taught, batch.targets, counts);
    const size_t terms = objective_.terms();
    for (size_t i = 0; i < terms; ++i) {
      step_sums_[i] += sums.loss[i];
      step_sums_[terms + i] += static_cast<double>(sums.correct[i]);
    }
    step_sums_[2 * terms] += sums.total.item().toDouble();
    step_sums_[2 * terms + 1] += static_cast<double>(batch.examples);
    TORCH_CHECK(sums.total.requires_grad(),
                "no parameter reaches the loss through operators with a gradient");
    outputs.clear();
    if (std::isfinite(step_sums_[2 * terms]))
      (loss_scale_.active() ? sums.total * loss_scale_.factor() : sums.total).backward();
    return ok_status();
  });
  OCTET_TRY_WITH(status, "loss");
  return ok_status();
}

Result<TrainSession::Outcome> TrainSession::finish_step(const std::vector<double>& counts) {
  const size_t terms = objective_.terms();
  const double loss = step_sums_[2 * terms], examples = step_sums_[2 * terms + 1];
  if (!std::isfinite(loss)) {
    find(not_finite(counters_.epoch + 1, counters_.step + 1, loss, last_lr_, has_float_inputs()));
    return Outcome::kNotFinite;
  }
  OCTET_TRY_WITH(share_gradients(), "gradients");
  OCTET_TRY_WITH(guarded([&] { return apply_gradients(); }), "gradients");
  OCTET_TRY_WITH(advance_fp8(), "FP8 scales");
  last_loss_ = loss;
  if (counters_.step == 0) counters_.first_loss = loss;
  remember_loss(counters_.recent_losses, loss);
  counters_.loss_sum += loss * examples;
  counters_.seen += static_cast<int64_t>(examples);
  epoch_seen_here_ += static_cast<int64_t>(examples);
  for (size_t i = 0; i < terms; ++i) {
    counters_.term_loss[i] += step_sums_[i];
    counters_.term_correct[i] += static_cast<int64_t>(step_sums_[terms + i]);
    counters_.term_labels[i] += static_cast<int64_t>(counts[i]);
  }
  ++counters_.step;
  ++counters_.epoch_step;
  return Outcome::kDone;
}

Status TrainSession::share_gradients() {
  if (peers_ == nullptr) return ok_status();
  std::vector<at::Tensor> gradients;
  for (Program::Trained& t : program_->trained()) {
    // Without a batch of its own a process adds nothing; the others' gradients it needs all the
    // same.
    if (!t.leaf.grad().defined()) t.leaf.mutable_grad() = at::zeros_like(t.leaf);
    gradients.push_back(t.leaf.grad());
  }
  OCTET_TRY(peers_->sum(gradients));
  // Statistics become the mean of what the processes saw.
  const at::NoGradGuard no_gradient;
  std::vector<at::Tensor> statistics;
  for (const ValueId v : program_->statistics())
    statistics.push_back(program_->slot(v));
  if (statistics.empty()) return ok_status();
  OCTET_TRY(peers_->sum(statistics));
  for (at::Tensor& t : statistics)
    t.div_(options_.world.size);
  return ok_status();
}

Status TrainSession::advance_fp8() {
  Fp8Scales* scales = program_->fp8();
  if (scales == nullptr) return ok_status();
  const std::vector<double> own = scales->recorded();
  if (peers_ != nullptr && !own.empty()) {
    // The largest of all processes, from a sum in which each has its own row.
    const auto size = static_cast<size_t>(options_.world.size);
    std::vector<double> all(size * own.size(), 0.0);
    std::copy(own.begin(), own.end(),
              all.begin() + static_cast<std::ptrdiff_t>(options_.world.rank) * std::ssize(own));
    all = OCTET_TRY(peers_->sum(all));
    std::vector<double> largest = own;
    for (size_t i = 0; i < all.size(); ++i)
      largest[i % own.size()] = std::max(largest[i % own.size()], all[i]);
    scales->record(largest);
  }
  scales->advance();
  return ok_status();
}

Status TrainSession::apply_gradients() {
  report_missing_gradients();
  if (is_behind(options_.freeze_scales_after))
    for (Program::Trained& t : program_->trained())
      if (t.is_scale) t.leaf.mutable_grad().reset();
  const Rates rates = rates_at(options_.optimizer, options_.schedule, counters_.step, steps_);
  last_lr_ = rates.lr;
  const bool finite = !loss_scale_.active() || optimizer_->unscale(loss_scale_.factor());
  loss_scale_.update(finite);
  if (!finite) {
    ++counters_.skipped;
    optimizer_->clear();
    return ok_status();
  }
  if (options_.optimizer.clip_norm > 0) optimizer_->clip();
  optimizer_->step(rates);
  const at::NoGradGuard no_gradient;
  for (Program::Trained& t : program_->trained())
    if (t.is_scale) t.leaf.clamp_min_(kSmallestScale);
  return ok_status();
}

bool TrainSession::is_behind(double share) const {
  return share < 1 && static_cast<double>(counters_.step) >= share * static_cast<double>(steps_);
}

void TrainSession::follow_scales() {
  if (!is_behind(options_.freeze_scales_after)) program_->follow_weight_scales();
}

void TrainSession::report_missing_gradients() {
  if (gradients_checked_ || peers_ != nullptr) return;
  gradients_checked_ = true;
  std::string names;
  for (const Program::Trained& t : program_->trained())
    if (!t.leaf.grad().defined())
      names += (names.empty() ? "\"" : ", \"") + graph_.value(t.value).name + "\"";
  if (names.empty()) return;
  std::string nodes;
  for (const std::string& label : program_->without_gradient())
    nodes += (nodes.empty() ? "; operators without a gradient on the way: " : ", ") + label;
  find({TrainFinding::Kind::kNoGradient, counters_.epoch + 1,
        fmt::format("no gradient reaches {}, so they stay as they are{}", names, nodes)});
}

bool TrainSession::ended() const {
  return counters_.stopped || counters_.step >= steps_ || counters_.epoch >= epochs_;
}

std::vector<int64_t> TrainSession::epoch_order() const {
  const auto epoch = static_cast<uint64_t>(counters_.epoch);
  return options_.bucket_lengths ? bucketed_order(*examples_, step_examples_, options_.seed, epoch)
                                 : permutation(examples_->size(), options_.seed, epoch);
}

Result<TrainSession::Outcome> TrainSession::run_epoch() {
  const std::vector<int64_t> order = epoch_order();
  epoch_start_ = std::chrono::steady_clock::now();
  evaluation_seconds_ = 0;
  epoch_seen_here_ = 0;
  const int64_t running = counters_.epoch;
  while (counters_.epoch == running && !ended()) {
    const auto begin = static_cast<size_t>(counters_.epoch_step * step_examples_);
    const size_t count = std::min(static_cast<size_t>(step_examples_), order.size() - begin);
    Outcome outcome = OCTET_TRY_WITH(run_step(std::span(order).subspan(begin, count)),
                                     fmt::format("train: step {}", counters_.step + 1));
    if (outcome != Outcome::kDone) return outcome;
    outcome = OCTET_TRY(after_step());
    if (outcome != Outcome::kDone) return outcome;
  }
  return counters_.stopped ? Outcome::kStopped : Outcome::kDone;
}

Result<TrainSession::Outcome> TrainSession::after_step() {
  scalar("train/lr", counters_.step, last_lr_);
  scalar("train/step_loss", counters_.step, last_loss_);
  if (options_.on_step) options_.on_step(progress());
  bool cancelled = step_sums_.back() > 0;
  // A flag that this process alone raises is acted upon once all have heard of it.
  if (peers_ == nullptr && options_.cancel != nullptr) cancelled = options_.cancel->cancelled();
  const bool epoch_done = counters_.epoch_step == epoch_steps_ || counters_.step >= steps_;
  const bool validates = options_.evaluate_steps > 0 && validation() != nullptr &&
                         counters_.step % options_.evaluate_steps == 0;
  EvaluationRecord evaluation;
  if (validates || (epoch_done && validation() != nullptr))
    evaluation = OCTET_TRY_WITH(evaluate(), "train: validation");
  if (epoch_done || counters_.stopped) end_epoch(evaluation);
  const bool due = options_.checkpoint_steps > 0 && counters_.step % options_.checkpoint_steps == 0;
  if (cancelled || due || epoch_done || counters_.stopped) OCTET_TRY(save());
  return cancelled && !ended() ? Outcome::kCancelled : Outcome::kDone;
}

void TrainSession::end_epoch(const EvaluationRecord& evaluation) {
  EpochRecord record;
  record.epoch = counters_.epoch + 1;
  record.train_loss = counters_.loss_sum / static_cast<double>(counters_.seen);
  for (size_t i = 0; i < objective_.terms(); ++i) {
    const double labels = std::max<double>(1, static_cast<double>(counters_.term_labels[i]));
    record.terms.push_back({objective_.name(i), counters_.term_loss[i] / labels,
                            static_cast<double>(counters_.term_correct[i]) / labels,
                            counters_.term_labels[i]});
  }
  record.train_accuracy = record.terms[0].accuracy;
  record.validation_loss = evaluation.loss;
  record.validation_accuracy = evaluation.accuracy;
  record.lr = last_lr_;
  record.seconds = seconds_since(epoch_start_);
  record.train_seconds = record.seconds - evaluation_seconds_;
  counters_.history.push_back(record);
  ++counters_.epoch;
  counters_.start_epoch(objective_.terms());
  const bool labels_alone = objective_.kind() == LossKind::kCrossEntropy &&
                            objective_.terms() == 1 && options_.teacher.graph == nullptr;
  const RunFacts facts{.classes = labels_alone ? objective_.classes() : 0,
                       .max_lr = options_.optimizer.lr,
                       .steps = counters_.step,
                       .keeps_best = options_.keep_best,
                       .float_inputs = has_float_inputs()};
  for (TrainFinding& f : diagnose(counters_.history, facts))
    find(std::move(f));
  if (loss_course().diverged()) find_divergence();
  scalar("train/loss", counters_.step, record.train_loss);
  scalar("train/accuracy", counters_.step, record.train_accuracy);
  if (options_.on_epoch) options_.on_epoch(record);
}

} // namespace octet::train
