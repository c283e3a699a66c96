// SPDX-License-Identifier: Apache-2.0
// Plan: a prepared graph bound to the shapes of its inputs, with all memory assigned.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/step.h"

#include "octet/graph.h"

namespace octet {
class ParallelFor;
}

namespace octet::runtime {

/// A graph with kernels chosen and weights packed; immutable and shared by all contexts.
struct PreparedGraph {
  Graph graph;
  std::vector<NodeId> order;
  std::vector<std::unique_ptr<Prepared>> nodes; ///< by node id; null for views
};

class Plan {
 public:
  /// Errors: shapes that the graph does not take, or that some node cannot say its output's for
  /// (the node is named).
  static Result<std::unique_ptr<Plan>> make(std::shared_ptr<const PreparedGraph> prepared,
                                            std::span<const Shape> shapes);

  bool fits(std::span<const Tensor> inputs) const;
  /// Inputs must fit and be aligned to 64 bytes.
  Result<std::span<const Tensor>> run(std::span<const Tensor> inputs, ParallelFor& parallel);

 private:
  Plan() = default;
  Status bind(const Graph& shaped);
  Status place(const Graph& shaped);

  std::shared_ptr<const PreparedGraph> prepared_;
  std::vector<Shape> shapes_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<NodeId> step_nodes_;
  std::vector<std::byte*> slots_;
  std::vector<int32_t> storage_; ///< by value id: the value whose memory it shares
  /// For each graph input: the values that are views of it.
  std::vector<std::vector<int32_t>> input_views_;
  std::shared_ptr<Buffer> arena_;
  std::vector<Tensor> constants_; ///< aligned copies where the graph's are not
  std::vector<Tensor> outputs_;
  std::vector<std::byte*> output_memory_;
  struct Copy {
    int32_t from, to_output;
  };
  std::vector<Copy> copies_; ///< outputs that are views of inputs or constants
};

} // namespace octet::runtime
