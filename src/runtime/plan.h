// SPDX-License-Identifier: Apache-2.0
// Plan: a prepared graph bound to the shapes of its inputs, with a place in an arena for every
// value. Where extents depend on data a plan goes as far as shapes are known; what is left becomes
// a plan of its own, the rest, once they are, and rests are kept.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/infer.h"
#include "runtime/arena.h"
#include "runtime/prepare.h"
#include "runtime/slot.h"

#include "octet/executor.h"

namespace octet {
class ParallelFor;
}

namespace octet::runtime {

class PlanSet;

/// What becomes of the outputs of a run.
enum class Outputs {
  kKept,      ///< they stay in the arena until the next run
  kHandedOver ///< each is looked at when it is made, and has its place no longer than steps read it
};

/// Told what each step took, after it.
using StepClock = std::function<void(NodeId node, std::chrono::nanoseconds took)>;

class Plan {
 public:
  /// Errors: shapes that the graph does not take (the node is named).
  static Result<std::unique_ptr<Plan>> make(std::shared_ptr<const PreparedGraph> prepared,
                                            std::span<const Shape> shapes,
                                            Outputs outputs);
  ~Plan();

  bool fits(std::span<const Shape> shapes, Outputs outputs) const;
  bool fits(std::span<const Tensor> inputs, Outputs outputs) const;
  size_t arena_bytes() const { return arena_bytes_; }
  /// Places all values in `arena`, which has at least arena_bytes(). Plans that do not run at the
  /// same time may share one.
  Status attach(const std::shared_ptr<Buffer>& arena);
  /// `inputs`: bytes of the shapes planned for, aligned to 64; of strings the Tensor. The outputs
  /// lie in the arena, or in that of a rest. For Outputs::kKept.
  Result<std::span<const Tensor>> run(std::span<const std::byte* const> inputs,
                                      ParallelFor& parallel);
  /// The same for Outputs::kHandedOver.
  Status
  stream(std::span<const std::byte* const> inputs, ParallelFor& parallel, const OutputTap& tap);
  /// From now on `clock` is told, by the rests too; an empty one ends it.
  void set_clock(StepClock clock) { clock_ = std::move(clock); }

 private:
  /// A value that is there before the first step.
  struct Given {
    ValueId id;
    DType type;
    Shape shape;
  };
  /// What a plan begins with.
  struct Start {
    Graph shaped; ///< with the types that are known so far
    std::vector<Given> given;
    KnownElements elements;      ///< of integer tensors that data has told
    std::vector<NodeId> nodes;   ///< that have not run, in order
    std::vector<size_t> outputs; ///< of the graph, that nobody has made
    int depth = 0;               ///< how many plans go before
  };
  /// A node that could run but for the extents of its outputs.
  struct Open {
    NodeId node;
    std::unique_ptr<Evaluation> evaluation;
  };
  /// What data tells about the open nodes: what they made, or elements that tell what they will.
  struct Told {
    std::vector<int64_t> key; ///< equal for runs that have the same rest
    std::vector<Given> made;
    std::vector<Tensor> tensors; ///< of `made`
    std::vector<NodeId> done;
    KnownElements elements;
  };

  Plan();
  static Result<std::unique_ptr<Plan>>
  build(std::shared_ptr<const PreparedGraph> prepared, Start start, Outputs outputs);
  Result<Operand> operand(const Graph& shaped, ValueId id) const;
  std::vector<Operand> ready_operands(const Graph& shaped, const Node& node) const;
  Result<Inferred>
  find_known(Graph& shaped, const std::vector<NodeId>& nodes, const KnownElements& told);
  Status keep_known(const Graph& shaped, const Inferred& found, const KnownElements& told);
  bool evaluate_known(Graph& shaped, const Node& node, KnownElements& told);
  const Tensor* known_tensor(const Graph& shaped, ValueId id) const;
  Status bind(const Graph& shaped, const std::vector<NodeId>& nodes);
  Status bind_node(const Graph& shaped, const Node& node);
  const Prepared& prepared_for(const Graph& shaped, const Node& node);
  std::vector<bool> needed_by_rest(const Graph& shaped) const;
  Result<std::vector<Lifetime>> lifetimes(const Graph& shaped) const;
  Status place(const Graph& shaped, const std::vector<size_t>& outputs);
  void feed(std::span<const std::byte* const> inputs);
  Status run_step(size_t step, ParallelFor& parallel);
  const Tensor& output(size_t index);
  Status run_into(std::span<const std::byte* const> inputs,
                  ParallelFor& parallel,
                  std::vector<Tensor>& results);

  KnownElements readable(const Node& node) const;
  bool foretold(const Open& open, Told& told) const;
  Status evaluate(const Open& open, ParallelFor& parallel, Told& told);
  /// The plan for what is left, made if there is none for what data tells. `inputs` becomes the
  /// bytes of what it is given.
  Result<Plan*> rest(ParallelFor& parallel, std::vector<const std::byte*>& inputs);

  struct Placed {
    size_t value;
    size_t offset_bytes;
  };
  /// What the threads of a step share.
  struct Shared {
    size_t step;
    size_t offset_bytes;
  };
  struct Output {
    size_t index; ///< among the graph's
    int32_t value;
    DType type;
    Shape shape;
    size_t offset_bytes;
    bool is_copy; ///< of what lies elsewhere: an input, a constant, another output
    int made_by;  ///< step; -1: it is there before the first
  };

  std::shared_ptr<const PreparedGraph> prepared_;
  std::vector<Given> given_;
  Outputs outputs_are_ = Outputs::kKept;
  std::vector<std::unique_ptr<Prepared>> chosen_; ///< kernels that take a node of these shapes
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<NodeId> step_nodes_;
  std::vector<bool> available_; ///< by value id: there before the first step, or made by one
  std::vector<std::byte*> slots_;
  std::vector<int32_t> storage_; ///< by value id: the value whose memory it shares
  /// For each given value: the values that are views of it.
  std::vector<std::vector<int32_t>> given_views_;
  std::vector<Placed> placed_;
  std::map<size_t, Tensor> strings_; ///< by value id: tensors of strings, which have no bytes
  std::vector<Shared> shared_;
  std::vector<std::byte*> shared_places_; ///< by step; null for one that shares nothing
  std::vector<Output> output_places_;
  std::vector<size_t> as_made_; ///< outputs in the order in which steps make them
  size_t arena_bytes_ = 0;
  std::shared_ptr<Buffer> arena_;
  /// What follows from shapes, and needs no step.
  std::map<int32_t, Tensor> known_;
  std::vector<Tensor> outputs_;
  StepClock clock_;

  // Of a plan with a rest.
  int depth_ = 0;
  std::unique_ptr<Graph> shaped_;
  KnownElements told_before_; ///< by data, to this plan
  KnownElements elements_;    ///< all that is known
  std::vector<Open> open_;
  std::vector<NodeId> left_; ///< nodes, the open ones too
  std::vector<size_t> left_outputs_;
  std::vector<Given> handed_on_; ///< what the rest reads
  std::vector<int64_t> key_;     ///< of a rest: what data had told
  std::unique_ptr<PlanSet> rests_;
  std::vector<Tensor> results_;
  Told told_;
};

} // namespace octet::runtime
