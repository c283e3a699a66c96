// SPDX-License-Identifier: Apache-2.0
// What steps measured: from the device to the counters of the run, in the order of the steps. The
// host adds up in f64, whatever the device.
#include <cmath>

#include "core/format.h"
#include "core/progress.h"
#include "train/guard.h"
#include "train/trainer/diagnosis.h"
#include "train/trainer/session.h"
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace octet::train {
namespace {

/// Slow steps are read one by one, so that what is shown of them is new.
constexpr std::chrono::seconds kLongestUnread{1};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

bool TrainSession::must_read() const {
  // Processes read together, and the first loss says whether a run makes sense.
  return peers_ != nullptr || std::ssize(unread_) >= place_.reads_every ||
         unread_.front().step == resumed_from_ ||
         std::chrono::steady_clock::now() - last_reading_ >= kLongestUnread;
}

Result<TrainSession::Outcome> TrainSession::read_numbers() {
  if (unread_.empty()) return Outcome::kDone;
  const std::vector<StepRecord> records = std::exchange(unread_, {});
  const size_t width = 2 * objective_.terms() + 1;
  const at::Tensor table = OCTET_TRY(guarded([&]() -> Result<at::Tensor> {
    std::vector<at::Tensor> rows;
    rows.reserve(records.size());
    for (const StepRecord& r : records)
      rows.push_back(r.numbers.defined()
                         ? r.numbers
                         : at::zeros({static_cast<int64_t>(width)}, at::kDouble)); // no batch
    return place_.read(at::stack(rows)).contiguous();
  }));
  last_reading_ = std::chrono::steady_clock::now();
  for (size_t k = 0; k < records.size(); ++k) {
    StepRecord record = records[k];
    const double* row = table.const_data_ptr<double>() + k * width;
    std::vector<double> numbers(row, row + width);
    if (peers_ != nullptr) {
      const bool cancelled = options_.cancel != nullptr && options_.cancel->cancelled();
      numbers.insert(numbers.end(), {record.examples, cancelled ? 1.0 : 0.0});
      numbers = OCTET_TRY(peers_->sum(numbers));
      record.examples = numbers[width];
      others_cancelled_ = numbers[width + 1] > 0;
    }
    const double loss = numbers[width - 1];
    if (!std::isfinite(loss)) {
      counters_.step = record.step;
      find(not_finite(counters_.epoch + 1, record.step + 1, loss, record.lr_before,
                      has_float_inputs()));
      return Outcome::kNotFinite;
    }
    account(record, numbers);
  }
  return Outcome::kDone;
}

void TrainSession::account(const StepRecord& record, const std::vector<double>& numbers) {
  const size_t terms = objective_.terms();
  last_loss_ = numbers[2 * terms];
  if (record.step == 0) counters_.first_loss = last_loss_;
  remember_loss(counters_.recent_losses, last_loss_);
  counters_.loss_sum += last_loss_ * record.examples;
  counters_.seen += static_cast<int64_t>(record.examples);
  epoch_seen_here_ += static_cast<int64_t>(record.examples);
  for (size_t i = 0; i < terms; ++i) {
    counters_.term_loss[i] += numbers[i];
    counters_.term_correct[i] += static_cast<int64_t>(numbers[terms + i]);
    counters_.term_labels[i] += static_cast<int64_t>(record.counts[i]);
  }
  scalar("train/lr", record.step + 1, record.lr);
  scalar("train/step_loss", record.step + 1, last_loss_);
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
