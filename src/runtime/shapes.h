// SPDX-License-Identifier: Apache-2.0
// The types of a prepared graph for the sizes at hand, and the values that follow from them. What
// does not depend on a size that changed is not looked at again.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ops/infer.h"
#include "runtime/prepare.h"

namespace octet::runtime {

/// A value whose type is told.
struct Given {
  ValueId id;
  DType type = DType::kUndefined;
  Shape shape;
};

class Shapes {
 public:
  explicit Shapes(std::shared_ptr<const PreparedGraph> prepared);

  /// Goes on to other sizes. `typed`: the inputs of the graph, and what data has made of nodes;
  /// `told`: elements of small integer tensors that data has told. Errors: types that the graph
  /// does not take (the node is named); the next call starts anew then.
  Status follow(std::span<const Given> typed, const KnownElements& told);

  /// With the types of now.
  const Graph& graph() const { return graph_; }
  const KnownElements& elements() const { return elements_; }
  /// A value that follows from shapes, or null.
  const Tensor* known(ValueId id) const;
  /// The same, or of a constant whose bytes are there.
  const Tensor* elements_of(ValueId id) const;
  /// Errors: a shape that is not known, or too large for any machine.
  Result<Operand> operand(ValueId id) const;
  /// Whether element type and shape are known.
  bool is_told(ValueId id) const;
  /// Of a value that is_told() and can be an operand(); 0 for strings, which have no bytes.
  size_t size_bytes(ValueId id) const;
  /// Which call of follow was the last; they count from 1.
  int64_t now() const { return now_; }
  /// The last one in which type or elements of a value became others.
  int64_t changed_at(ValueId id) const { return changed_at_[static_cast<size_t>(id.index)]; }

 private:
  /// What is known of an output, to see whether it changes.
  struct State {
    TypeInfo type;
    std::optional<std::vector<Dim>> elements;
    Tensor known;
  };

  void start_anew();
  bool same_places(std::span<const Given> typed, const KnownElements& told) const;
  Status take_told(const KnownElements& told);
  bool is_changed(const Node& node) const;
  Status infer(const Node& node);
  Status take_elements(const Node& node, std::vector<OutputInfo> outputs);
  Status keep_elements(ValueId id);
  void evaluate(const Node& node);
  State state(ValueId id) const;
  void note(ValueId id, const State& before);

  std::shared_ptr<const PreparedGraph> prepared_;
  Graph graph_;
  KnownElements elements_;
  std::vector<Tensor> known_; ///< by value id; empty() for what does not follow from shapes
  std::vector<int64_t> changed_at_;
  int64_t now_ = 0;
  bool whole_ = true; ///< every node is looked at
  /// By node id: elements that are evaluated at most where all inputs are known; 0: never.
  std::vector<int64_t> evaluated_;
  std::map<int32_t, TypeInfo> typed_; ///< by value id
  KnownElements told_;
};

} // namespace octet::runtime
