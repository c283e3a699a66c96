// SPDX-License-Identifier: Apache-2.0
// Setting a run up.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/format.h"
#include "core/philox.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "ops/parameters.h"
#include "train/guard.h"
#include "train/trainer/session.h"
#include "train/trainer/trainer.h"
#include <ATen/core/grad_mode.h>

namespace octet::train {
namespace {

constexpr uint64_t kSplitEpoch = ~uint64_t{0}; ///< the permutation that splits off validation

/// FP8 would round once more what is rounded to codes already, and no file says so.
Status check_float_products(const Graph& graph) {
  for (const NodeId id : graph.nodes())
    if (graph.node(id).is("QuantizeLinear"))
      return error("node {}: FP8 training is of float graphs; train through Q/DQ in f32 or bf16",
                   label(graph, graph.node(id)));
  return ok_status();
}

} // namespace

Status TrainSession::split_examples() {
  const int64_t total = all_.size();
  if (total < 1) return error("{} holds no examples", all_.description());
  const double split = given_validation_ != nullptr ? 0 : options_.validation_split;
  const auto held = static_cast<int64_t>(std::floor(split * static_cast<double>(total)));
  std::vector<int64_t> kept = permutation(total, options_.seed, kSplitEpoch);
  std::vector<int64_t> out(kept.begin(), kept.begin() + held);
  kept.erase(kept.begin(), kept.begin() + held);
  std::sort(kept.begin(), kept.end());
  examples_ = std::make_unique<Subset>(all_, std::move(kept));
  if (held > 0) held_out_ = std::make_unique<Subset>(all_, std::move(out));

  step_examples_ = options_.batch_size * options_.accumulate * options_.world.size;
  const int64_t whole = examples_->size() / step_examples_;
  const bool partial = examples_->size() % step_examples_ != 0;
  epoch_steps_ = whole + (partial && (!options_.drop_last || whole == 0) ? 1 : 0);
  epochs_ = options_.epochs;
  steps_ = epoch_steps_ * epochs_;
  if (options_.max_steps > 0) {
    steps_ = options_.max_steps;
    epochs_ = (steps_ + epoch_steps_ - 1) / epoch_steps_;
  }
  return ok_status();
}

Status TrainSession::check_batches() const {
  const int64_t fixed = batch_for(graph_, all_, 1), batch = options_.batch_size;
  if (fixed != batch_for(graph_, all_, 2)) return ok_status();
  for (const Dataset* part : {static_cast<const Dataset*>(examples_.get()), validation()}) {
    if (part == nullptr || (part->size() <= batch && part->size() == fixed)) continue;
    if (batch != fixed)
      return error("the model takes batches of {0} alone; give --batch {0}, or a model with a free "
                   "first dimension",
                   fixed);
    const int64_t rest = part->size() % fixed, whole = part->size() / step_examples_;
    const bool trains = part == examples_.get();
    const bool ends_before = options_.max_steps > 0 && options_.max_steps <= whole;
    if (rest == 0 || (trains && (ends_before || (options_.drop_last && whole > 0)))) continue;
    return error("the model takes batches of {} alone, and the {} examples to {} are no multiple "
                 "of it; leave {} out, or take a model with a free first dimension",
                 fixed, part->size(), trains ? "train on" : "validate on", rest);
  }
  return ok_status();
}

Status TrainSession::build_programs(const std::vector<Parameter>& parameters) {
  ProgramOptions program;
  program.device = place_.device;
  program.wanted = objective_.wanted();
  program.weight_scales = options_.weight_scales;
  program.activation_scales = options_.activation_scales;
  program.rounds_biases = true;
  if (options_.precision == Precision::kFloat8) {
    OCTET_TRY(check_float_products(graph_));
    program.fp8 = options_.fp8;
  }
  for (const Parameter& p : parameters)
    program.parameters.push_back(p.value);
  program_ = OCTET_TRY(Program::create(graph_, program));
  if (program_->fp8() != nullptr && program_->fp8()->count() == 0)
    return error("no layer can be computed in FP8: the graph has no convolution and no product "
                 "with a weight in f32; train it in f32 or bf16");
  if (options_.teacher.graph != nullptr) {
    ProgramOptions teacher;
    teacher.device = place_.device;
    teacher.wanted = objective_.teacher_wanted();
    teacher_ = OCTET_TRY_WITH(Program::create(*options_.teacher.graph, teacher), "teacher");
  }
  std::vector<at::Tensor> leaves;
  for (const Program::Trained& t : program_->trained())
    leaves.push_back(t.leaf);
  groups_ =
      OCTET_TRY(parameter_groups(graph_, parameters, program_->trained(), options_.optimizer));
  return guarded([&]() -> Status {
    optimizer_ = std::make_unique<Optimizer>(options_.optimizer, leaves, groups_.decay);
    return ok_status();
  });
}

Status TrainSession::meet(int threads) {
  identity_ = run_identity(graph_, all_, given_validation_, options_, threads);
  if (options_.world.size == 1) return ok_status();
  peers_ = OCTET_TRY(Peers::join(options_.world, options_.cancel));
  return peers_->agree(identity_.text(), "another graph, other data or other options");
}

Status TrainSession::resume() {
  counters_.start_epoch(objective_.terms());
  std::error_code ignored;
  if (options_.resume && std::filesystem::exists(options_.checkpoint, ignored)) {
    counters_ = OCTET_TRY(
        guarded([&] { return load_checkpoint(options_.checkpoint, identity_, state()); }));
    resumed_from_ = counters_.step;
    loss_scale_.set({counters_.loss_scale, counters_.loss_scale_steps, counters_.skipped});
    if (!counters_.history.empty()) last_lr_ = counters_.history.back().lr;
  }
  if (peers_ == nullptr) return ok_status();
  return peers_->agree(std::to_string(resumed_from_),
                       "another checkpoint (it must be on a disk that all processes see)");
}

Status TrainSession::learn_guessing() {
  constexpr int64_t kSome = 256;
  const int64_t count = std::min(kSome, examples_->size());
  std::vector<int64_t> some;
  for (int64_t i = 0; i < count; ++i)
    some.push_back(i * examples_->size() / count);
  return objective_.learn_guessing(OCTET_TRY(examples_->batch_at(some, 0)));
}

Status TrainSession::start_scales() {
  const at::NoGradGuard no_gradient;
  const std::vector<int64_t> order = epoch_order();
  const auto first = static_cast<size_t>(std::min(step_examples_, std::ssize(order)));
  const auto own = own_batches(std::span(order).first(first), options_.batch_size, options_.world);
  if (!own.empty()) {
    TorchBatch batch = on_device(OCTET_TRY(read(*examples_, nullptr, own[0], 0)), place_.device);
    RunState run;
    run.starts_scales = true;
    OCTET_TRY_WITH(program_->forward(std::move(batch.inputs), run), "first scales");
  }
  if (peers_ == nullptr) return ok_status();
  // The mean of the processes that have a part of the batch.
  return guarded([&]() -> Status {
    std::vector<at::Tensor> scales;
    for (Program::Trained& t : program_->trained())
      if (t.is_scale) scales.push_back(own.empty() ? t.leaf.detach().zero_() : t.leaf.detach());
    const double parts = OCTET_TRY(peers_->sum(std::vector<double>{own.empty() ? 0.0 : 1.0}))[0];
    OCTET_TRY(peers_->sum(scales));
    for (at::Tensor& scale : scales)
      scale.div_(parts);
    return ok_status();
  });
}

Status TrainSession::prepare(int threads) {
  OCTET_TRY(absorb_constant_nodes(graph_));
  OCTET_TRY(infer_types(graph_));
  OCTET_TRY(split_examples());
  OCTET_TRY(check_batches());
  OCTET_TRY(meet(threads));
  const std::vector<Parameter> parameters =
      OCTET_TRY(trainable_parameters(graph_, options_.train, options_.freeze));
  if (parameters.empty())
    return error("the graph has no parameter to train: no float constant that is not frozen has a "
                 "trainable role");
  const int64_t first = 0;
  const Batch probe = OCTET_TRY(examples_->batch_at(std::span(&first, 1), 0));
  objective_ = OCTET_TRY(Objective::create(graph_, options_, probe));
  if (objective_.kind() == LossKind::kMeanSquare) OCTET_TRY(learn_guessing());
  const int64_t classes = objective_.classes();
  const bool of_labels =
      options_.losses.empty() || (options_.losses.size() == 1 && options_.losses[0].target.empty());
  if (of_labels && classes > 1 && std::ssize(all_.classes()) > classes)
    return error("{} has {} classes, the output \"{}\" tells {} apart; they are not made for each "
                 "other",
                 all_.description(), all_.classes().size(), objective_.name(0), classes);
  OCTET_TRY(build_programs(parameters));
  OCTET_TRY(resume());
  const bool starts = options_.scale_start == ScaleStart::kPublished && counters_.step == 0;
  return starts ? start_scales() : ok_status();
}

} // namespace octet::train
