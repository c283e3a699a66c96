// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/check.h"
#include "core/format.h"
#include "core/threads.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "ops/shared/elementwise.h"

namespace octet::runtime {
int64_t Operand::count() const {
  int64_t n = 1;
  for (const int64_t d : shape)
    n *= d;
  return n;
}

Result<Operand> Plan::operand(const Graph& g, ValueId id) const {
  if (!id.valid()) return Operand{};
  const TypeInfo& type = g.value(id).type;
  const std::optional<Shape> shape = type.static_shape();
  if (!shape || type.type == DType::kUndefined)
    return error(ErrorCode::kUnsupported,
                 "the shape of \"{}\" ({}) depends on data; run it with the reference executor",
                 g.value(id).name, type.text());
  constexpr int64_t kMaxCount = int64_t{1} << 40;
  if (OCTET_TRY(element_count(*shape)) > kMaxCount)
    return error("\"{}\" ({}) would have more than 2^40 elements; use smaller shapes",
                 g.value(id).name, type.text());
  const auto known = known_.find(id.index);
  const Tensor* elements = known == known_.end() ? g.constant(id) : &known->second;
  return Operand{id.index, type.type, *shape, elements};
}

/// Keeps computed shapes whose elements are all known.
Status Plan::find_known(const Graph& g, const std::map<ValueId, std::vector<Dim>>& elements) {
  for (const auto& [id, dims] : elements) {
    const TypeInfo& type = g.value(id).type;
    const auto shape = type.static_shape();
    if (!shape || shape->size() > 1 || g.value(id).kind != ValueKind::kNodeOutput) continue;
    std::vector<int64_t> values;
    for (const Dim& d : dims)
      if (const auto v = d.maybe_value()) values.push_back(*v);
    const int64_t count = shape->empty() ? 1 : shape->front();
    if (values.size() != dims.size() || static_cast<int64_t>(values.size()) != count) continue;
    known_.emplace(id.index, OCTET_TRY(integer_tensor(type.type, *shape, values)).aligned());
  }
  return ok_status();
}

std::vector<bool> needed_values(const Graph& g,
                                std::span<const NodeId> order,
                                const std::function<bool(ValueId)>& is_known) {
  std::vector<bool> needed(static_cast<size_t>(g.value_bound()), false);
  const auto need = [&](ValueId v) {
    if (v.valid() && !is_known(v)) needed[static_cast<size_t>(v.index)] = true;
  };
  for (const ValueId v : g.outputs())
    need(v);
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = g.node(order[i]);
    if (!makes_needed(node, needed)) continue;
    if (is_view(node)) {
      need(node.inputs[0]);
      continue;
    }
    for (const ValueId v : node.inputs)
      need(v);
    for (const ValueId v : node.captures)
      need(v);
  }
  return needed;
}

bool makes_needed(const Node& node, const std::vector<bool>& needed) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId v) { return v.valid() && needed[static_cast<size_t>(v.index)]; });
}

Result<std::unique_ptr<Plan>> Plan::make(std::shared_ptr<const PreparedGraph> prepared,
                                         std::span<const Shape> shapes,
                                         Outputs outputs) {
  std::unique_ptr<Plan> plan(new Plan());
  plan->outputs_are_ = outputs;
  plan->prepared_ = std::move(prepared);
  plan->shapes_.assign(shapes.begin(), shapes.end());
  Graph shaped = plan->prepared_->graph;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ValueId id = shaped.inputs()[i];
    shaped.set_type(id, tensor_type(shaped.value(id).type.type, shapes[i]));
  }
  // What was inferred for symbolic shapes stays as the declared type and is refined.
  const Inferred found = OCTET_TRY_WITH(infer(shaped), "plan");
  OCTET_TRY_WITH(plan->find_known(shaped, found.elements), "plan");
  OCTET_TRY_WITH(plan->bind(shaped), "plan");
  OCTET_TRY_WITH(plan->place(shaped), "plan");
  return plan;
}

Status Plan::bind(const Graph& shaped) {
  storage_.resize(static_cast<size_t>(shaped.value_bound()));
  for (size_t i = 0; i < storage_.size(); ++i)
    storage_[i] = static_cast<int32_t>(i);
  const std::vector<bool> needed = needed_values(
      shaped, prepared_->order, [&](ValueId v) { return known_.count(v.index) != 0; });
  for (const NodeId id : prepared_->order) {
    const Node& node = shaped.node(id);
    if (!makes_needed(node, needed)) continue;
    if (is_view(node)) {
      OCTET_TRY_WITH(operand(shaped, node.outputs[0]), fmt::format("node {}", label(shaped, node)));
      storage_[static_cast<size_t>(node.outputs[0].index)] =
          storage_[static_cast<size_t>(node.inputs[0].index)];
      continue;
    }
    std::vector<Operand> in, out;
    for (const ValueId v : node.inputs)
      in.push_back(OCTET_TRY_WITH(operand(shaped, v), fmt::format("node {}", label(shaped, node))));
    for (const ValueId v : node.outputs)
      out.push_back(
          OCTET_TRY_WITH(operand(shaped, v), fmt::format("node {}", label(shaped, node))));
    steps_.push_back(OCTET_TRY_WITH(prepared_->nodes[static_cast<size_t>(id.index)]->bind(in, out),
                                    fmt::format("node {}", label(shaped, node))));
    step_nodes_.push_back(id);
  }
  return ok_status();
}

/// By value id, of what steps write, views counted with what they look into; `first` is -1
/// elsewhere.
Result<std::vector<Lifetime>> Plan::lifetimes(const Graph& shaped) const {
  std::vector<Lifetime> lives(static_cast<size_t>(shaped.value_bound()), Lifetime{0, -1, -1});
  for (size_t s = 0; s < step_nodes_.size(); ++s) {
    const Node& node = shaped.node(step_nodes_[s]);
    const int now = static_cast<int>(s);
    for (const ValueId v : node.outputs) {
      if (!v.valid()) continue;
      const Operand o = OCTET_TRY(operand(shaped, v));
      lives[static_cast<size_t>(v.index)] =
          Lifetime{static_cast<size_t>(bytes_for(o.type, o.count())), now, now};
    }
    for (const ValueId v : node.inputs)
      if (v.valid()) lives[static_cast<size_t>(storage_[static_cast<size_t>(v.index)])].last = now;
  }
  return lives;
}

/// Outputs that are kept live to the end: the caller looks at them until the next run. A value has
/// one place, so what is no step's own result, or is kept twice, is copied.
Status Plan::place(const Graph& shaped) {
  const auto bound = static_cast<size_t>(shaped.value_bound());
  const int end = static_cast<int>(step_nodes_.size());
  const bool kept = outputs_are_ == Outputs::kKept;
  constexpr size_t kNowhere = static_cast<size_t>(-1);
  std::vector<Lifetime> lives = OCTET_TRY(lifetimes(shaped));
  std::vector<Lifetime> in_arena;
  std::vector<size_t> entry_of(bound, kNowhere); // of in_arena, by value
  std::vector<size_t> output_entries;
  for (const ValueId v : shaped.outputs()) {
    const Operand o = OCTET_TRY(operand(shaped, v));
    const auto root = static_cast<size_t>(storage_[static_cast<size_t>(v.index)]);
    const bool made = lives[root].first >= 0, placed = entry_of[root] != kNowhere;
    const bool is_copy = !made || (kept && placed);
    output_places_.push_back({v.index, o.type, o.shape, 0, is_copy, made ? lives[root].first : -1});
    output_entries.push_back(is_copy || !placed ? in_arena.size() : entry_of[root]);
    if (is_copy) {
      // Copies that are handed over take turns before the first step.
      const int when = kept ? end : -1 - static_cast<int>(output_entries.size());
      in_arena.push_back({static_cast<size_t>(bytes_for(o.type, o.count())), when, when});
    } else if (!placed) {
      if (kept) lives[root].last = end;
      entry_of[root] = in_arena.size();
      in_arena.push_back(lives[root]);
    }
  }
  for (size_t i = 0; i < bound; ++i) {
    if (lives[i].first < 0 || entry_of[i] != kNowhere) continue;
    entry_of[i] = in_arena.size();
    in_arena.push_back(lives[i]);
  }
  const size_t first_shared = in_arena.size();
  for (size_t s = 0; s < steps_.size(); ++s) {
    const size_t size_bytes = steps_[s]->shared_bytes();
    if (size_bytes == 0) continue;
    const int now = static_cast<int>(s);
    in_arena.push_back({size_bytes, now, now});
    shared_.push_back({s, 0});
  }
  const ArenaPlan arena = plan_arena(in_arena);
  // Kernels may read up to a cache line past the end of a tensor.
  arena_bytes_ = arena.size_bytes + 64;
  for (size_t i = 0; i < shared_.size(); ++i)
    shared_[i].offset_bytes = arena.offsets[first_shared + i];
  for (size_t i = 0; i < bound; ++i)
    if (entry_of[i] != kNowhere) placed_.push_back({i, arena.offsets[entry_of[i]]});
  for (size_t k = 0; k < output_places_.size(); ++k)
    output_places_[k].offset_bytes = arena.offsets[output_entries[k]];
  as_made_.resize(output_places_.size());
  std::iota(as_made_.begin(), as_made_.end(), size_t{0});
  std::stable_sort(as_made_.begin(), as_made_.end(), [&](size_t x, size_t y) {
    return output_places_[x].made_by < output_places_[y].made_by;
  });
  for (const ValueId v : shaped.inputs()) {
    input_views_.emplace_back();
    for (size_t i = 0; i < bound; ++i)
      if (storage_[i] == v.index) input_views_.back().push_back(static_cast<int32_t>(i));
  }
  return ok_status();
}

Status Plan::attach(const std::shared_ptr<Buffer>& arena) {
  OCTET_CHECK(arena->bytes().size() >= arena_bytes_);
  arena_ = arena;
  slots_.assign(storage_.size(), nullptr);
  for (const Placed& p : placed_)
    slots_[p.value] = arena->writable() + p.offset_bytes;
  shared_places_.assign(steps_.size(), nullptr);
  for (const Shared& s : shared_)
    shared_places_[s.step] = arena->writable() + s.offset_bytes;
  for (size_t i = 0; i < prepared_->constants.size(); ++i)
    if (!prepared_->constants[i].empty())
      slots_[i] = const_cast<std::byte*>(prepared_->constants[i].bytes().data());
  for (const auto& [id, tensor] : known_)
    slots_[static_cast<size_t>(id)] = const_cast<std::byte*>(tensor.bytes().data());
  for (size_t i = 0; i < storage_.size(); ++i)
    slots_[i] = slots_[static_cast<size_t>(storage_[i])];
  outputs_.clear();
  for (const Output& o : output_places_)
    outputs_.push_back(OCTET_TRY(Tensor::view(o.type, o.shape, arena, o.offset_bytes)));
  return ok_status();
}

bool Plan::fits(std::span<const Shape> shapes, Outputs outputs) const {
  return outputs == outputs_are_ &&
         std::equal(shapes.begin(), shapes.end(), shapes_.begin(), shapes_.end());
}

bool Plan::fits(std::span<const Tensor> inputs, Outputs outputs) const {
  return outputs == outputs_are_ &&
         std::equal(inputs.begin(), inputs.end(), shapes_.begin(), shapes_.end(),
                    [](const Tensor& x, const Shape& shape) { return x.shape() == shape; });
}

void Plan::feed(std::span<const std::byte* const> inputs) {
  met_other_shape_ = false;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const int32_t v : input_views_[i])
      slots_[static_cast<size_t>(v)] = const_cast<std::byte*>(inputs[i]);
}

Status Plan::run_step(size_t step, ParallelFor& parallel) {
  const auto where = [&] {
    return fmt::format("node {}",
                       label(prepared_->graph, prepared_->graph.node(step_nodes_[step])));
  };
  const StepEnd end =
      OCTET_TRY_WITH(steps_[step]->run(slots_, shared_places_[step], parallel), where());
  if (end == StepEnd::kDone) return ok_status();
  met_other_shape_ = true;
  return Error("an output is not of the type and shape that were planned", ErrorCode::kInternal)
      .with(where());
}

/// One output, copied to its place where it lies elsewhere.
const Tensor& Plan::output(size_t index) {
  const Output& o = output_places_[index];
  const Tensor& out = outputs_[index];
  const size_t size_bytes = out.bytes().size();
  if (o.is_copy && size_bytes > 0)
    std::memcpy(arena_->writable() + o.offset_bytes, slots_[static_cast<size_t>(o.value)],
                size_bytes);
  return out;
}

Result<std::span<const Tensor>> Plan::run(std::span<const std::byte* const> inputs,
                                          ParallelFor& parallel) {
  feed(inputs);
  for (size_t s = 0; s < steps_.size(); ++s)
    OCTET_TRY(run_step(s, parallel));
  for (size_t k = 0; k < outputs_.size(); ++k)
    output(k);
  return std::span<const Tensor>(outputs_);
}

Status Plan::stream(std::span<const std::byte* const> inputs,
                    ParallelFor& parallel,
                    const OutputTap& tap) {
  feed(inputs);
  size_t next = 0;
  for (int s = -1; s < static_cast<int>(steps_.size()); ++s) {
    if (s >= 0) OCTET_TRY(run_step(static_cast<size_t>(s), parallel));
    for (; next < as_made_.size() && output_places_[as_made_[next]].made_by == s; ++next)
      OCTET_TRY(tap(as_made_[next], output(as_made_[next])));
  }
  return ok_status();
}

} // namespace octet::runtime
