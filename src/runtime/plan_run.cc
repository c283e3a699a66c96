// SPDX-License-Identifier: Apache-2.0
// Running a plan: its steps, what data tells about extents, and the rest.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/format.h"
#include "core/threads.h"
#include "graph/label.h"
#include "runtime/plan.h"
#include "runtime/plan_set.h"

namespace octet::runtime {

namespace {

/// Tells a clock, if there is one, how long something took.
class Timing {
 public:
  Timing(const StepClock& clock, NodeId node)
      : clock_(clock), node_(node), begin_(clock ? Clock::now() : Clock::time_point()) {}
  void done() const {
    if (clock_) clock_(node_, Clock::now() - begin_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const StepClock& clock_;
  NodeId node_;
  Clock::time_point begin_;
};

} // namespace

void Plan::feed(std::span<const std::byte* const> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const int32_t v : given_views_[i])
      slots_[static_cast<size_t>(v)] = const_cast<std::byte*>(inputs[i]);
}

Status Plan::run_step(size_t step, ParallelFor& parallel) {
  const auto where = [&] {
    return fmt::format("node {}",
                       label(prepared_->graph, prepared_->graph.node(step_nodes_[step])));
  };
  const Timing timing(clock_, step_nodes_[step]);
  const StepEnd end =
      OCTET_TRY_WITH(steps_[step]->run(slots_, shared_places_[step], parallel), where());
  timing.done();
  if (end == StepEnd::kDone) return ok_status();
  return Error("an output is not of the type and shape that were planned", ErrorCode::kInternal)
      .with(where());
}

/// One output, copied to its place where it lies elsewhere.
const Tensor& Plan::output(size_t index) {
  const Output& o = output_places_[index];
  Tensor& out = outputs_[index];
  std::byte* from = slots_[static_cast<size_t>(o.value)];
  if (o.type == DType::kString)
    out = string_at(from);
  else if (const size_t size_bytes = out.bytes().size(); o.is_copy && size_bytes > 0)
    std::memcpy(arena_->writable() + o.offset_bytes, from, size_bytes);
  return out;
}

Result<std::span<const Tensor>> Plan::run(std::span<const std::byte* const> inputs,
                                          ParallelFor& parallel) {
  if (!open_.empty()) {
    results_.resize(prepared_->graph.outputs().size());
    OCTET_TRY(run_into(inputs, parallel, results_));
    return std::span<const Tensor>(results_);
  }
  feed(inputs);
  for (size_t s = 0; s < steps_.size(); ++s)
    OCTET_TRY(run_step(s, parallel));
  for (size_t k = 0; k < outputs_.size(); ++k)
    output(k);
  return std::span<const Tensor>(outputs_);
}

Status Plan::run_into(std::span<const std::byte* const> inputs,
                      ParallelFor& parallel,
                      std::vector<Tensor>& results) {
  feed(inputs);
  for (size_t s = 0; s < steps_.size(); ++s)
    OCTET_TRY(run_step(s, parallel));
  for (size_t k = 0; k < outputs_.size(); ++k)
    results[output_places_[k].index] = output(k);
  if (open_.empty()) return ok_status();
  std::vector<const std::byte*> handed_on;
  Plan* next = OCTET_TRY(rest(parallel, handed_on));
  return next->run_into(handed_on, parallel, results);
}

Status Plan::stream(std::span<const std::byte* const> inputs,
                    ParallelFor& parallel,
                    const OutputTap& tap) {
  feed(inputs);
  size_t next = 0;
  for (int s = -1; s < static_cast<int>(steps_.size()); ++s) {
    if (s >= 0) OCTET_TRY(run_step(static_cast<size_t>(s), parallel));
    for (; next < as_made_.size() && output_places_[as_made_[next]].made_by == s; ++next)
      OCTET_TRY(tap(output_places_[as_made_[next]].index, output(as_made_[next])));
  }
  if (open_.empty()) return ok_status();
  std::vector<const std::byte*> handed_on;
  Plan* after = OCTET_TRY(rest(parallel, handed_on));
  return after->stream(handed_on, parallel, tap);
}

/// Elements of the node's small integer inputs that no shape told.
KnownElements Plan::readable(const Node& node) const {
  constexpr int64_t kMaxElements = 64;
  KnownElements out;
  for (const ValueId v : node.inputs) {
    if (!v.valid() || known_.count(v.index) != 0 || shaped_->constant(v)) continue;
    const auto operand = this->operand(*shaped_, v);
    if (!operand.ok() || operand->shape.size() > 1 || operand->count() > kMaxElements) continue;
    if (operand->type != DType::kInt64 && operand->type != DType::kInt32) continue;
    const auto tensor = tensor_at(*operand, slots_);
    if (!tensor.ok()) continue;
    const auto values = tensor->to_ints();
    if (values.ok()) out.emplace(v, std::vector<Dim>(values->begin(), values->end()));
  }
  return out;
}

/// Whether elements of a node's inputs tell the extents of its outputs: then it is planned like
/// others once they are read.
bool Plan::foretold(const Open& open, Told& told) const {
  const Node& node = shaped_->node(open.node);
  const KnownElements read = readable(node);
  if (read.empty()) return false;
  KnownElements all = elements_;
  for (const auto& [id, dims] : read)
    all.insert_or_assign(id, dims);
  const auto outputs = infer_outputs(*shaped_, open.node, all);
  if (!outputs.ok()) return false;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    if (k >= outputs->size() || !(*outputs)[k].type.static_shape() ||
        (*outputs)[k].type.type == DType::kUndefined)
      return false;
  }
  for (const auto& [id, dims] : read) {
    told.key.push_back(id.index);
    for (const Dim& d : dims)
      told.key.push_back(d.value());
    told.elements.insert_or_assign(id, dims);
  }
  return true;
}

Status Plan::evaluate(const Open& open, ParallelFor& parallel, Told& told) {
  const Node& node = shaped_->node(open.node);
  std::vector<Tensor> inputs, captures;
  for (const ValueId v : node.inputs)
    inputs.push_back(v.valid() ? OCTET_TRY(tensor_at(OCTET_TRY(operand(*shaped_, v)), slots_))
                               : Tensor{});
  for (const ValueId v : node.captures)
    captures.push_back(OCTET_TRY(tensor_at(OCTET_TRY(operand(*shaped_, v)), slots_)));
  const Timing timing(clock_, open.node);
  std::vector<Tensor> results =
      OCTET_TRY((*open.evaluation)(std::move(inputs), captures, parallel));
  timing.done();
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    if (k >= results.size() || results[k].empty())
      return error("gave no output {} (\"{}\")", k, shaped_->value(node.outputs[k]).name);
    Tensor one = results[k].aligned();
    told.key.push_back(-1 - static_cast<int64_t>(one.type()));
    told.key.push_back(one.rank());
    told.key.insert(told.key.end(), one.shape().begin(), one.shape().end());
    told.made.push_back({node.outputs[k], one.type(), one.shape()});
    told.tensors.push_back(std::move(one));
  }
  told.done.push_back(open.node);
  return ok_status();
}

Result<Plan*> Plan::rest(ParallelFor& parallel, std::vector<const std::byte*>& inputs) {
  told_ = Told{};
  for (const Open& open : open_) {
    const auto where = [&] {
      return fmt::format("node {}", label(*shaped_, shaped_->node(open.node)));
    };
    if (!foretold(open, told_)) OCTET_TRY_WITH(evaluate(open, parallel, told_), where());
  }
  Plan* found = rests_->find([&](const Plan& plan) { return plan.key_ == told_.key; });
  if (found == nullptr) {
    Start start{.shaped = *shaped_,
                .given = handed_on_,
                .elements = told_.elements,
                .nodes = {},
                .outputs = left_outputs_,
                .depth = depth_ + 1};
    start.elements.insert(told_before_.begin(), told_before_.end());
    start.given.insert(start.given.end(), told_.made.begin(), told_.made.end());
    for (const NodeId id : left_)
      if (std::find(told_.done.begin(), told_.done.end(), id) == told_.done.end())
        start.nodes.push_back(id);
    auto made = OCTET_TRY(build(prepared_, std::move(start), outputs_are_));
    made->key_ = told_.key;
    found = OCTET_TRY(rests_->add(std::move(made)));
  }
  found->set_clock(clock_);
  for (const Given& given : handed_on_)
    inputs.push_back(slots_[static_cast<size_t>(given.id.index)]);
  for (const Tensor& t : told_.tensors)
    inputs.push_back(slot_of(t));
  return found;
}

} // namespace octet::runtime
