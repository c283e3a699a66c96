// SPDX-License-Identifier: Apache-2.0
// Plan: one context's place to run a prepared graph at any sizes. Made once; for new sizes only the
// shapes that changed are inferred again, and steps are bound to them. The bindings of the last
// sizes are kept, and all lie in one block of memory.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/binder.h"

#include "octet/session.h"

namespace octet::runtime {

class Plan {
 public:
  explicit Plan(std::shared_ptr<const PreparedGraph> prepared);

  /// For inputs of these shapes, ready to run: valid until the next call. Errors: shapes that the
  /// graph does not take (the node is named), no memory.
  Result<Binding*> at(std::span<const Shape> shapes, Outputs outputs);
  Result<Binding*> at(std::span<const Tensor> inputs, Outputs outputs);
  size_t arena_bytes() const { return arena_ ? arena_->bytes().size() : 0; }
  /// With those of the rests.
  PlanCounts counts() const;
  /// PreparedGraph::planned as the binding that was used last, and the rests behind it, have it.
  std::vector<PlannedNode> planned() const;
  /// From now on `clock` is told, by the rests too; an empty one ends it.
  void set_clock(StepClock clock) { clock_ = std::move(clock); }
  const StepClock& clock() const { return clock_; }

  // For its bindings.
  const PreparedGraph& prepared() const { return binder_.prepared(); }
  /// Shapes of a binding of this plan, which has those inputs.
  Result<const Shapes*> shapes_for(std::span<const Given> typed, const KnownElements& told);
  /// What is left of a binding of this plan; `key` tells which, and what data has told.
  template <class MakeStart>
  Result<Binding*>
  rest(std::span<const int64_t> key, Outputs outputs, const MakeStart& make_start) {
    if (!rest_) rest_ = std::make_unique<Plan>(prepared_);
    rest_->clock_ = clock_;
    Binding* found = OCTET_TRY(rest_->find(key));
    return found != nullptr ? found : rest_->add(key, make_start(), outputs);
  }

 private:
  void describe(std::vector<PlannedNode>& planned) const;
  template <class ShapeOf>
  Result<Binding*> at_shapes(size_t count, const ShapeOf& shape_of, Outputs outputs);
  Result<Binding*> find(std::span<const int64_t> key);
  Result<Binding*> add(std::span<const int64_t> key, const Start& start, Outputs outputs);
  Result<Binding*> ready(Binding& binding);

  std::shared_ptr<const PreparedGraph> prepared_;
  Binder binder_;
  std::vector<std::unique_ptr<Binding>> bindings_; ///< the most recently used first
  std::shared_ptr<Buffer> arena_;
  std::vector<int64_t> key_;
  int64_t bindings_made_ = 0;
  std::unique_ptr<Plan> rest_;
  StepClock clock_;
};

} // namespace octet::runtime
