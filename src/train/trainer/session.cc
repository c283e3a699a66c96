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

} // namespace

Result<std::vector<double>> TrainSession::counts_of_step(const std::vector<TorchBatch>& batches) {
  std::vector<double> counts(objective_.terms(), 0.0);
  for (const TorchBatch& batch : batches)
    for (size_t i = 0; i < counts.size(); ++i)
      counts[i] += batch.labels.counts[i];
  return peers_ == nullptr ? Result<std::vector<double>>(std::move(counts)) : peers_->sum(counts);
}

Result<TorchBatch> TrainSession::read(const Dataset& data,
                                      const Graph* teacher,
                                      std::span<const int64_t> indices,
                                      int64_t epoch) {
  const std::scoped_lock lock(reading_);
  return guarded([&] { return read_batch(batch_use(teacher), data, indices, epoch); });
}

Result<TrainSession::Outcome> TrainSession::run_step(BatchReader& reader, size_t own) {
  std::vector<TorchBatch> batches;
  for (size_t i = 0; i < own; ++i) {
    TorchBatch batch = OCTET_TRY(reader.next());
    batches.push_back(OCTET_TRY(guarded(
        [&]() -> Result<TorchBatch> { return on_device(std::move(batch), place_.device); })));
  }
  StepRecord record;
  record.counts = OCTET_TRY(counts_of_step(batches));
  record.step = counters_.step;
  record.lr_before = last_lr_;
  record.lr = rates_at(options_.optimizer, options_.schedule, counters_.step, steps_).lr;
  follow_scales();
  for (size_t i = 0; i < batches.size(); ++i) {
    record.examples += static_cast<double>(batches[i].examples);
    OCTET_TRY(
        run_batch(std::move(batches[i]), record.counts, static_cast<int64_t>(i), record.numbers));
  }
  unread_.push_back(std::move(record));
  if (must_read()) {
    const Outcome outcome = OCTET_TRY(read_numbers());
    if (outcome != Outcome::kDone) return outcome;
  }
  OCTET_TRY(finish_step());
  return Outcome::kDone;
}

Status TrainSession::run_batch(TorchBatch batch,
                               const std::vector<double>& counts,
                               int64_t number,
                               at::Tensor& numbers) {
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
    const Sums sums = objective_.measure(outputs, taught, batch.labels, counts);
    const at::Tensor more = sums.numbers();
    numbers = numbers.defined() ? numbers + more : more;
    TORCH_CHECK(sums.total.requires_grad(),
                "no parameter reaches the loss through operators with a gradient");
    outputs.clear();
    (loss_scale_.active() ? sums.total * loss_scale_.factor() : sums.total).backward();
    return ok_status();
  });
  OCTET_TRY_WITH(status, "loss");
  return ok_status();
}

Status TrainSession::finish_step() {
  OCTET_TRY_WITH(share_gradients(), "gradients");
  OCTET_TRY_WITH(guarded([&] { return apply_gradients(); }), "gradients");
  OCTET_TRY_WITH(guarded([&] { return advance_fp8(); }), "FP8 scales");
  ++counters_.step;
  ++counters_.epoch_step;
  return ok_status();
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
  const std::vector<double> own = peers_ == nullptr ? std::vector<double>{} : scales->recorded();
  if (!own.empty()) {
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
  at::Tensor overflowed;
  if (loss_scale_.active()) {
    overflowed = optimizer_->unscale(loss_scale_.factor().reciprocal());
    loss_scale_.update(overflowed);
  }
  if (options_.optimizer.clip_norm > 0) optimizer_->clip();
  optimizer_->step(rates, overflowed);
  const at::NoGradGuard no_gradient;
  for (Program::Trained& t : program_->trained())
    if (t.is_scale) t.leaf.clamp_min_(kSmallestScale);
  return ok_status();
}

void TrainSession::report_lost_scales() {
  const at::NoGradGuard no_gradient;
  std::string names;
  for (const Program::Trained& t : program_->trained()) {
    if (!t.is_scale) continue;
    const auto lost = t.leaf.le(kSmallestScale).sum().item<int64_t>();
    if (lost > 0)
      names += fmt::format("{}{} of {} of \"{}\"", names.empty() ? "" : ", ", lost, t.leaf.numel(),
                           graph_.value(t.value).name);
  }
  if (!names.empty())
    find({TrainFinding::Kind::kScales, counters_.epoch,
          fmt::format("learned scales fell to nothing: {}; steps are too large beside them: lower "
                      "the learning rate ({:g}), or learn no scales",
                      names, options_.optimizer.lr)});
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
  const int64_t left = std::min(epoch_steps_ - counters_.epoch_step, steps_ - counters_.step);
  std::vector<std::span<const int64_t>> batches; // those of this process, step after step
  std::vector<size_t> own;                       // how many of them each step has
  for (int64_t step = counters_.epoch_step; step < counters_.epoch_step + left; ++step) {
    const auto begin = static_cast<size_t>(step * step_examples_);
    const size_t count = std::min(static_cast<size_t>(step_examples_), order.size() - begin);
    const auto of_step =
        own_batches(std::span(order).subspan(begin, count), options_.batch_size, options_.world);
    batches.insert(batches.end(), of_step.begin(), of_step.end());
    own.push_back(of_step.size());
  }
  BatchReader reader(std::ssize(batches), [&, running](int64_t k) {
    return read(*examples_, options_.teacher.graph, batches[static_cast<size_t>(k)], running);
  });
  for (size_t step = 0; counters_.epoch == running && !ended(); ++step) {
    Outcome outcome = OCTET_TRY_WITH(run_step(reader, own[step]),
                                     fmt::format("train: step {}", counters_.step + 1));
    if (outcome != Outcome::kDone) return outcome;
    outcome = OCTET_TRY(after_step());
    if (outcome != Outcome::kDone) return outcome;
  }
  return counters_.stopped ? Outcome::kStopped : Outcome::kDone;
}

Result<TrainSession::Outcome> TrainSession::after_step() {
  bool cancelled = others_cancelled_;
  const bool epoch_done = counters_.epoch_step == epoch_steps_ || counters_.step >= steps_;
  const bool validates = options_.evaluate_steps > 0 && validation() != nullptr &&
                         counters_.step % options_.evaluate_steps == 0;
  const bool due = options_.checkpoint_steps > 0 && counters_.step % options_.checkpoint_steps == 0;
  if (options_.on_step) options_.on_step(progress());
  // A flag that this process alone raises is acted upon once all have heard of it.
  if (peers_ == nullptr && options_.cancel != nullptr) cancelled = options_.cancel->cancelled();
  if (cancelled || due || validates || epoch_done) {
    // Nothing of a state that led nowhere is kept.
    const Outcome outcome = OCTET_TRY(read_numbers());
    if (outcome != Outcome::kDone) return outcome;
  }
  EvaluationRecord evaluation;
  if (validates || (epoch_done && validation() != nullptr))
    evaluation = OCTET_TRY_WITH(evaluate(), "train: validation");
  if (epoch_done || counters_.stopped) end_epoch(evaluation);
  if (cancelled || due || epoch_done || counters_.stopped) OCTET_TRY(save());
  return cancelled && !ended() ? Outcome::kCancelled : Outcome::kDone;
}

} // namespace octet::train
