// SPDX-License-Identifier: Apache-2.0
// Binding: a plan at certain sizes, with a step for every node that runs and a place for every
// value. Where extents depend on data it goes as far as shapes are known; what is left is bound by a
// plan of its own, the rest, once they are.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/arena.h"
#include "runtime/shapes.h"
#include "runtime/slot.h"

#include "octet/executor.h"

namespace octet {
class ParallelFor;
}

namespace octet::runtime {

class Plan;

/// What becomes of the outputs of a run.
enum class Outputs {
  kKept,       ///< they stay in the arena until the next run
  kHandedOver, ///< each is looked at when it is made, and has its place no longer than steps read it
  kHandedOverAsStored, ///< likewise, before a Transpose that is made for nobody else
};

/// Told what each step took, after it.
using StepClock = std::function<void(NodeId node, std::chrono::nanoseconds took)>;

/// What a binding begins with.
struct Start {
  std::vector<Given> typed;    ///< the graph's inputs, and what data has made of nodes
  std::vector<ValueId> given;  ///< there before the first step
  KnownElements elements;      ///< of small integer tensors that data has told
  std::vector<NodeId> nodes;   ///< that have not run, in order
  std::vector<size_t> outputs; ///< of the graph, that nobody has made
};

/// A kernel that was chosen for the shapes at hand.
struct ChosenKernel {
  std::unique_ptr<Prepared> prepared;
  std::string name; ///< as in PlannedNode
};

/// A step, and the kernel of its node where that was chosen for these shapes.
struct BoundStep {
  NodeId node;
  std::shared_ptr<const ChosenKernel> chosen;
  std::shared_ptr<const Step> step;
};

class Binding {
 public:
  const std::vector<int64_t>& key() const { return key_; }
  size_t arena_bytes() const { return arena_bytes_; }
  /// Whether data tells extents of what this does not run.
  bool has_rest() const { return !open_.empty(); }
  /// Enters how the nodes run that have a step here, or need none.
  void describe(std::vector<PlannedNode>& planned) const;
  bool is_attached() const { return arena_ != nullptr; }
  /// Places all values in `arena`, which has at least arena_bytes(). Bindings that do not run at the
  /// same time may share one.
  Status attach(const std::shared_ptr<Buffer>& arena);
  void detach();
  /// `inputs`: bytes of the values given, aligned to 64; of strings the Tensor. The outputs lie in
  /// the arena, or in that of a rest. For Outputs::kKept.
  Result<std::span<const Tensor>> run(std::span<const std::byte* const> inputs,
                                      ParallelFor& parallel);
  /// The same where outputs are handed over.
  Status
  stream(std::span<const std::byte* const> inputs, ParallelFor& parallel, const StoredTap& tap);

 private:
  friend class Binder;
  /// A node that could run but for the extents of its outputs.
  struct Open {
    NodeId node;
    Evaluation* evaluation;
    /// Elements that foretold its outputs in the last run, and how often on end they were others
    /// while the outputs were small.
    std::vector<int64_t> read = {};
    int changes = 0;
  };
  /// What data tells about the open nodes: what they made, or elements that tell what they will.
  struct Told {
    std::vector<int64_t> key; ///< equal for runs that have the same rest
    std::vector<Given> made;
    std::vector<Tensor> tensors; ///< of `made`
    std::vector<NodeId> done;
    KnownElements elements;
  };
  struct Placed {
    size_t value;
    size_t offset_bytes;
  };
  struct Output {
    size_t index; ///< among the graph's
    int32_t value;
    DType type;
    Shape shape;
    size_t offset_bytes;
    bool is_copy;              ///< of what lies elsewhere: an input, a constant, another output
    int made_by;               ///< step; -1: it is there before the first
    std::vector<int64_t> axes; ///< as StoredTap has them
  };

  Binding(Plan& plan, Outputs outputs) : plan_(&plan), outputs_are_(outputs) {}
  void feed(std::span<const std::byte* const> inputs);
  Status run_step(size_t step, ParallelFor& parallel);
  const Tensor& output(size_t index);
  Status run_into(std::span<const std::byte* const> inputs,
                  ParallelFor& parallel,
                  std::vector<Tensor>& results);
  KnownElements readable(const Shapes& shapes, const Node& node) const;
  bool foretold(const Shapes& shapes, Open& open, Told& told) const;
  Status evaluate(const Shapes& shapes, Open& open, ParallelFor& parallel, Told& told);
  Start start_of_rest() const;
  /// The rest for what data tells. `inputs` becomes the bytes of what it is given.
  Result<Binding*> rest(ParallelFor& parallel, std::vector<const std::byte*>& inputs);

  Plan* plan_;
  Outputs outputs_are_;
  std::vector<int64_t> key_; ///< what tells it from others of the plan
  std::vector<BoundStep> steps_;
  std::vector<std::byte*> slots_;
  std::vector<int32_t> storage_; ///< by value id: the value whose memory it shares
  /// For each given value: the values that are views of it.
  std::vector<std::vector<int32_t>> given_views_;
  std::vector<Placed> placed_;
  std::vector<std::pair<size_t, Tensor>> strings_; ///< by value id: they have no bytes
  /// Nodes whose values follow from shapes.
  std::vector<NodeId> evaluated_;
  /// By step: where in the arena lies what its threads share.
  std::vector<size_t> shared_;
  std::vector<Output> output_places_;
  std::vector<size_t> as_made_; ///< outputs in the order in which steps make them
  size_t arena_bytes_ = 0;
  std::shared_ptr<Buffer> arena_;
  /// What follows from shapes and is read, by value id.
  std::vector<std::pair<size_t, Tensor>> known_;
  std::vector<Tensor> outputs_;

  // Where there is a rest.
  std::vector<Given> typed_;
  KnownElements elements_; ///< that data has told
  std::vector<Open> open_;
  std::vector<NodeId> left_; ///< nodes, the open ones too
  std::vector<size_t> left_outputs_;
  std::vector<ValueId> handed_on_; ///< what the rest reads
  std::vector<Tensor> results_;
  Told told_;
};

} // namespace octet::runtime
