// SPDX-License-Identifier: Apache-2.0
// Patch: what a rewrite rule wants changed: new nodes and constants, and values that take the place
// of others. A rule never mutates a graph; the driver (passes/rewrite.h) applies patches.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/live_uses.h"

#include "octet/passes.h"

namespace octet {

class Patch {
 public:
  /// `source`: the nodes that the new ones are made from (their names become the origin).
  Patch(const Graph& graph, std::string why, Exactness exactness);

  Patch& from(const Node& node);
  /// Adds a node with fresh outputs; returns the first. Inputs are values of the graph or of this
  /// patch. `type`s of the outputs are inferred when the patch has been applied.
  ValueId emit(std::string op_type,
               std::vector<ValueId> inputs,
               Attributes attributes = {},
               std::string node_name = {},
               std::string domain = {},
               int outputs = 1);
  /// What the bodies of the node that made `first` capture: values of the graph or of this patch.
  void capture(ValueId first, std::vector<ValueId> values);
  ValueId constant(std::string value_name, Tensor tensor);
  /// Output `k` of the node that made `first` in this patch.
  ValueId output(ValueId first, int k) const;
  /// Every use of `from` becomes a use of `to`, and `to` takes the name of `from` when `from` was a
  /// node's output or a graph output.
  void replace(ValueId from, ValueId to);
  /// Redirects one input of one node only.
  void set_input(NodeId node, size_t index, ValueId value);
  /// Says that what `replace` put in place may have sizes of 1 where the old value had others: the
  /// types of its consumers are inferred anew.
  void narrow() { narrows_ = true; }
  /// Values that `replace` put in place of such.
  std::vector<ValueId> narrowed() const;
  /// Imports the operator set of a domain.
  void import_opset(std::string domain, int64_t version);

  const std::string& why() const { return why_; }
  Exactness exactness() const { return exactness_; }

  /// Applies it; ids of the patch's values become ids of the graph. Dead nodes are left to the
  /// caller. Returns the ids of the new nodes. An error names what does not fit.
  Result<std::vector<NodeId>> apply(Graph& graph) const;
  /// The same with `uses` of the graph kept up to date, which costs no walk over it.
  Result<std::vector<NodeId>> apply(Graph& graph, LiveUses& uses) const;
  /// Values that may be without a use once the patch has been applied to `graph` (asked before).
  std::vector<ValueId> frees(const Graph& graph) const;

 private:
  /// A node with fresh outputs, or a constant; in the order of their value ids.
  struct Addition {
    Node node; ///< op_type is empty for a constant
    std::vector<std::string> output_names;
    Tensor tensor;
  };
  struct Redirect {
    NodeId node;
    size_t index;
    ValueId value;
  };

  std::string why_;
  Exactness exactness_;
  bool narrows_ = false;
  int32_t base_ = 0, next_ = 0; ///< first id that is the patch's own, and the next one
  std::vector<std::string> origin_;
  std::vector<Addition> additions_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
  std::vector<Redirect> redirects_;
  std::vector<std::pair<std::string, int64_t>> opsets_;
};

/// Whether `to` can take the place of `from` in every use: a graph output keeps its name, so it
/// can only become a node's output that is no graph output itself.
bool can_replace(const Graph& graph, ValueId from, ValueId to);

} // namespace octet
