// SPDX-License-Identifier: Apache-2.0
// Epochs and steps.
#include "train/trainer/session.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/philox.h"
#include "core/progress.h"
#include "train/guard.h"
#include "train/trainer/diagnosis.h"
#include <ATen/core/grad_mode.h>

namespace octet::train {
namespace {

constexpr double kSmallestScale = 1e-8;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

Result<TrainSession::Outcome> TrainSession::run_step(std::span<const int64_t> indices) {
  TorchBatch batch = OCTET_TRY(read_batch(graph_, examples_, indices, program_->device()));
  if (!batch.labels.defined()) return error("the data set has no labels");
  program_->follow_weight_scales();
  RunState run{true, options_.freeze_statistics, options_.seed,
               static_cast<uint64_t>(counters_.step)};
  const std::vector<at::Tensor> outputs =
      OCTET_TRY(program_->forward(std::move(batch.inputs), run));
  double loss = 0;
  OCTET_TRY_WITH(guarded([&]() -> Status {
                   const LossValue value =
                       compute_loss(loss_, outputs[0], batch.labels, options_.label_smoothing);
                   loss = value.loss.item().toDouble();
                   counters_.correct += value.correct;
                   return std::isfinite(loss) ? backward(value) : ok_status();
                 }),
                 "loss");
  const int64_t count = static_cast<int64_t>(indices.size());
  if (!std::isfinite(loss)) {
    find(not_finite(counters_.epoch + 1, counters_.step + 1, loss, last_lr_));
    return Outcome::kNotFinite;
  }
  last_loss_ = loss;
  counters_.loss_sum += loss * static_cast<double>(count);
  counters_.seen += count;
  epoch_seen_here_ += count;
  ++counters_.step;
  ++counters_.epoch_step;
  return Outcome::kDone;
}

Status TrainSession::backward(const LossValue& value) {
  TORCH_CHECK(value.loss.requires_grad(),
              "no parameter reaches the loss through operators with a gradient");
  value.loss.backward();
  report_missing_gradients();
  const Rates rates = rates_at(options_.optimizer, options_.schedule, counters_.step, steps_);
  last_lr_ = rates.lr;
  if (options_.optimizer.clip_norm > 0) optimizer_->clip();
  optimizer_->step(rates);
  const at::NoGradGuard no_gradient;
  for (Program::Trained& t : program_->trained())
    if (t.is_scale) t.leaf.clamp_min_(kSmallestScale);
  return ok_status();
}

void TrainSession::report_missing_gradients() {
  if (gradients_checked_) return;
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

Result<TrainSession::Outcome> TrainSession::run_epoch() {
  std::vector<int64_t> order = permutation(static_cast<int64_t>(kept_.size()), options_.seed,
                                           static_cast<uint64_t>(counters_.epoch));
  for (int64_t& i : order)
    i = kept_[static_cast<size_t>(i)];
  const auto start = std::chrono::steady_clock::now();
  epoch_seen_here_ = 0;
  while (counters_.epoch_step < epoch_steps_) {
    const size_t begin = static_cast<size_t>(counters_.epoch_step * options_.batch_size);
    const size_t count = std::min(static_cast<size_t>(options_.batch_size), order.size() - begin);
    const Outcome outcome = OCTET_TRY_WITH(run_step(std::span(order).subspan(begin, count)),
                                           fmt::format("train: step {}", counters_.step + 1));
    if (outcome != Outcome::kDone) return outcome;
    if (options_.on_step) options_.on_step(progress(seconds_since(start)));
    scalar("train/lr", counters_.step, last_lr_);
    scalar("train/step_loss", counters_.step, last_loss_);
    const bool cancelled = options_.cancel != nullptr && options_.cancel->cancelled();
    const bool due =
        options_.checkpoint_steps > 0 && counters_.step % options_.checkpoint_steps == 0;
    if ((cancelled || due) && counters_.epoch_step < epoch_steps_) OCTET_TRY(save());
    if (cancelled && counters_.epoch_step < epoch_steps_) return Outcome::kCancelled;
  }
  OCTET_TRY(end_epoch(seconds_since(start)));
  const bool cancelled = options_.cancel != nullptr && options_.cancel->cancelled();
  return cancelled && counters_.epoch < options_.epochs ? Outcome::kCancelled : Outcome::kDone;
}

Status TrainSession::end_epoch(double train_seconds) {
  const auto start = std::chrono::steady_clock::now();
  EpochRecord record;
  record.epoch = counters_.epoch + 1;
  record.train_loss = counters_.loss_sum / static_cast<double>(counters_.seen);
  record.train_accuracy =
      static_cast<double>(counters_.correct) / static_cast<double>(counters_.seen);
  record.lr = last_lr_;
  program_->follow_weight_scales();
  OCTET_TRY_WITH(validate(record), "train: validation");
  record.train_seconds = train_seconds;
  record.seconds = train_seconds + seconds_since(start);
  keep_best(record);
  counters_.history.push_back(record);
  ++counters_.epoch;
  counters_.epoch_step = counters_.correct = counters_.seen = 0;
  counters_.loss_sum = 0;
  for (TrainFinding& f :
       diagnose(counters_.history, loss_.kind == LossKind::kCrossEntropy ? loss_.classes : 0,
                options_.optimizer.lr))
    find(std::move(f));
  OCTET_TRY(save());
  scalar("train/loss", counters_.step, record.train_loss);
  scalar("train/accuracy", counters_.step, record.train_accuracy);
  if (!held_out_.empty() || validation_ != nullptr) {
    scalar("validation/loss", counters_.step, record.validation_loss);
    scalar("validation/accuracy", counters_.step, record.validation_accuracy);
  }
  if (options_.on_epoch) options_.on_epoch(record);
  return ok_status();
}

Status TrainSession::validate(EpochRecord& record) {
  const Dataset& data = validation_ != nullptr ? *validation_ : examples_;
  const int64_t count =
      validation_ != nullptr ? validation_->size() : static_cast<int64_t>(held_out_.size());
  if (count == 0) return ok_status();
  const at::NoGradGuard no_gradient;
  double loss_sum = 0;
  int64_t correct = 0;
  const int64_t step = std::max<int64_t>(options_.batch_size, 256);
  std::vector<int64_t> indices;
  for (int64_t begin = 0; begin < count; begin += step) {
    indices.clear();
    for (int64_t i = begin; i < std::min(count, begin + step); ++i)
      indices.push_back(validation_ != nullptr ? i : held_out_[static_cast<size_t>(i)]);
    TorchBatch batch = OCTET_TRY(read_batch(graph_, data, indices, program_->device()));
    if (!batch.labels.defined()) return error("{} has no labels", data.description());
    const std::vector<at::Tensor> outputs =
        OCTET_TRY(program_->forward(std::move(batch.inputs), RunState{}));
    OCTET_TRY(guarded([&]() -> Status {
      const LossValue value =
          compute_loss(loss_, outputs[0], batch.labels, options_.label_smoothing);
      loss_sum += value.loss.item().toDouble() * static_cast<double>(indices.size());
      correct += value.correct;
      return ok_status();
    }));
  }
  record.validation_loss = loss_sum / static_cast<double>(count);
  record.validation_accuracy = static_cast<double>(correct) / static_cast<double>(count);
  return ok_status();
}

void TrainSession::find(TrainFinding finding) {
  const bool told = std::any_of(counters_.findings.begin(), counters_.findings.end(),
                                [&](const TrainFinding& f) { return f.kind == finding.kind; });
  if (told) return;
  counters_.findings.push_back(finding);
  if (options_.on_finding) options_.on_finding(finding);
}

void TrainSession::scalar(std::string_view tag, int64_t step, double value) const {
  if (options_.on_scalar) options_.on_scalar(tag, step, value);
}

TrainProgress TrainSession::progress(double seconds) const {
  TrainProgress p;
  p.epoch = counters_.epoch + 1;
  p.epochs = options_.epochs;
  p.step = counters_.step;
  p.steps = steps_;
  p.epoch_step = counters_.epoch_step;
  p.epoch_steps = epoch_steps_;
  p.loss = counters_.loss_sum / static_cast<double>(std::max<int64_t>(1, counters_.seen));
  p.lr = last_lr_;
  p.samples_per_second = seconds > 0 ? static_cast<double>(epoch_seen_here_) / seconds : 0;
  return p;
}

} // namespace octet::train
