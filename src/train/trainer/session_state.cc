// SPDX-License-Identifier: Apache-2.0
// Setting a run up, keeping its best model, saving and finishing it.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/format.h"
#include "core/philox.h"
#include "ops/infer.h"
#include "ops/parameters.h"
#include "train/guard.h"
#include "train/trainer/session.h"
#include "train/trainer/trainer.h"
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

namespace octet::train {
namespace {

constexpr uint64_t kSplitEpoch = ~uint64_t{0}; ///< the permutation that splits off validation

} // namespace

Status TrainSession::prepare(int threads) {
  OCTET_TRY(absorb_constant_nodes(graph_));
  OCTET_TRY(infer_types(graph_));
  identity_ = run_identity(graph_, examples_, validation_, options_, threads);
  const int64_t total = examples_.size();
  if (total < 1) return error("{} holds no examples", examples_.description());
  const auto held = validation_ != nullptr
                        ? 0
                        : static_cast<int64_t>(
                              std::floor(options_.validation_split * static_cast<double>(total)));
  kept_ = permutation(total, options_.seed, kSplitEpoch);
  held_out_.assign(kept_.begin(), kept_.begin() + held);
  kept_.erase(kept_.begin(), kept_.begin() + held);
  std::sort(kept_.begin(), kept_.end());
  const auto batches = static_cast<int64_t>(kept_.size()) / options_.batch_size;
  const bool partial = static_cast<int64_t>(kept_.size()) % options_.batch_size != 0;
  epoch_steps_ = batches + (partial && (!options_.drop_last || batches == 0) ? 1 : 0);
  steps_ = epoch_steps_ * options_.epochs;

  const std::vector<Parameter> parameters =
      OCTET_TRY(trainable_parameters(graph_, options_.train, options_.freeze));
  if (parameters.empty())
    return error("the graph has no parameter to train: no float constant that is not frozen has a "
                 "trainable role");
  const int64_t first = 0;
  const Batch probe = OCTET_TRY(examples_.batch(std::span(&first, 1)));
  loss_ = OCTET_TRY(plan_loss(graph_, options_.loss, !probe.labels.empty()));
  ProgramOptions program;
  program.device = options_.device;
  program.wanted = {loss_.value};
  program.weight_scales = options_.weight_scales;
  program.activation_scales = options_.activation_scales;
  for (const Parameter& p : parameters)
    program.parameters.push_back(p.value);
  program_ = OCTET_TRY(Program::create(graph_, program));
  std::vector<at::Tensor> leaves;
  for (const Program::Trained& t : program_->trained())
    leaves.push_back(t.leaf);
  OCTET_TRY(guarded([&]() -> Status {
    optimizer_ = std::make_unique<Optimizer>(options_.optimizer, leaves);
    return ok_status();
  }));
  std::error_code ignored;
  if (options_.resume && std::filesystem::exists(options_.checkpoint, ignored)) {
    counters_ = OCTET_TRY(
        guarded([&] { return load_checkpoint(options_.checkpoint, identity_, state()); }));
    resumed_from_ = counters_.step;
    if (!counters_.history.empty()) last_lr_ = counters_.history.back().lr;
  }
  return ok_status();
}

NamedTensors TrainSession::state() {
  NamedTensors out;
  const auto current = [&] {
    std::vector<std::pair<std::string, at::Tensor>> list;
    for (const Program::Trained& t : program_->trained())
      list.emplace_back(graph_.value(t.value).name, t.leaf.detach());
    for (const ValueId v : program_->statistics())
      list.emplace_back(graph_.value(v).name, program_->slot(v));
    return list;
  }();
  if (best_.empty())
    for (const auto& [name, tensor] : current)
      best_.push_back(tensor.clone());
  for (size_t i = 0; i < current.size(); ++i) {
    out.emplace_back("model/" + current[i].first, current[i].second);
    out.emplace_back("best/" + current[i].first, best_[i]);
  }
  for (auto& [name, tensor] : optimizer_->state())
    out.emplace_back("optimizer/" + name, tensor);
  return out;
}

Status TrainSession::save() {
  if (options_.checkpoint.empty()) return ok_status();
  return guarded(
      [&] { return save_checkpoint(options_.checkpoint, identity_, counters_, state()); });
}

void TrainSession::keep_best(const EpochRecord& record) {
  const bool validated = validation_ != nullptr || !held_out_.empty();
  if (!options_.keep_best || !validated) return;
  const double score =
      loss_.kind == LossKind::kCrossEntropy ? record.validation_accuracy : -record.validation_loss;
  const bool better =
      counters_.best_epoch == 0 || score > counters_.best_score ||
      (score == counters_.best_score && record.validation_loss < counters_.best_loss);
  if (!better || !std::isfinite(record.validation_loss)) return;
  counters_.best_epoch = record.epoch;
  counters_.best_score = score;
  counters_.best_loss = record.validation_loss;
  best_.clear();
  state(); // copies the model into best_
}

void TrainSession::restore_best() {
  if (counters_.best_epoch == 0) return;
  const at::NoGradGuard no_gradient;
  size_t next = 0;
  for (Program::Trained& t : program_->trained())
    t.leaf.copy_(best_[next++]);
  for (const ValueId v : program_->statistics())
    program_->slot(v) = best_[next++];
}

Result<TrainedModel> TrainSession::run() {
  Outcome outcome = Outcome::kDone;
  while (outcome == Outcome::kDone && counters_.epoch < options_.epochs)
    outcome = OCTET_TRY(run_epoch());
  return finish(outcome);
}

Result<TrainedModel> TrainSession::finish(Outcome outcome) {
  if (outcome == Outcome::kNotFinite && counters_.best_epoch == 0)
    return Error("train: " + counters_.findings.back().message, ErrorCode::kRefused);
  return guarded([&]() -> Result<TrainedModel> {
    restore_best();
    program_->follow_weight_scales();
    TrainedModel model{std::move(graph_), {}};
    program_->store(model.graph);
    TrainReport& r = model.report;
    for (const Program::Trained& t : program_->trained())
      r.parameters.push_back(model.graph.value(t.value).name);
    r.history = counters_.history;
    r.findings = counters_.findings;
    r.best_epoch = counters_.best_epoch;
    r.steps = counters_.step;
    r.resumed_from = resumed_from_;
    r.cancelled = outcome == Outcome::kCancelled;
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    return model;
  });
}

} // namespace octet::train
