// SPDX-License-Identifier: Apache-2.0
// What steps measured: from the device to the counters of the run, in the order of the steps. The
// host adds up in f64, whatever the device.
#include <cmath>
#include <numeric>
#include <optional>

#include "core/format.h"
#include "core/progress.h"
#include "graph/label.h"
#include "train/guard.h"
#include "train/trainer/diagnosis.h"
#include "train/trainer/session.h"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/any.h>
#include <ATen/ops/square.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace octet::train {
namespace {

/// Slow steps are read one by one, so that what is shown of them is new.
constexpr std::chrono::seconds kLongestUnread{1};

constexpr int64_t kStepsOfALoss = 8; ///< whose median counts as what a loss was

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
    counters_.term_correct[i] += numbers[terms + i];
    counters_.term_labels[i] += static_cast<int64_t>(record.counts[i]);
  }
  look_for_jumps(record.step + 1);
  scalar("train/lr", record.step + 1, record.lr);
  scalar("train/step_loss", record.step + 1, last_loss_);
}

RunFacts TrainSession::run_facts() const {
  const bool labels_alone = objective_.terms() == 1 && options_.teacher.graph == nullptr;
  const bool classes = labels_alone && objective_.kind() == LossKind::kCrossEntropy;
  const auto [mean, deviation] = objective_.number_labels();
  return {.classes = classes ? objective_.classes() : 0,
          .chance = labels_alone && !classes ? objective_.guessing() : 0,
          .max_lr = options_.optimizer.lr,
          .steps = counters_.step,
          .keeps_best = options_.keep_best,
          .float_inputs = has_float_inputs(),
          .label_mean = labels_alone ? mean : 0,
          .label_deviation = labels_alone ? deviation : 0,
          .ignorance = objective_.guessing()};
}

void TrainSession::look_for_jumps(int64_t step) {
  if (std::optional<TrainFinding> found =
          jumps(counters_.recent_losses, {counters_.lowest_loss, counters_.lowest_step},
                counters_.first_loss, counters_.epoch + 1, step, run_facts()))
    find(std::move(*found));
  const double now = typical_loss(counters_.recent_losses);
  if (step < kStepsOfALoss || (counters_.lowest_step > 0 && now >= counters_.lowest_loss)) return;
  counters_.lowest_loss = now;
  counters_.lowest_step = step;
}

StallSigns TrainSession::stall_signs() {
  StallSigns out;
  double all = 0, own = 0, squares = 0;
  for (const ValueId id : graph_.constants())
    if (is_float(graph_.value(id).constant.type()) && graph_.value(id).constant.count() > 1)
      all += static_cast<double>(graph_.value(id).constant.count());
  for (const Program::Trained& t : program_->trained()) {
    own += static_cast<double>(t.leaf.numel());
    squares += at::square(t.leaf.detach().to(at::kDouble)).sum().item<double>();
  }
  out.trained_share = all > 0 ? own / all : 1;
  // Adam moves each number by the rate at most, about.
  const double size = own > 0 ? std::sqrt(squares / own) : 0;
  if (options_.optimizer.kind != OptimizerKind::kSgd && size > 0)
    out.reach = options_.optimizer.lr * static_cast<double>(counters_.step) / size;
  if (const Result<std::vector<std::string>> dead = dead_relus(); dead.ok()) out.dead = *dead;
  return out;
}

Result<std::vector<std::string>> TrainSession::dead_relus() {
  Graph now = graph_;
  program_->store(now);
  ProgramOptions options;
  std::vector<NodeId> relus;
  for (const NodeId id : now.nodes())
    if (now.node(id).is("Relu")) {
      relus.push_back(id);
      options.wanted.push_back(now.node(id).outputs[0]);
    }
  std::vector<std::string> out;
  if (relus.empty()) return out;
  const std::unique_ptr<Program> program = OCTET_TRY(Program::create(now, options));
  std::vector<int64_t> some(static_cast<size_t>(std::min(options_.batch_size, examples_->size())));
  std::iota(some.begin(), some.end(), 0);
  TorchBatch batch = OCTET_TRY(read(*examples_, nullptr, some, 0));
  const at::NoGradGuard no_gradient;
  const std::vector<at::Tensor> values =
      OCTET_TRY(program->forward(std::move(batch.inputs), RunState{}));
  OCTET_TRY(guarded([&]() -> Status {
    for (size_t i = 0; i < values.size(); ++i)
      if (!values[i].any().item<bool>()) out.push_back(label(now, now.node(relus[i])));
    return ok_status();
  }));
  return out;
}

void TrainSession::end_epoch(const EvaluationRecord& evaluation) {
  EpochRecord record;
  record.epoch = counters_.epoch + 1;
  record.train_loss = counters_.loss_sum / static_cast<double>(counters_.seen);
  for (size_t i = 0; i < objective_.terms(); ++i)
    record.terms.push_back(objective_.record(i, counters_.term_loss[i], counters_.term_correct[i],
                                             counters_.term_labels[i]));
  record.train_accuracy = record.terms[0].accuracy;
  record.validation_loss = evaluation.loss;
  record.validation_accuracy = evaluation.accuracy;
  record.lr = last_lr_;
  record.seconds = seconds_since(epoch_start_);
  record.train_seconds = record.seconds - evaluation_seconds_;
  counters_.history.push_back(record);
  ++counters_.epoch;
  counters_.start_epoch(objective_.terms());
  RunFacts facts = run_facts();
  if (facts.stalled(record)) facts.stall = stall_signs();
  for (TrainFinding& f : diagnose(counters_.history, facts))
    find(std::move(f));
  if (loss_course().diverged()) find_divergence();
  report_lost_scales();
  scalar("train/loss", counters_.step, record.train_loss);
  scalar("train/accuracy", counters_.step, record.train_accuracy);
  if (options_.on_epoch) options_.on_epoch(record);
}

} // namespace octet::train
