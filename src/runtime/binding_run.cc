// SPDX-License-Identifier: Apache-2.0
// Running a binding: its steps, what data tells about extents, and the rest.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/check.h"
#include "core/format.h"
#include "core/released.h"
#include "core/threads.h"
#include "graph/label.h"
#include "runtime/plan.h"

namespace octet::runtime {

namespace {

/// Where elements that tell extents were others so often on end (a Slice at the counter of a loop),
/// small results are made before the rest is looked for: it then depends on their shapes alone, and
/// is there from the second run on.
constexpr int kMostChanges = 3;
constexpr size_t kMostEvaluatedBytes = size_t{1} << 14;

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

void Binding::feed(std::span<const std::byte* const> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const int32_t v : given_views_[i])
      slots_[static_cast<size_t>(v)] = const_cast<std::byte*>(inputs[i]);
}

Status Binding::run_step(size_t step, ParallelFor& parallel) {
  const auto where = [&] {
    return fmt::format(
        "node {}", label(plan_->prepared().graph, plan_->prepared().graph.node(steps_[step].node)));
  };
  const Timing timing(plan_->clock(), steps_[step].node);
  const StepEnd end = OCTET_TRY_WITH(
      steps_[step].step->run(slots_, arena_->writable() + shared_[step], parallel), where());
  timing.done();
  if (end == StepEnd::kDone) return ok_status();
  return Error("an output is not of the type and shape that were planned", ErrorCode::kInternal)
      .with(where());
}

/// One output, copied to its place where it lies elsewhere.
const Tensor& Binding::output(size_t index) {
  const Output& o = output_places_[index];
  Tensor& out = outputs_[index];
  std::byte* from = slots_[static_cast<size_t>(o.value)];
  if (o.type == DType::kString)
    out = string_at(from);
  else if (const size_t size_bytes = out.bytes().size(); o.is_copy && size_bytes > 0)
    std::memcpy(arena_->writable() + o.offset_bytes, from, size_bytes);
  return out;
}

Result<std::span<const Tensor>> Binding::run(std::span<const std::byte* const> inputs,
                                             ParallelFor& parallel) {
  if (!open_.empty()) {
    results_.resize(plan_->prepared().graph.outputs().size());
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

Status Binding::run_into(std::span<const std::byte* const> inputs,
                         ParallelFor& parallel,
                         std::vector<Tensor>& results) {
  feed(inputs);
  for (size_t s = 0; s < steps_.size(); ++s)
    OCTET_TRY(run_step(s, parallel));
  for (size_t k = 0; k < outputs_.size(); ++k)
    results[output_places_[k].index] = output(k);
  if (open_.empty()) return ok_status();
  std::vector<const std::byte*> handed_on;
  Binding* next = OCTET_TRY(rest(parallel, handed_on));
  return next->run_into(handed_on, parallel, results);
}

Status Binding::stream(std::span<const std::byte* const> inputs,
                       ParallelFor& parallel,
                       const StoredTap& tap) {
  feed(inputs);
  size_t next = 0;
  for (int s = -1; s < static_cast<int>(steps_.size()); ++s) {
    if (s >= 0) OCTET_TRY(run_step(static_cast<size_t>(s), parallel));
    for (; next < as_made_.size() && output_places_[as_made_[next]].made_by == s; ++next) {
      const Output& o = output_places_[as_made_[next]];
      OCTET_TRY(tap(o.index, output(as_made_[next]), o.axes));
    }
  }
  if (open_.empty()) return ok_status();
  std::vector<const std::byte*> handed_on;
  Binding* after = OCTET_TRY(rest(parallel, handed_on));
  return after->stream(handed_on, parallel, tap);
}

/// Elements of the node's small integer inputs that no shape told.
KnownElements Binding::readable(const Shapes& shapes, const Node& node) const {
  constexpr int64_t kMaxElements = 64;
  KnownElements out;
  for (const ValueId v : node.inputs) {
    if (!v.valid() || shapes.known(v) != nullptr || shapes.graph().constant(v)) continue;
    const auto operand = shapes.operand(v);
    if (!operand.ok() || operand->shape.size() > 1 || operand->count() > kMaxElements) continue;
    if (operand->type != DType::kInt64 && operand->type != DType::kInt32) continue;
    const auto tensor = tensor_at(*operand, slots_);
    if (!tensor.ok()) continue;
    const auto values = tensor->to_ints();
    if (values.ok()) out.emplace(v, std::vector<Dim>(values->begin(), values->end()));
  }
  return out;
}

/// Whether elements of a node's inputs tell the extents of its outputs: then it is bound like
/// others once they are read.
bool Binding::foretold(const Shapes& shapes, Open& open, Told& told) const {
  const Node& node = shapes.graph().node(open.node);
  const KnownElements read = readable(shapes, node);
  if (read.empty()) return false;
  std::vector<int64_t> key;
  for (const auto& [id, dims] : read) {
    key.push_back(id.index);
    for (const Dim& d : dims)
      key.push_back(d.value());
  }
  KnownElements all = shapes.elements();
  for (const auto& [id, dims] : read)
    all.insert_or_assign(id, dims);
  const auto outputs = infer_outputs(shapes.graph(), open.node, all);
  if (!outputs.ok()) return false;
  size_t size_bytes = 0;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    const auto shape = k < outputs->size() ? (*outputs)[k].type.static_shape() : std::nullopt;
    if (!shape || (*outputs)[k].type.type == DType::kUndefined) return false;
    const DType type = (*outputs)[k].type.type;
    const auto count = element_count(*shape);
    const bool counts = count.ok() && type != DType::kString;
    size_bytes += counts ? static_cast<size_t>(bytes_for(type, *count)) : kMostEvaluatedBytes;
  }
  told.key.insert(told.key.end(), key.begin(), key.end());
  for (const auto& [id, dims] : read)
    told.elements.insert_or_assign(id, dims);
  const bool counts = key != open.read && size_bytes < kMostEvaluatedBytes;
  open.changes = counts ? open.changes + 1 : 0;
  open.read = std::move(key);
  return true;
}

Status Binding::evaluate(const Shapes& shapes, Open& open, ParallelFor& parallel, Told& told) {
  const Node& node = shapes.graph().node(open.node);
  std::vector<Tensor> inputs, captures;
  for (const ValueId v : node.inputs)
    inputs.push_back(v.valid() ? OCTET_TRY(tensor_at(OCTET_TRY(shapes.operand(v)), slots_))
                               : Tensor{});
  for (const ValueId v : node.captures)
    captures.push_back(OCTET_TRY(tensor_at(OCTET_TRY(shapes.operand(v)), slots_)));
  if (std::any_of(inputs.begin(), inputs.end(), is_released))
    return error(ErrorCode::kInternal, "its weights were packed for a kernel that does not run it");
  const Timing timing(plan_->clock(), open.node);
  std::vector<Tensor> results =
      OCTET_TRY((*open.evaluation)(std::move(inputs), captures, parallel));
  timing.done();
  size_t size_bytes = 0;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    if (k >= results.size() || results[k].empty())
      return error("gave no output {} (\"{}\")", k, shapes.graph().value(node.outputs[k]).name);
    Tensor one = results[k].aligned();
    told.key.push_back(-1 - static_cast<int64_t>(one.type()));
    told.key.push_back(one.rank());
    told.key.insert(told.key.end(), one.shape().begin(), one.shape().end());
    told.made.push_back({node.outputs[k], one.type(), one.shape()});
    size_bytes += one.bytes().size();
    told.tensors.push_back(std::move(one));
  }
  if (size_bytes >= kMostEvaluatedBytes) open.changes = 0;
  told.done.push_back(open.node);
  return ok_status();
}

Start Binding::start_of_rest() const {
  Start start{.typed = typed_,
              .given = handed_on_,
              .elements = told_.elements,
              .nodes = {},
              .outputs = left_outputs_};
  start.elements.insert(elements_.begin(), elements_.end());
  start.typed.insert(start.typed.end(), told_.made.begin(), told_.made.end());
  for (const Given& made : told_.made)
    start.given.push_back(made.id);
  for (const NodeId id : left_)
    if (std::find(told_.done.begin(), told_.done.end(), id) == told_.done.end())
      start.nodes.push_back(id);
  return start;
}

Result<Binding*> Binding::rest(ParallelFor& parallel, std::vector<const std::byte*>& inputs) {
  const Shapes& shapes = *OCTET_TRY(plan_->shapes_for(typed_, elements_));
  told_ = Told{};
  told_.key = key_;
  for (Open& open : open_) {
    const auto where = [&] {
      return fmt::format("node {}", label(shapes.graph(), shapes.graph().node(open.node)));
    };
    if (open.changes > kMostChanges || !foretold(shapes, open, told_))
      OCTET_TRY_WITH(evaluate(shapes, open, parallel, told_), where());
  }
  Binding* found = OCTET_TRY(plan_->rest(told_.key, outputs_are_, [&] { return start_of_rest(); }));
  for (const ValueId id : handed_on_)
    inputs.push_back(slots_[static_cast<size_t>(id.index)]);
  for (const Tensor& t : told_.tensors)
    inputs.push_back(slot_of(t));
  return found;
}

void Binding::describe(std::vector<PlannedNode>& planned) const {
  const PreparedGraph& prepared = plan_->prepared();
  const auto place_of = [&](NodeId node) {
    return prepared.planned_at[static_cast<size_t>(node.index)];
  };
  const auto enter_bodies = [&](size_t place, const std::vector<PlannedNode>& inside) {
    for (size_t k = 0; k < inside.size(); ++k) {
      planned[place + 1 + k].kernel = inside[k].kernel;
      planned[place + 1 + k].why = inside[k].why;
    }
  };
  for (const NodeId node : evaluated_) {
    planned[place_of(node)].kernel = "shape";
    planned[place_of(node)].why.clear();
  }
  for (const BoundStep& step : steps_) {
    const size_t place = place_of(step.node);
    if (step.chosen) {
      planned[place].kernel = step.chosen->name;
      planned[place].why.clear();
    }
    enter_bodies(place, step.step->inside());
  }
  for (const Open& open : open_)
    enter_bodies(place_of(open.node), open.evaluation->inside());
}

Status Binding::attach(const std::shared_ptr<Buffer>& arena) {
  OCTET_CHECK(arena->bytes().size() >= arena_bytes_);
  arena_ = arena;
  slots_.assign(storage_.size(), nullptr);
  for (const Placed& p : placed_)
    slots_[p.value] = arena->writable() + p.offset_bytes;
  for (auto& [value, tensor] : strings_)
    slots_[value] = string_slot(tensor);
  const std::vector<Tensor>& constants = plan_->prepared().constants;
  for (size_t i = 0; i < constants.size(); ++i)
    if (!constants[i].empty()) slots_[i] = slot_of(constants[i]);
  for (const auto& [value, tensor] : known_)
    slots_[value] = slot_of(tensor);
  for (size_t i = 0; i < storage_.size(); ++i)
    slots_[i] = slots_[static_cast<size_t>(storage_[i])];
  outputs_.clear();
  for (const Output& o : output_places_)
    outputs_.push_back(o.type == DType::kString
                           ? Tensor{}
                           : OCTET_TRY(Tensor::view(o.type, o.shape, arena, o.offset_bytes)));
  return ok_status();
}

void Binding::detach() {
  outputs_.clear();
  arena_ = nullptr;
}

} // namespace octet::runtime
