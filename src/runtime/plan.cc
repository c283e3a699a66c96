// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan.h"

#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "core/huge_pages.h"

namespace octet::runtime {

Plan::Plan(std::shared_ptr<const PreparedGraph> prepared)
    : prepared_(std::move(prepared)), binder_(prepared_) {}

template <class ShapeOf>
Result<Binding*> Plan::at_shapes(size_t count, const ShapeOf& shape_of, Outputs outputs) {
  key_.assign(1, static_cast<int64_t>(outputs));
  for (size_t i = 0; i < count; ++i) {
    const Shape& shape = shape_of(i);
    key_.push_back(std::ssize(shape));
    key_.insert(key_.end(), shape.begin(), shape.end());
  }
  if (Binding* found = OCTET_TRY(find(key_))) return found;
  const Graph& g = prepared_->graph;
  Start start{.typed = {}, .given = g.inputs(), .elements = {}, .nodes = prepared_->order};
  start.typed.reserve(count);
  for (size_t i = 0; i < count; ++i)
    start.typed.push_back({g.inputs()[i], g.value(g.inputs()[i]).type.type, shape_of(i)});
  start.outputs.resize(g.outputs().size());
  std::iota(start.outputs.begin(), start.outputs.end(), size_t{0});
  return add(key_, start, outputs);
}

Result<Binding*> Plan::at(std::span<const Shape> shapes, Outputs outputs) {
  return at_shapes(
      shapes.size(), [&](size_t i) -> const Shape& { return shapes[i]; }, outputs);
}

Result<Binding*> Plan::at(std::span<const Tensor> inputs, Outputs outputs) {
  return at_shapes(
      inputs.size(), [&](size_t i) -> const Shape& { return inputs[i].shape(); }, outputs);
}

Result<Binding*> Plan::find(std::span<const int64_t> key) {
  const auto found = std::find_if(bindings_.begin(), bindings_.end(), [&](const auto& binding) {
    return std::equal(key.begin(), key.end(), binding->key().begin(), binding->key().end());
  });
  if (found == bindings_.end()) return static_cast<Binding*>(nullptr);
  std::rotate(bindings_.begin(), found, found + 1);
  return ready(*bindings_.front());
}

Result<Binding*> Plan::add(std::span<const int64_t> key, const Start& start, Outputs outputs) {
  constexpr size_t kMostBindings = 8;
  auto made = OCTET_TRY_WITH(binder_.bind(*this, start, key, outputs), "plan");
  ++bindings_made_;
  if (bindings_.size() == kMostBindings) bindings_.pop_back();
  bindings_.insert(bindings_.begin(), std::move(made));
  return ready(*bindings_.front());
}

/// In the arena, which grows where it is too small; the other bindings move along at once, so that
/// none allocates when its sizes come back.
Result<Binding*> Plan::ready(Binding& binding) {
  if (binding.is_attached()) return &binding;
  const size_t size_bytes = binding.arena_bytes();
  if (arena_bytes() < size_bytes) {
    for (const auto& other : bindings_)
      other->detach();
    arena_ = nullptr;
    arena_ = allocate_in_huge_pages(size_bytes);
    if (!arena_)
      return error("no memory for the {} bytes of activations; use a smaller batch", size_bytes);
  }
  for (const auto& other : bindings_)
    if (!other->is_attached() && other->arena_bytes() <= arena_bytes())
      OCTET_TRY(other->attach(arena_));
  return &binding;
}

PlanCounts Plan::counts() const {
  PlanCounts out{.plans = 1, .bindings = bindings_made_, .layouts = binder_.layouts_made()};
  if (!rest_) return out;
  const PlanCounts more = rest_->counts();
  return {out.plans + more.plans, out.bindings + more.bindings, out.layouts + more.layouts};
}

std::vector<PlannedNode> Plan::planned() const {
  std::vector<PlannedNode> out = prepared_->planned;
  describe(out);
  return out;
}

void Plan::describe(std::vector<PlannedNode>& planned) const {
  if (bindings_.empty()) return;
  bindings_.front()->describe(planned);
  if (rest_ && bindings_.front()->has_rest()) rest_->describe(planned);
}

Result<const Shapes*> Plan::shapes_for(std::span<const Given> typed, const KnownElements& told) {
  OCTET_TRY(binder_.follow(typed, told));
  return &binder_.shapes();
}

} // namespace octet::runtime
