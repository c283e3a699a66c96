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

Status TrainSession::evaluate_batch(TorchBatch batch, Totals& totals) {
  std::vector<at::Tensor> outputs;
  {
    const AutocastScope precision(program_->device(), options_.precision);
    outputs = OCTET_TRY(program_->forward(std::move(batch.inputs), RunState{}));
  }
  return guarded([&]() -> Status {
    const std::vector<double>& counts = batch.labels.counts;
    const at::Tensor more = objective_.measure(outputs, {}, batch.labels, counts).numbers();
    totals.numbers = totals.numbers.defined() ? totals.numbers + more : more;
    totals.counts.resize(counts.size(), 0.0);
    for (size_t i = 0; i < counts.size(); ++i)
      totals.counts[i] += counts[i];
    return ok_status();
  });
}

Result<std::vector<double>> TrainSession::read_totals(const Totals& totals) const {
  const size_t terms = objective_.terms();
  std::vector<double> out(3 * terms, 0.0);
  if (!totals.numbers.defined()) return out;
  return guarded([&]() -> Result<std::vector<double>> {
    const at::Tensor numbers = place_.read(totals.numbers).contiguous();
    const double* number = numbers.const_data_ptr<double>();
    for (size_t i = 0; i < terms; ++i) {
      out[3 * i] += number[i];
      out[3 * i + 1] += number[terms + i];
      out[3 * i + 2] += totals.counts[i];
    }
    return out;
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
  const auto batches = own_batches(order, options_.batch_size, options_.world);
  BatchReader reader(std::ssize(batches), [&](int64_t k) {
    return read(data, nullptr, batches[static_cast<size_t>(k)], 0);
  });
  Totals here;
  for (size_t i = 0; i < batches.size(); ++i)
    OCTET_TRY(evaluate_batch(on_device(OCTET_TRY(reader.next()), place_.device), here));
  std::vector<double> totals = OCTET_TRY(read_totals(here));
  if (peers_ != nullptr) totals = OCTET_TRY(peers_->sum(totals));

  EvaluationRecord record;
  record.step = counters_.step;
  record.epoch = counters_.epoch + 1;
  for (size_t i = 0; i < objective_.terms(); ++i) {
    record.terms.push_back(objective_.record(i, totals[3 * i], totals[3 * i + 1],
                                             static_cast<int64_t>(totals[3 * i + 2])));
    record.loss += objective_.weight(i) * record.terms.back().loss;
  }
  record.accuracy = record.terms[0].accuracy;
  keep_best(record);
  counters_.evaluations.push_back(record);
  if (std::optional<TrainFinding> found = gets_worse(counters_.evaluations, run_facts()))
    find(std::move(*found));
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
  Totals here;
  OCTET_TRY(evaluate_batch(on_device(OCTET_TRY(read(*examples_, nullptr, some, 0)), place_.device),
                           here));
  const std::vector<double> totals = OCTET_TRY(read_totals(here));
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
