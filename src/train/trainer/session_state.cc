// SPDX-License-Identifier: Apache-2.0
// What a run tells, saves and returns.
#include <algorithm>

#include "core/format.h"
#include "train/guard.h"
#include "train/trainer/session.h"

namespace octet::train {

std::vector<ValueId> TrainSession::kept_values() const {
  std::vector<ValueId> out = program_->statistics();
  // Frozen scales say nothing of what the weights are by now.
  const std::vector<ValueId> followed = program_->followed_scales();
  if (options_.freeze_scales_after < 1) out.insert(out.end(), followed.begin(), followed.end());
  return out;
}

NamedTensors TrainSession::state() {
  NamedTensors out;
  const auto current = [&] {
    std::vector<std::pair<std::string, at::Tensor>> list;
    for (const Program::Trained& t : program_->trained())
      list.emplace_back(graph_.value(t.value).name, t.leaf.detach());
    for (const ValueId v : kept_values())
      list.emplace_back(graph_.value(v).name, program_->slot(v));
    return list;
  }();
  // The best model is a part of the state only where one is kept.
  const bool keeps = options_.keep_best && validation() != nullptr;
  if (keeps && best_.empty())
    for (const auto& [name, tensor] : current)
      best_.push_back(tensor.clone());
  for (size_t i = 0; i < current.size(); ++i) {
    out.emplace_back("model/" + current[i].first, current[i].second);
    if (keeps) out.emplace_back("best/" + current[i].first, best_[i]);
  }
  for (auto& [name, tensor] : optimizer_->state())
    out.emplace_back("optimizer/" + name, tensor);
  if (program_->fp8() != nullptr)
    for (auto& [name, tensor] : program_->fp8()->state())
      out.emplace_back("fp8/" + name, tensor);
  return out;
}

Status TrainSession::save() {
  if (options_.checkpoint.empty() || !is_writer()) return ok_status();
  return guarded([&] {
    const LossScale::Reading scale = loss_scale_.read();
    counters_.loss_scale = scale.factor;
    counters_.loss_scale_steps = scale.steps;
    counters_.skipped = scale.skipped;
    return save_checkpoint(options_.checkpoint, identity_, counters_, state());
  });
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

bool TrainSession::has_float_inputs() const {
  return std::any_of(graph_.inputs().begin(), graph_.inputs().end(),
                     [&](ValueId v) { return is_float(graph_.value(v).type.type); });
}

TrainProgress TrainSession::progress() const {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - epoch_start_).count() -
      evaluation_seconds_;
  TrainProgress p;
  p.epoch = counters_.epoch + 1;
  p.epochs = epochs_;
  p.step = counters_.step;
  p.steps = steps_;
  p.epoch_step = counters_.epoch_step;
  p.epoch_steps = epoch_steps_;
  p.loss = counters_.loss_sum / static_cast<double>(std::max<int64_t>(1, counters_.seen));
  p.lr = last_lr_;
  p.samples_per_second = seconds > 0 ? static_cast<double>(epoch_seen_here_) / seconds : 0;
  return p;
}

Result<TrainedModel> TrainSession::run() {
  Outcome outcome = Outcome::kDone;
  while (outcome == Outcome::kDone && !ended())
    outcome = OCTET_TRY(run_epoch());
  return finish(outcome);
}

Result<TrainedModel> TrainSession::finish(Outcome outcome) {
  const bool kept = options_.keep_best && counters_.best_step > 0;
  bool diverged = outcome == Outcome::kNotFinite;
  if (outcome == Outcome::kNotFinite && !kept)
    return Error("train: " + counters_.findings.back().message, ErrorCode::kRefused);
  if (outcome != Outcome::kCancelled && outcome != Outcome::kNotFinite)
    diverged = !OCTET_TRY_WITH(is_sound(), "train: the last state");
  return guarded([&]() -> Result<TrainedModel> {
    restore_best();
    follow_scales();
    TrainedModel model{std::move(graph_), {}};
    program_->store(model.graph);
    TrainReport& r = model.report;
    for (const Program::Trained& t : program_->trained())
      r.parameters.push_back(model.graph.value(t.value).name);
    r.groups = groups_.list;
    r.history = counters_.history;
    r.evaluations = counters_.evaluations;
    r.findings = counters_.findings;
    r.best_epoch = kept ? counters_.best_epoch : 0;
    r.best_step = kept ? counters_.best_step : 0;
    r.steps = counters_.step;
    r.skipped_steps = loss_scale_.read().skipped;
    r.resumed_from = resumed_from_;
    r.stopped_early = counters_.stopped;
    r.diverged = diverged;
    r.data_hash = identity_.data_hash;
    r.cancelled = outcome == Outcome::kCancelled;
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    return model;
  });
}

} // namespace octet::train
