// SPDX-License-Identifier: Apache-2.0
// Making a plan: shapes, steps, places.
#include "runtime/plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/check.h"
#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/shared/elementwise.h"
#include "runtime/plan_set.h"

namespace octet::runtime {

int64_t Operand::count() const {
  int64_t n = 1;
  for (const int64_t d : shape)
    n *= d;
  return n;
}

Plan::Plan() = default;
Plan::~Plan() = default;

Result<Operand> Plan::operand(const Graph& g, ValueId id) const {
  if (!id.valid()) return Operand{};
  const TypeInfo& type = g.value(id).type;
  const std::optional<Shape> shape = type.static_shape();
  if (!shape || type.type == DType::kUndefined)
    return error(ErrorCode::kInternal, "the shape of \"{}\" ({}) is not known", g.value(id).name,
                 type.text());
  constexpr int64_t kMaxCount = int64_t{1} << 40;
  if (OCTET_TRY(element_count(*shape)) > kMaxCount)
    return error("\"{}\" ({}) would have more than 2^40 elements; use smaller shapes",
                 g.value(id).name, type.text());
  const auto known = known_.find(id.index);
  const Tensor* elements = known == known_.end() ? g.constant(id) : &known->second;
  return Operand{id.index, type.type, *shape, elements};
}

/// Keeps integer tensors whose elements are all known.
Status Plan::keep_known(const Graph& g, const Inferred& found, const KnownElements& told) {
  for (const auto& [id, dims] : found.elements) {
    const TypeInfo& type = g.value(id).type;
    const auto shape = type.static_shape();
    if (!shape || shape->size() > 1) continue;
    if (g.value(id).kind != ValueKind::kNodeOutput && told.count(id) == 0) continue;
    std::vector<int64_t> values;
    for (const Dim& d : dims)
      if (const auto v = d.maybe_value()) values.push_back(*v);
    const int64_t count = shape->empty() ? 1 : shape->front();
    if (values.size() != dims.size() || static_cast<int64_t>(values.size()) != count) continue;
    known_.emplace(id.index, OCTET_TRY(integer_tensor(type.type, *shape, values)).aligned());
  }
  return ok_status();
}

const Tensor* Plan::known_tensor(const Graph& shaped, ValueId id) const {
  const auto known = known_.find(id.index);
  return known == known_.end() ? shaped.constant(id) : &known->second;
}

/// Evaluates a node whose inputs all follow from shapes, where its outputs are small or nothing
/// else tells their shapes (the end of a Range of floats); true where it did tell one.
bool Plan::evaluate_known(Graph& shaped, const Node& node, KnownElements& told) {
  constexpr int64_t kMaxCount = int64_t{1} << 16;
  const OpDef* op = find_op(node.domain, node.op_type);
  if (!op || op->facts.value.random || !node.captures.empty() || has_bodies(node)) return false;
  bool is_told = true, all_known = true;
  for (const ValueId v : node.outputs) {
    if (!v.valid()) continue;
    const auto shape = shaped.value(v).type.static_shape();
    is_told = is_told && shape;
    all_known = all_known && known_.count(v.index) != 0;
    const auto count = element_count(shape.value_or(Shape{}));
    if (!count.ok() || *count > kMaxCount) return false;
  }
  EvalContext context{
      .node = node, .version = shaped.opset(node.domain), .inputs = {}, .run_body = {}, .seed = 0};
  for (const ValueId v : node.inputs) {
    const Tensor* known = v.valid() ? known_tensor(shaped, v) : nullptr;
    if (v.valid() && !known) return false;
    context.inputs.push_back(known ? known->aligned() : Tensor{});
  }
  if (all_known) return false;
  const auto made = op->eval.fn(context);
  if (!made.ok()) return false; // the run says what is wrong
  for (size_t k = 0; k < node.outputs.size() && k < made->size(); ++k) {
    const ValueId v = node.outputs[k];
    if (!v.valid() || (*made)[k].empty() || (*made)[k].type() == DType::kString) continue;
    const Tensor& t = known_.emplace(v.index, (*made)[k].aligned()).first->second;
    shaped.set_type(v, tensor_type(t.type(), t.shape()));
    if (auto elements = small_integers(t)) told.emplace(v, std::move(*elements));
  }
  return !is_told;
}

Result<Inferred>
Plan::find_known(Graph& shaped, const std::vector<NodeId>& nodes, const KnownElements& told) {
  KnownElements all = told;
  for (;;) {
    Inferred found = OCTET_TRY(infer(shaped, all));
    OCTET_TRY(keep_known(shaped, found, all));
    bool more = false;
    for (const NodeId id : nodes)
      more = evaluate_known(shaped, shaped.node(id), all) || more;
    if (!more) return found;
  }
}

Result<std::unique_ptr<Plan>> Plan::make(std::shared_ptr<const PreparedGraph> prepared,
                                         std::span<const Shape> shapes,
                                         Outputs outputs) {
  const Graph& g = prepared->graph;
  Start start{.shaped = g, .given = {}, .elements = {}, .nodes = prepared->order, .outputs = {}};
  for (size_t i = 0; i < shapes.size(); ++i)
    start.given.push_back({g.inputs()[i], g.value(g.inputs()[i]).type.type, shapes[i]});
  start.outputs.resize(g.outputs().size());
  std::iota(start.outputs.begin(), start.outputs.end(), size_t{0});
  return build(std::move(prepared), std::move(start), outputs);
}

Result<std::unique_ptr<Plan>>
Plan::build(std::shared_ptr<const PreparedGraph> prepared, Start start, Outputs outputs) {
  std::unique_ptr<Plan> plan(new Plan());
  plan->outputs_are_ = outputs;
  plan->prepared_ = std::move(prepared);
  plan->given_ = std::move(start.given);
  Graph shaped = std::move(start.shaped);
  for (const Given& given : plan->given_)
    shaped.set_type(given.id, tensor_type(given.type, given.shape));
  Inferred found = OCTET_TRY_WITH(plan->find_known(shaped, start.nodes, start.elements), "plan");
  OCTET_TRY_WITH(plan->bind(shaped, start.nodes), "plan");
  OCTET_TRY_WITH(plan->place(shaped, start.outputs), "plan");
  if (plan->open_.empty()) return plan;
  plan->told_before_ = std::move(start.elements);
  plan->elements_ = std::move(found.elements);
  plan->shaped_ = std::make_unique<Graph>(std::move(shaped));
  // Rests have rests: few are kept far down, or they would be more with every step.
  constexpr size_t kMostRests[] = {8, 2, 1};
  plan->depth_ = start.depth;
  plan->rests_ = std::make_unique<PlanSet>(kMostRests[std::min(start.depth, 2)]);
  return plan;
}

/// Of a node that can be bound: inputs, then captures; empty where one is not there yet.
std::vector<Operand> Plan::ready_operands(const Graph& shaped, const Node& node) const {
  std::vector<ValueId> ids = node.inputs;
  ids.insert(ids.end(), node.captures.begin(), node.captures.end());
  std::vector<Operand> out;
  for (const ValueId v : ids) {
    if (v.valid() && !available_[static_cast<size_t>(v.index)]) return {};
    auto one = operand(shaped, v);
    if (!one.ok()) return {};
    out.push_back(std::move(*one));
  }
  return out;
}

const Prepared& Plan::prepared_for(const Graph& shaped, const Node& node) {
  const auto index = static_cast<size_t>(node.id.index);
  const Prepared& prepared = *prepared_->nodes[index];
  if (!prepared_->by_reference[index]) return prepared;
  // With every shape at hand a kernel may take what it could not take before.
  const auto is_known = [&](ValueId v) { return known_.count(v.index) != 0; };
  Choice now = choose_kernel({shaped, node, prepared_->isa, is_known});
  if (!now.prepared) return prepared;
  chosen_.push_back(std::move(now.prepared));
  return *chosen_.back();
}

Status Plan::bind_node(const Graph& shaped, const Node& node) {
  const std::vector<Operand> in = ready_operands(shaped, node);
  std::vector<Operand> out;
  for (const ValueId v : node.outputs)
    out.push_back(OCTET_TRY(operand(shaped, v)));
  if (is_view(shaped, node)) {
    storage_[static_cast<size_t>(node.outputs[0].index)] =
        storage_[static_cast<size_t>(node.inputs[0].index)];
    return ok_status();
  }
  steps_.push_back(OCTET_TRY(prepared_for(shaped, node).bind(in, out)));
  step_nodes_.push_back(node.id);
  return ok_status();
}

Status Plan::bind(const Graph& shaped, const std::vector<NodeId>& nodes) {
  const auto bound = static_cast<size_t>(shaped.value_bound());
  storage_.resize(bound);
  std::iota(storage_.begin(), storage_.end(), 0);
  available_.assign(bound, false);
  for (const Given& given : given_)
    available_[static_cast<size_t>(given.id.index)] = true;
  for (size_t i = 0; i < bound; ++i)
    available_[i] = available_[i] || !prepared_->constants[i].empty();
  for (const auto& [id, tensor] : known_)
    available_[static_cast<size_t>(id)] = true;
  const std::vector<bool> needed = needed_values(
      shaped, prepared_->order, [&](ValueId v) { return known_.count(v.index) != 0; });
  for (const NodeId id : nodes) {
    const Node& node = shaped.node(id);
    if (!makes_needed(node, needed)) continue;
    const bool has_operands = !node.inputs.empty() || !node.captures.empty();
    const bool ready = !has_operands || !ready_operands(shaped, node).empty();
    const bool told = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) {
      return !v.valid() || (shaped.value(v).type.static_shape() &&
                            shaped.value(v).type.type != DType::kUndefined);
    });
    if (!ready || !told) {
      left_.push_back(id);
      if (ready) open_.push_back({id, evaluation_of(*prepared_, shaped, node)});
      continue;
    }
    OCTET_TRY_WITH(bind_node(shaped, node), fmt::format("node {}", label(shaped, node)));
    for (const ValueId v : node.outputs)
      if (v.valid()) available_[static_cast<size_t>(v.index)] = true;
  }
  return ok_status();
}

/// By value id: what the nodes and outputs read that are left.
std::vector<bool> Plan::needed_by_rest(const Graph& shaped) const {
  std::vector<bool> out(available_.size(), false);
  const auto need = [&](ValueId v) {
    if (v.valid() && available_[static_cast<size_t>(v.index)])
      out[static_cast<size_t>(v.index)] = true;
  };
  for (const NodeId id : left_) {
    for (const ValueId v : shaped.node(id).inputs)
      need(v);
    for (const ValueId v : shaped.node(id).captures)
      need(v);
  }
  return out;
}

/// By value id, of what steps write, views counted with what they look into; `first` is -1
/// elsewhere.
Result<std::vector<Lifetime>> Plan::lifetimes(const Graph& shaped) const {
  std::vector<Lifetime> lives(static_cast<size_t>(shaped.value_bound()), Lifetime{0, -1, -1});
  const auto read = [&](ValueId v, int now) {
    if (v.valid()) lives[static_cast<size_t>(storage_[static_cast<size_t>(v.index)])].last = now;
  };
  for (size_t s = 0; s < step_nodes_.size(); ++s) {
    const Node& node = shaped.node(step_nodes_[s]);
    const int now = static_cast<int>(s);
    for (const ValueId v : node.outputs) {
      if (!v.valid()) continue;
      const Operand o = OCTET_TRY(operand(shaped, v));
      const int64_t count = o.type == DType::kString ? 0 : o.count();
      lives[static_cast<size_t>(v.index)] =
          Lifetime{static_cast<size_t>(bytes_for(o.type, count)), now, now};
    }
    for (const ValueId v : node.inputs)
      read(v, now);
    for (const ValueId v : node.captures)
      read(v, now);
  }
  const std::vector<bool> handed_on = needed_by_rest(shaped);
  for (size_t i = 0; i < handed_on.size(); ++i)
    if (handed_on[i]) read(ValueId{static_cast<int32_t>(i)}, static_cast<int>(step_nodes_.size()));
  return lives;
}

/// Outputs that are kept live to the end: the caller looks at them until the next run. A value has
/// one place, so what is no step's own result, or is kept twice, is copied.
Status Plan::place(const Graph& shaped, const std::vector<size_t>& outputs) {
  const auto bound = static_cast<size_t>(shaped.value_bound());
  const int end = static_cast<int>(step_nodes_.size());
  const bool kept = outputs_are_ == Outputs::kKept;
  constexpr size_t kNowhere = static_cast<size_t>(-1);
  std::vector<Lifetime> lives = OCTET_TRY(lifetimes(shaped));
  std::vector<Lifetime> in_arena;
  std::vector<size_t> entry_of(bound, kNowhere); // of in_arena, by value
  std::vector<size_t> output_entries;
  for (const size_t index : outputs) {
    const ValueId v = shaped.outputs()[index];
    if (!available_[static_cast<size_t>(v.index)]) {
      left_outputs_.push_back(index);
      continue;
    }
    const Operand o = OCTET_TRY(operand(shaped, v));
    const auto root = static_cast<size_t>(storage_[static_cast<size_t>(v.index)]);
    const bool made = lives[root].first >= 0, placed = entry_of[root] != kNowhere;
    const bool is_copy = !made || (kept && placed);
    output_places_.push_back(
        {index, v.index, o.type, o.shape, 0, is_copy, made ? lives[root].first : -1});
    output_entries.push_back(is_copy || !placed ? in_arena.size() : entry_of[root]);
    if (is_copy) {
      // Copies that are handed over take turns before the first step.
      const int when = kept ? end : -1 - static_cast<int>(output_entries.size());
      const int64_t count = o.type == DType::kString ? 0 : o.count();
      in_arena.push_back({static_cast<size_t>(bytes_for(o.type, count)), when, when});
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
  for (size_t i = 0; i < bound; ++i) {
    if (entry_of[i] == kNowhere) continue;
    if (shaped.value(ValueId{static_cast<int32_t>(i)}).type.type == DType::kString)
      strings_.emplace(i, Tensor{});
    else
      placed_.push_back({i, arena.offsets[entry_of[i]]});
  }
  for (size_t k = 0; k < output_places_.size(); ++k)
    output_places_[k].offset_bytes = arena.offsets[output_entries[k]];
  as_made_.resize(output_places_.size());
  std::iota(as_made_.begin(), as_made_.end(), size_t{0});
  std::stable_sort(as_made_.begin(), as_made_.end(), [&](size_t x, size_t y) {
    return output_places_[x].made_by < output_places_[y].made_by;
  });
  for (const Given& given : given_) {
    given_views_.emplace_back();
    for (size_t i = 0; i < bound; ++i)
      if (storage_[i] == given.id.index) given_views_.back().push_back(static_cast<int32_t>(i));
  }
  const std::vector<bool> handed_on = needed_by_rest(shaped);
  for (size_t i = 0; i < bound; ++i) {
    if (!handed_on[i] || !prepared_->constants[i].empty()) continue;
    const Operand o = OCTET_TRY(operand(shaped, ValueId{static_cast<int32_t>(i)}));
    handed_on_.push_back({ValueId{static_cast<int32_t>(i)}, o.type, o.shape});
  }
  return ok_status();
}

Status Plan::attach(const std::shared_ptr<Buffer>& arena) {
  OCTET_CHECK(arena->bytes().size() >= arena_bytes_);
  arena_ = arena;
  slots_.assign(storage_.size(), nullptr);
  for (const Placed& p : placed_)
    slots_[p.value] = arena->writable() + p.offset_bytes;
  for (auto& [value, tensor] : strings_)
    slots_[value] = string_slot(tensor);
  shared_places_.assign(steps_.size(), nullptr);
  for (const Shared& s : shared_)
    shared_places_[s.step] = arena->writable() + s.offset_bytes;
  for (size_t i = 0; i < prepared_->constants.size(); ++i)
    if (!prepared_->constants[i].empty()) slots_[i] = slot_of(prepared_->constants[i]);
  for (const auto& [id, tensor] : known_)
    slots_[static_cast<size_t>(id)] = slot_of(tensor);
  for (size_t i = 0; i < storage_.size(); ++i)
    slots_[i] = slots_[static_cast<size_t>(storage_[i])];
  outputs_.clear();
  for (const Output& o : output_places_)
    outputs_.push_back(o.type == DType::kString
                           ? Tensor{}
                           : OCTET_TRY(Tensor::view(o.type, o.shape, arena, o.offset_bytes)));
  return ok_status();
}

bool Plan::fits(std::span<const Shape> shapes, Outputs outputs) const {
  return outputs == outputs_are_ &&
         std::equal(shapes.begin(), shapes.end(), given_.begin(), given_.end(),
                    [](const Shape& shape, const Given& given) { return shape == given.shape; });
}

bool Plan::fits(std::span<const Tensor> inputs, Outputs outputs) const {
  return outputs == outputs_are_ &&
         std::equal(inputs.begin(), inputs.end(), given_.begin(), given_.end(),
                    [](const Tensor& x, const Given& given) { return x.shape() == given.shape; });
}

} // namespace octet::runtime
