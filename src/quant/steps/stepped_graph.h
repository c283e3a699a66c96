// SPDX-License-Identifier: Apache-2.0
// A graph that steps change in place, with its uses kept up to date.
#pragma once

#include <string>

#include "core/format.h"
#include "graph/edit.h"
#include "graph/live_uses.h"

#include "octet/graph.h"

namespace octet {

class SteppedGraph {
 public:
  explicit SteppedGraph(Graph& graph) : graph_(graph), uses_(graph) {}

  const Graph& graph() const { return graph_; }
  const LiveUses& uses() const { return uses_; }

  /// Errors: no node or value of that name.
  Result<NodeId> node(const std::string& name) const {
    const auto found = graph_.find_node(name);
    if (!found) return error("the graph has no node \"{}\"", name);
    return *found;
  }
  Result<ValueId> value(const std::string& name) const {
    const auto found = graph_.find_value(name);
    if (!found) return error("the graph has no value \"{}\"", name);
    return *found;
  }

  void set_input(NodeId node, size_t input, ValueId value) {
    uses_.set_input(graph_, node, input, value);
  }
  /// The node reads `tensor` there from now on. A constant that others read too stays theirs: the
  /// node gets one of its own, named after `name`.
  void set_constant(NodeId node, size_t input, Tensor tensor, const std::string& name) {
    const ValueId old = graph_.node(node).input(input);
    if (old.valid() && graph_.value(old).is_constant() && uses_.count(old) == 1)
      graph_.set_constant(old, std::move(tensor));
    else
      set_input(node, input, graph_.add_constant(graph_.unique_name(name), std::move(tensor)));
  }
  /// The first output of a new node, f32, whose shape is taken by infer_types.
  ValueId emit(const char* op,
               std::vector<ValueId> inputs,
               Attributes attributes,
               const std::string& name) {
    const ValueId out =
        graph_.emit(op, std::move(inputs), std::move(attributes), graph_.unique_name(name));
    TypeInfo type;
    type.type = DType::kFloat32;
    graph_.set_type(out, type);
    uses_.add(*graph_.producer(out));
    return out;
  }
  ValueId constant(Tensor tensor, const std::string& name) {
    return graph_.add_constant(graph_.unique_name(name), std::move(tensor));
  }
  /// value * factor, f32 of the value's own type.
  ValueId multiplied(ValueId value, Tensor factor, const std::string& name) {
    const ValueId by = constant(std::move(factor), name + "_factor");
    const ValueId out = emit("Mul", {value, by}, {}, name);
    graph_.set_type(out, graph_.value(value).type);
    return out;
  }
  /// `made` takes the uses and the name of the node's output, its producer `heir` the node's name.
  void replace(NodeId node, ValueId made, NodeId heir) {
    const std::string name = graph_.node(node).name;
    replace_node(graph_, uses_, node, made);
    graph_.mutable_node(heir).name = name;
  }

 private:
  Graph& graph_;
  LiveUses uses_;
};

} // namespace octet
