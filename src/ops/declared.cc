// SPDX-License-Identifier: Apache-2.0
#include "ops/declared.h"

#include <memory>

#include "graph/bodies.h"
#include "ops/infer.h"

namespace octet {
namespace {

/// Calls change(graph, value) for each value that a node computes, and for inputs of bodies.
template <typename F>
void each_hint(Graph& graph, const F& change) {
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    if (graph.value(ValueId{i}).kind == ValueKind::kNodeOutput) change(graph, ValueId{i});
  for (const NodeId id : graph.nodes()) {
    if (!has_bodies(graph.node(id))) continue;
    for (const MutableBody& body : bodies_of(graph.mutable_node(id))) {
      auto copy = std::make_shared<Graph>(*body.graph);
      for (const ValueId in : copy->inputs())
        change(*copy, in);
      each_hint(*copy, change);
      body.graph = std::move(copy);
    }
  }
}

void forget_shape(Graph& graph, ValueId id) {
  const TypeInfo& known = graph.value(id).type;
  graph.set_type(id, {known.type, std::nullopt, known.opaque});
}

} // namespace

void forget_declared_shapes(Graph& graph) {
  each_hint(graph, forget_shape);
}

DeclaredTypes take_declared_shapes(Graph& graph) {
  DeclaredTypes out;
  each_hint(graph, [&](Graph& in, ValueId id) {
    const Value& v = in.value(id);
    const auto [same_name, first] = out.emplace(v.name, v.type);
    if (!first) same_name->second = {}; // two branches may name theirs alike
    forget_shape(in, id);
  });
  return out;
}

void fill_in_declared(Graph& graph, const DeclaredTypes& declared) {
  if (declared.empty()) return;
  each_hint(graph, [&](Graph& in, ValueId id) {
    const Value& v = in.value(id);
    const auto found = declared.find(v.name);
    if (found != declared.end()) in.set_type(id, filled_in(found->second, v.type));
  });
}

} // namespace octet
