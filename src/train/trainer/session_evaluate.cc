// SPDX-License-Identifier: Apache-2.0
// Validation, the best model, and the patience that a run has.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "train/guard.h"
#include "train/trainer/session.h"
#include <ATen/core/grad_mode.h>

namespace octet::train {

const Dataset* TrainSession::validation() const {
  return given_validation_ != nullptr ? given_validation_ : held_out_.get();
}

Status TrainSession::evaluate_batch(const Dataset& data,
                                    std::span<const int64_t> indices,
                                    std::vector<double>& totals) {
  TorchBatch batch =
      OCTET_TRY(read_batch(graph_, nullptr, objective_, data, indices, 0, program_->device()));
  std::vector<at::Tensor> outputs;
  {
    const AutocastScope precision(program_->device(), options_.precision);
    outputs = OCTET_TRY(program_->forward(std::move(batch.inputs), RunState{}));
  }
  return guarded([&]() -> Status {
    const std::vector<double> counts = objective_.counts(batch.targets);
    const Sums sums = objective_.measure(outputs, {}, batch.targets, counts);
    for (size_t i = 0; i < counts.size(); ++i) {
      totals[3 * i] += sums.loss[i];
      totals[3 * i + 1] += static_cast<double>(sums.correct[i]);
      totals[3 * i + 2] += counts[i];
    }
    return ok_status();
  });
}

Result<EvaluationRecord> TrainSession::evaluate() {
  const auto start = std::chrono::steady_clock::now();
  follow_scales();
  const at::NoGradGuard no_gradient;
  const Dataset& data = *validation();
  std::vector<int64_t> order(static_cast<size_t>(data.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return data.length(a) < data.length(b); });
  std::vector<double> totals(3 * objective_.terms(), 0.0);
  for (const std::span<const int64_t> own : own_batches(order, options_.batch_size, options_.world))
    OCTET_TRY(evaluate_batch(data, own, totals));
  if (peers_ != nullptr) totals = OCTET_TRY(peers_->sum(totals));

  EvaluationRecord record;
  record.step = counters_.step;
  record.epoch = counters_.epoch + 1;
  for (size_t i = 0; i < objective_.terms(); ++i) {
    const double labels = std::max(1.0, totals[3 * i + 2]);
    record.terms.push_back({objective_.name(i), totals[3 * i] / labels, totals[3 * i + 1] / labels,
                            static_cast<int64_t>(totals[3 * i + 2])});
    record.loss += objective_.weight(i) * record.terms.back().loss;
  }
  record.accuracy = record.terms[0].accuracy;
  keep_best(record);
  counters_.evaluations.push_back(record);
  scalar("validation/loss", counters_.step, record.loss);
  scalar("validation/accuracy", counters_.step, record.accuracy);
  for (size_t i = 0; record.terms.size() > 1 && i < record.terms.size(); ++i) {
    scalar("validation/loss/" + record.terms[i].output, counters_.step, record.terms[i].loss);
    scalar("validation/accuracy/" + record.terms[i].output, counters_.step,
           record.terms[i].accuracy);
  }
  evaluation_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options_.on_evaluation) options_.on_evaluation(record);
  return record;
}

LossCourse TrainSession::loss_course() const {
  return {counters_.first_loss, typical_loss(counters_.recent_losses), objective_.guessing()};
}

void TrainSession::find_divergence() {
  find(diverged(counters_.epoch, counters_.step, loss_course(), options_.optimizer.lr,
                has_float_inputs()));
}

Result<bool> TrainSession::is_sound() {
  // Running statistics of a few steps may be far off without the model being lost.
  constexpr double kHopeless = 25;
  LossCourse course = loss_course();
  const auto lost = [&] {
    // What was said on the way is of another step.
    std::erase_if(counters_.findings,
                  [](const TrainFinding& f) { return f.kind == TrainFinding::Kind::kDiverged; });
    counters_.findings.push_back(diverged(counters_.epoch, counters_.step, course,
                                          options_.optimizer.lr, has_float_inputs()));
    return false;
  };
  if (course.diverged()) return lost();
  follow_scales();
  const at::NoGradGuard no_gradient;
  std::vector<int64_t> some(static_cast<size_t>(std::min(options_.batch_size, examples_->size())));
  std::iota(some.begin(), some.end(), 0);
  std::vector<double> totals(3 * objective_.terms(), 0.0);
  OCTET_TRY(evaluate_batch(*examples_, some, totals));
  course.now = 0;
  for (size_t i = 0; i < objective_.terms(); ++i)
    course.now += objective_.weight(i) * totals[3 * i] / std::max(1.0, totals[3 * i + 2]);
  return course.now <= kHopeless * course.limit() ? true : lost();
}

/// The accuracy decides where there is one loss, which is a cross-entropy; else the loss does. A
/// state on the way to nowhere is none to keep, however many examples it happens to get right.
void TrainSession::keep_best(EvaluationRecord& record) {
  const bool by_accuracy = objective_.kind() == LossKind::kCrossEntropy && objective_.terms() == 1;
  const double score = by_accuracy ? record.accuracy : -record.loss;
  record.best = record.loss <= loss_course().limit() &&
                (counters_.best_step == 0 || score > counters_.best_score ||
                 (score == counters_.best_score && record.loss < counters_.best_loss));
  counters_.since_best = record.best ? 0 : counters_.since_best + 1;
  counters_.stopped = options_.patience > 0 && counters_.since_best >= options_.patience;
  if (!record.best) return;
  counters_.best_epoch = record.epoch;
  counters_.best_step = record.step;
  counters_.best_score = score;
  counters_.best_loss = record.loss;
  if (!options_.keep_best) return;
  best_.clear();
  state(); // copies the model into best_
}

void TrainSession::restore_best() {
  if (counters_.best_step == 0 || !options_.keep_best) return;
  const at::NoGradGuard no_gradient;
  size_t next = 0;
  for (Program::Trained& t : program_->trained())
    t.leaf.copy_(best_[next++]);
  for (const ValueId v : kept_values())
    program_->slot(v) = best_[next++];
}

} // namespace octet::train
