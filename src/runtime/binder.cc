// SPDX-License-Identifier: Apache-2.0
#include "runtime/binder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/format.h"
#include "graph/label.h"

namespace octet::runtime {

int64_t Operand::count() const {
  int64_t n = 1;
  for (const int64_t d : shape)
    n *= d;
  return n;
}

/// What stands for an output: itself, or what a Transpose would make it of.
struct HandedOver {
  ValueId value;
  std::vector<int64_t> axes; ///< as StoredTap has them
};

struct Binder::Work {
  std::unique_ptr<Binding> binding;
  std::vector<bool> available;     ///< by value id: there before the first step, or made by one
  std::vector<HandedOver> outputs; ///< for each of the graph
  std::vector<bool> is_left_out;   ///< by node id: the Transpose of an output that goes as it lies
};

Binder::Binder(std::shared_ptr<const PreparedGraph> prepared)
    : prepared_(std::move(prepared)), shapes_(prepared_), last_(prepared_->nodes.size()) {}

Status Binder::follow(std::span<const Given> typed, const KnownElements& told) {
  return shapes_.follow(typed, told);
}

Result<std::unique_ptr<Binding>>
Binder::bind(Plan& plan, const Start& start, std::span<const int64_t> key, Outputs outputs) {
  OCTET_TRY(shapes_.follow(start.typed, start.elements));
  Work work{std::unique_ptr<Binding>(new Binding(plan, outputs)), {}, {}, {}};
  work.binding->key_.assign(key.begin(), key.end());
  choose_outputs(work);
  OCTET_TRY(list_steps(work, start));
  OCTET_TRY(place(work, start));
  if (!work.binding->open_.empty()) {
    work.binding->typed_ = start.typed;
    work.binding->elements_ = start.elements;
  }
  return std::move(work.binding);
}

void Binder::choose_outputs(Work& work) const {
  const Graph& g = shapes_.graph();
  work.is_left_out.assign(static_cast<size_t>(g.node_bound()), false);
  work.outputs.reserve(g.outputs().size());
  for (const ValueId v : g.outputs())
    work.outputs.push_back({v, {}});
  if (work.binding->outputs_are_ != Outputs::kHandedOverAsStored) return;
  std::vector<bool> read(static_cast<size_t>(g.value_bound()), false);
  for (const NodeId id : g.nodes())
    for (const std::vector<ValueId>* ids : {&g.node(id).inputs, &g.node(id).captures})
      for (const ValueId v : *ids)
        if (v.valid()) read[static_cast<size_t>(v.index)] = true;
  for (HandedOver& output : work.outputs) {
    const Node* maker = g.producer(output.value);
    if (maker == nullptr || !maker->is("Transpose") || shapes_.known(output.value) != nullptr ||
        read[static_cast<size_t>(output.value.index)])
      continue;
    const std::vector<int64_t> perm = maker->attr_ints("perm");
    if (perm.empty()) continue; // its axes are reversed, as many as there are
    output.axes.resize(perm.size());
    for (size_t i = 0; i < perm.size(); ++i)
      output.axes[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    output.value = maker->input(0);
    work.is_left_out[static_cast<size_t>(maker->id.index)] = true;
  }
}

/// Of a node that can be bound: inputs, then captures; empty where one is not there yet.
std::vector<Operand> Binder::ready_operands(const Work& work, const Node& node) const {
  std::vector<Operand> out;
  out.reserve(node.inputs.size() + node.captures.size());
  for (const std::vector<ValueId>* ids : {&node.inputs, &node.captures})
    for (const ValueId v : *ids) {
      if (v.valid() && !work.available[static_cast<size_t>(v.index)]) return {};
      auto one = shapes_.operand(v);
      if (!one.ok()) return {};
      out.push_back(*std::move(one));
    }
  return out;
}

/// With every shape at hand a kernel may take what it could not take before; null where none does.
std::shared_ptr<const ChosenKernel> Binder::chosen_for(const Node& node) const {
  if (!prepared_->by_reference[static_cast<size_t>(node.id.index)]) return nullptr;
  const auto is_known = [&](ValueId v) { return shapes_.known(v) != nullptr; };
  Choice choice = choose_kernel({shapes_.graph(), node, prepared_->isa, is_known});
  if (!choice.prepared) return nullptr;
  return std::make_shared<ChosenKernel>(
      ChosenKernel{std::move(choice.prepared), std::move(choice.name)});
}

/// Whether nothing that a node reads or makes has changed since.
bool Binder::is_as_before(const Node& node, int64_t bound_at) const {
  const auto same = [&](ValueId v) { return !v.valid() || shapes_.changed_at(v) <= bound_at; };
  return std::all_of(node.inputs.begin(), node.inputs.end(), same) &&
         std::all_of(node.captures.begin(), node.captures.end(), same) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), same);
}

/// Whether the last step of a node can run in this binding as it is.
bool Binder::is_kept(const Work& work, const Node& node) const {
  const Last& last = last_[static_cast<size_t>(node.id.index)];
  if (last.bound.step == nullptr || !is_as_before(node, last.bound_at)) return false;
  const auto available = [&](ValueId v) {
    return !v.valid() || work.available[static_cast<size_t>(v.index)];
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), available) &&
         std::all_of(node.captures.begin(), node.captures.end(), available);
}

void Binder::make_available(Work& work, const Node& node) {
  for (const ValueId v : node.outputs)
    if (v.valid()) work.available[static_cast<size_t>(v.index)] = true;
}

Status Binder::bind_node(Work& work, const Node& node, std::span<const Operand> in) {
  Last& last = last_[static_cast<size_t>(node.id.index)];
  std::vector<Operand> out;
  out.reserve(node.outputs.size());
  for (const ValueId v : node.outputs)
    out.push_back(OCTET_TRY(shapes_.operand(v)));
  std::shared_ptr<const ChosenKernel> chosen = chosen_for(node);
  const Prepared* kernel =
      chosen ? chosen->prepared.get() : prepared_->nodes[static_cast<size_t>(node.id.index)].get();
  std::unique_ptr<Step> step;
  if (last.bound.step && last.kernel == kernel) step = last.bound.step->again(in, out);
  if (!step) step = OCTET_TRY(kernel->bind(in, out));
  last = {{node.id, std::move(chosen), std::move(step)}, kernel, shapes_.now()};
  work.binding->steps_.push_back(last.bound);
  return ok_status();
}

Evaluation* Binder::evaluation_of(const Node& node) {
  std::unique_ptr<Evaluation>& kept = evaluations_[node.id.index];
  if (!kept) kept = runtime::evaluation_of(*prepared_, shapes_.graph(), node);
  return kept.get();
}

Status Binder::list_steps(Work& work, const Start& start) {
  const Graph& g = shapes_.graph();
  Binding& to = *work.binding;
  const auto bound = static_cast<size_t>(g.value_bound());
  to.storage_.resize(bound);
  std::iota(to.storage_.begin(), to.storage_.end(), 0);
  std::vector<bool> is_known(bound, false), read(bound, false);
  work.available.assign(bound, false);
  for (const ValueId v : start.given)
    work.available[static_cast<size_t>(v.index)] = true;
  for (size_t i = 0; i < bound; ++i) {
    is_known[i] = shapes_.known(ValueId{static_cast<int32_t>(i)}) != nullptr;
    work.available[i] = work.available[i] || is_known[i] || !prepared_->constants[i].empty();
  }
  const std::vector<bool> needed = needed_values(
      g, prepared_->order, [&](ValueId v) { return is_known[static_cast<size_t>(v.index)]; });
  for (const NodeId id : start.nodes) {
    const Node& node = g.node(id);
    if (work.is_left_out[static_cast<size_t>(id.index)]) continue;
    if (!makes_needed(node, needed)) {
      to.evaluated_.push_back(id);
      continue;
    }
    for (const std::vector<ValueId>* ids : {&node.inputs, &node.captures})
      for (const ValueId v : *ids)
        if (v.valid()) read[static_cast<size_t>(v.index)] = true;
    if (is_kept(work, node)) {
      to.steps_.push_back(last_[static_cast<size_t>(id.index)].bound);
      make_available(work, node);
      continue;
    }
    const std::vector<Operand> in = ready_operands(work, node);
    const bool ready = !in.empty() || (node.inputs.empty() && node.captures.empty());
    const bool told = std::all_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId v) { return !v.valid() || shapes_.is_told(v); });
    if (!ready || !told) {
      to.left_.push_back(id);
      if (ready) to.open_.push_back({id, evaluation_of(node)});
      continue;
    }
    if (prepared_->nodes[static_cast<size_t>(id.index)] == nullptr) { // a view
      static_cast<void>(
          OCTET_TRY_WITH(shapes_.operand(node.outputs[0]), fmt::format("node {}", label(g, node))));
      to.storage_[static_cast<size_t>(node.outputs[0].index)] =
          to.storage_[static_cast<size_t>(node.inputs[0].index)];
    } else {
      OCTET_TRY_WITH(bind_node(work, node, in), fmt::format("node {}", label(g, node)));
    }
    make_available(work, node);
  }
  for (const HandedOver& output : work.outputs)
    read[static_cast<size_t>(output.value.index)] = true;
  for (size_t i = 0; i < bound; ++i)
    if (read[i] && is_known[i])
      to.known_.emplace_back(i, *shapes_.known(ValueId{static_cast<int32_t>(i)}));
  return ok_status();
}

/// By value id: what the nodes and outputs read that are left.
std::vector<bool> Binder::needed_by_rest(const Work& work) const {
  std::vector<bool> out(work.available.size(), false);
  const auto need = [&](ValueId v) {
    if (v.valid() && work.available[static_cast<size_t>(v.index)])
      out[static_cast<size_t>(v.index)] = true;
  };
  for (const NodeId id : work.binding->left_) {
    for (const ValueId v : shapes_.graph().node(id).inputs)
      need(v);
    for (const ValueId v : shapes_.graph().node(id).captures)
      need(v);
  }
  return out;
}

/// By value id, of what steps write, views counted with what they look into; `first` is -1
/// elsewhere.
std::vector<Lifetime> Binder::lifetimes(const Work& work) const {
  const Binding& of = *work.binding;
  std::vector<Lifetime> lives(of.storage_.size(), Lifetime{0, -1, -1});
  const auto read = [&](ValueId v, int now) {
    if (v.valid()) lives[static_cast<size_t>(of.storage_[static_cast<size_t>(v.index)])].last = now;
  };
  const int end = static_cast<int>(of.steps_.size());
  for (int s = 0; s < end; ++s) {
    const Node& node = shapes_.graph().node(of.steps_[static_cast<size_t>(s)].node);
    for (const ValueId v : node.outputs) {
      if (!v.valid()) continue;
      lives[static_cast<size_t>(v.index)] = Lifetime{shapes_.size_bytes(v), s, s};
    }
    for (const ValueId v : node.inputs)
      read(v, s);
    for (const ValueId v : node.captures)
      read(v, s);
  }
  const std::vector<bool> handed_on = needed_by_rest(work);
  for (size_t i = 0; i < handed_on.size(); ++i)
    if (handed_on[i]) read(ValueId{static_cast<int32_t>(i)}, end);
  return lives;
}

/// Places for values that live so long: where they were before if they still fit there.
const ArenaPlan& Binder::laid_out(std::vector<Lifetime> values) {
  constexpr size_t kMostLayouts = 8;
  const auto found = std::find_if(layouts_.begin(), layouts_.end(),
                                  [&](const auto& layout) { return layout->fits(values); });
  if (found != layouts_.end()) {
    std::rotate(layouts_.begin(), found, found + 1);
    if (layouts_.front()->hold(values)) ++layouts_made_;
    return layouts_.front()->places();
  }
  if (layouts_.size() == kMostLayouts) layouts_.pop_back();
  layouts_.insert(layouts_.begin(), std::make_unique<Layout>(std::move(values)));
  ++layouts_made_;
  return layouts_.front()->places();
}

/// Outputs that are kept live to the end: the caller looks at them until the next run. A value has
/// one place, so what is no step's own result, or is kept twice, is copied.
Status Binder::place(Work& work, const Start& start) {
  Binding& to = *work.binding;
  const Graph& g = shapes_.graph();
  const size_t bound = to.storage_.size();
  const int end = static_cast<int>(to.steps_.size());
  const bool kept = to.outputs_are_ == Outputs::kKept;
  constexpr size_t kNowhere = static_cast<size_t>(-1);
  std::vector<Lifetime> lives = lifetimes(work);
  std::vector<Lifetime> in_arena;
  std::vector<size_t> entry_of(bound, kNowhere); // of in_arena, by value
  std::vector<size_t> output_entries;
  for (const size_t index : start.outputs) {
    const ValueId v = work.outputs[index].value;
    if (!work.available[static_cast<size_t>(v.index)]) {
      to.left_outputs_.push_back(index);
      continue;
    }
    const Operand o = OCTET_TRY(shapes_.operand(v));
    const auto root = static_cast<size_t>(to.storage_[static_cast<size_t>(v.index)]);
    const bool made = lives[root].first >= 0, placed = entry_of[root] != kNowhere;
    const bool is_copy = !made || (kept && placed);
    to.output_places_.push_back({index, v.index, o.type, o.shape, 0, is_copy,
                                 made ? lives[root].first : -1, work.outputs[index].axes});
    output_entries.push_back(is_copy || !placed ? in_arena.size() : entry_of[root]);
    if (is_copy) {
      // Copies that are handed over take turns before the first step.
      const int when = kept ? end : -1 - static_cast<int>(output_entries.size());
      in_arena.push_back({shapes_.size_bytes(v), when, when});
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
  for (size_t s = 0; s < to.steps_.size(); ++s) {
    const int now = static_cast<int>(s);
    in_arena.push_back({to.steps_[s].step->shared_bytes(), now, now});
  }
  const ArenaPlan& arena = laid_out(std::move(in_arena));
  // Kernels may read up to a cache line past the end of a tensor.
  to.arena_bytes_ = arena.size_bytes + 64;
  to.shared_.assign(arena.offsets.begin() + static_cast<std::ptrdiff_t>(first_shared),
                    arena.offsets.end());
  for (size_t i = 0; i < bound; ++i) {
    if (entry_of[i] == kNowhere) continue;
    if (g.value(ValueId{static_cast<int32_t>(i)}).type.type == DType::kString)
      to.strings_.emplace_back(i, Tensor{});
    else
      to.placed_.push_back({i, arena.offsets[entry_of[i]]});
  }
  for (size_t k = 0; k < to.output_places_.size(); ++k)
    to.output_places_[k].offset_bytes = arena.offsets[output_entries[k]];
  to.as_made_.resize(to.output_places_.size());
  std::iota(to.as_made_.begin(), to.as_made_.end(), size_t{0});
  std::stable_sort(to.as_made_.begin(), to.as_made_.end(), [&](size_t x, size_t y) {
    return to.output_places_[x].made_by < to.output_places_[y].made_by;
  });
  to.given_views_.resize(start.given.size());
  std::vector<int32_t> given_at(bound, -1);
  for (size_t k = 0; k < start.given.size(); ++k)
    given_at[static_cast<size_t>(start.given[k].index)] = static_cast<int32_t>(k);
  for (size_t i = 0; i < bound; ++i)
    if (const int32_t k = given_at[static_cast<size_t>(to.storage_[i])]; k >= 0)
      to.given_views_[static_cast<size_t>(k)].push_back(static_cast<int32_t>(i));
  const std::vector<bool> handed_on = needed_by_rest(work);
  for (size_t i = 0; i < bound; ++i)
    if (handed_on[i] && prepared_->constants[i].empty())
      to.handed_on_.push_back(ValueId{static_cast<int32_t>(i)});
  return ok_status();
}

} // namespace octet::runtime
