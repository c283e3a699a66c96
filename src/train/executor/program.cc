// SPDX-License-Identifier: Apache-2.0
// Running a program, and writing what it changed back into a graph.
#include "train/executor/program.h"

#include <algorithm>
#include <utility>

#include "core/format.h"
#include "graph/label.h"
#include "train/convert.h"
#include "train/executor/rounded_bias.h"
#include "train/guard.h"
#include <ATen/core/grad_mode.h>

namespace octet::train {

Status absorb_constant_nodes(Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!node.is("Constant") || node.outputs.size() != 1) continue;
    const ValueId out = node.outputs[0];
    const octet::Tensor* tensor = graph.constant(out);
    if (tensor == nullptr) continue;
    octet::Tensor held = *tensor;
    graph.remove_node(id);
    graph.set_constant(out, std::move(held));
  }
  return ok_status();
}

/// Leaves wanted values in their slots; transient ones are cleared after an error.
Status Program::run_steps(std::vector<at::Tensor> inputs,
                          const RunState& run,
                          const std::function<Status(const Step&)>& after_step) {
  const std::vector<ValueId>& names = graph_.inputs();
  if (inputs.size() != names.size())
    return error("the graph has {} inputs and {} tensors were given", names.size(), inputs.size());
  size_t at_step = 0;
  try {
    for (size_t i = 0; i < names.size(); ++i)
      slot(names[i]) = inputs[i].device() == device_ ? inputs[i] : inputs[i].to(device_);
    inputs.clear();
    for (; at_step < steps_.size(); ++at_step) {
      const Step& step = steps_[at_step];
      Call call(slots_, step.inputs, step.outputs, step.node.index, run, step.fp8.get());
      step.apply(call);
      for (const int gone : step.release)
        slots_[static_cast<size_t>(gone)].reset();
      if (after_step) OCTET_TRY(after_step(step));
    }
    return ok_status();
  } catch (...) {
    Error error = current_error();
    if (at_step == steps_.size()) return error;
    return std::move(error).with(
        fmt::format("node {}", label(graph_, graph_.node(steps_[at_step].node))));
  }
}

void Program::clear_transient() {
  for (const int gone : transient_)
    slots_[static_cast<size_t>(gone)].reset();
}

Result<std::vector<at::Tensor>> Program::forward(std::vector<at::Tensor> inputs,
                                                 const RunState& run) {
  const Status ran = run_steps(std::move(inputs), run, {});
  std::vector<at::Tensor> out;
  for (const ValueId v : wanted_)
    out.push_back(slot(v));
  clear_transient();
  if (!ran.ok()) return ran.error();
  return out;
}

Status Program::stream(std::vector<at::Tensor> inputs, const RunState& run, const WantedTap& tap) {
  const auto hand_over = [&](const std::vector<size_t>& made) -> Status {
    for (const size_t i : made)
      OCTET_TRY(tap(i, slot(wanted_[i])));
    return ok_status();
  };
  // Wanted inputs and constants are there with the first step; a run without one has them alone.
  bool started = false;
  const auto after_step = [&](const Step& step) -> Status {
    if (!std::exchange(started, true)) OCTET_TRY(hand_over(wanted_at_start_));
    OCTET_TRY(hand_over(step.makes));
    for (const int gone : step.release_wanted)
      slots_[static_cast<size_t>(gone)].reset();
    return ok_status();
  };
  Status ran = run_steps(std::move(inputs), run, after_step);
  if (ran.ok() && !started) ran = hand_over(wanted_at_start_);
  clear_transient();
  return ran;
}

void Program::follow_weight_scales() {
  for (const Followed& f : followed_)
    slot(f.scale) = largest_scale(slot(f.weight), slot(f.scale), *f.spec);
}

std::vector<ValueId> Program::followed_scales() const {
  std::vector<ValueId> out;
  for (const Followed& f : followed_)
    out.push_back(f.scale);
  return out;
}

void Program::store(Graph& graph) const {
  const auto put = [&](ValueId value, const at::Tensor& tensor) {
    graph.set_constant(value, from_torch(tensor, graph.value(value).constant.type()));
  };
  const auto held = [&](ValueId value) { return slots_[static_cast<size_t>(value.index)]; };
  const at::NoGradGuard no_gradient;
  for (const Trained& t : trained_) {
    const auto rounded = std::find_if(rounded_.begin(), rounded_.end(),
                                      [&](const RoundedBias& b) { return b.bias == t.value; });
    put(t.value, rounded == rounded_.end() ? t.leaf
                                           : round_to_sum(t.leaf, held(rounded->x_scale),
                                                          held(rounded->w_scale), rounded->factor));
    for (const ValueId copy : t.copies)
      put(copy, t.leaf);
  }
  for (const Followed& f : followed_) {
    put(f.scale, held(f.scale));
    for (const ValueId copy : f.copies)
      put(copy, held(f.scale));
  }
  for (const ValueId v : statistics_)
    put(v, held(v));
}

} // namespace octet::train
