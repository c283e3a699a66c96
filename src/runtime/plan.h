// SPDX-License-Identifier: Apache-2.0
// Plan: a prepared graph bound to the shapes of its inputs, with a place in an arena for every
// value.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/arena.h"
#include "runtime/step.h"

#include "octet/executor.h"

namespace octet {
class ParallelFor;
}

namespace octet::runtime {

/// A graph with kernels chosen and weights packed; immutable and shared by all contexts.
struct PreparedGraph {
  Graph graph;
  std::vector<NodeId> order;
  std::vector<std::unique_ptr<Prepared>> nodes; ///< by node id; null for views
  std::vector<Tensor> constants;                ///< by value id, aligned; empty for what is none
};

/// By value id: what some step must make. Not what `is_known` says, nor what is only needed for the
/// shape of a view.
std::vector<bool> needed_values(const Graph& graph,
                                std::span<const NodeId> order,
                                const std::function<bool(ValueId)>& is_known);
/// Whether a node has an output that is needed.
bool makes_needed(const Node& node, const std::vector<bool>& needed);

/// What becomes of the outputs of a run.
enum class Outputs {
  kKept,      ///< they stay in the arena until the next run
  kHandedOver ///< each is looked at when it is made, and has its place no longer than steps read it
};

/// Told what each step took, after it.
using StepClock = std::function<void(NodeId node, std::chrono::nanoseconds took)>;

class Plan {
 public:
  /// Errors: shapes that the graph does not take, or that some node cannot say its output's for
  /// (the node is named).
  static Result<std::unique_ptr<Plan>> make(std::shared_ptr<const PreparedGraph> prepared,
                                            std::span<const Shape> shapes,
                                            Outputs outputs);

  bool fits(std::span<const Shape> shapes, Outputs outputs) const;
  bool fits(std::span<const Tensor> inputs, Outputs outputs) const;
  size_t arena_bytes() const { return arena_bytes_; }
  /// Places all values in `arena`, which has at least arena_bytes(). Plans that do not run at the
  /// same time may share one.
  Status attach(const std::shared_ptr<Buffer>& arena);
  /// `inputs`: bytes of the shapes planned for, aligned to 64. The outputs lie in the arena. For
  /// Outputs::kKept.
  Result<std::span<const Tensor>> run(std::span<const std::byte* const> inputs,
                                      ParallelFor& parallel);
  /// The same for Outputs::kHandedOver.
  Status
  stream(std::span<const std::byte* const> inputs, ParallelFor& parallel, const OutputTap& tap);
  /// From now on `clock` is told; an empty one ends it.
  void set_clock(StepClock clock) { clock_ = std::move(clock); }
  /// Whether the last run ended because an operator gave another shape than was planned.
  bool met_other_shape() const { return met_other_shape_; }

 private:
  Plan() = default;
  Result<Operand> operand(const Graph& shaped, ValueId id) const;
  Status find_known(const Graph& shaped, const std::map<ValueId, std::vector<Dim>>& elements);
  Status bind(const Graph& shaped);
  Result<std::vector<Lifetime>> lifetimes(const Graph& shaped) const;
  Status place(const Graph& shaped);
  void feed(std::span<const std::byte* const> inputs);
  Status run_step(size_t step, ParallelFor& parallel);
  const Tensor& output(size_t index);

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
    int32_t value;
    DType type;
    Shape shape;
    size_t offset_bytes;
    bool is_copy; ///< of what lies elsewhere: an input, a constant, another output
    int made_by;  ///< step; -1: it is there before the first
  };

  std::shared_ptr<const PreparedGraph> prepared_;
  std::vector<Shape> shapes_;
  Outputs outputs_are_ = Outputs::kKept;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<NodeId> step_nodes_;
  std::vector<std::byte*> slots_;
  std::vector<int32_t> storage_; ///< by value id: the value whose memory it shares
  /// For each graph input: the values that are views of it.
  std::vector<std::vector<int32_t>> input_views_;
  std::vector<Placed> placed_;
  std::vector<Shared> shared_;
  std::vector<std::byte*> shared_places_; ///< by step; null for one that shares nothing
  std::vector<Output> output_places_;
  std::vector<size_t> as_made_; ///< outputs in the order in which steps make them
  size_t arena_bytes_ = 0;
  std::shared_ptr<Buffer> arena_;
  /// Results of shape computations, which need no step.
  std::map<int32_t, Tensor> known_;
  std::vector<Tensor> outputs_;
  bool met_other_shape_ = false;
  StepClock clock_;
};

} // namespace octet::runtime
