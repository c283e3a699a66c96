// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/only_broadcast.h"

#include <algorithm>

#include "ops/op.h"

namespace octet {
namespace {

constexpr int kMaxShapeDepth = 16;

bool fits_everywhere(const Graph& graph, const Uses& uses, ValueId at, int depth) {
  if (depth > kMaxShapeDepth || graph.is_output(at)) return false;
  const auto fits = [&](const Uses::Use& use) {
    const Node& node = graph.node(use.node);
    if (use.input >= node.inputs.size() || !node.domain.empty()) return false;
    const ValueId y = node.output(0);
    if (node.is("Cast") || node.is("Unsqueeze") || node.is("Not") ||
        (node.is("Gather") && use.input == 1))
      return fits_everywhere(graph, uses, y, depth + 1);
    if (!facts_of(node).broadcasts) return false;
    const auto carries = [&](ValueId other) {
      return other != at && same_shape(graph.value(other).type, graph.value(y).type);
    };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), carries)) return true;
    const auto narrow = [&](ValueId other) { return other == at || graph.constant(other); };
    return std::all_of(node.inputs.begin(), node.inputs.end(), narrow) &&
           fits_everywhere(graph, uses, y, depth + 1);
  };
  const auto all = uses.of(at);
  return std::all_of(all.begin(), all.end(), fits);
}

} // namespace

bool same_shape(const TypeInfo& a, const TypeInfo& b) {
  return a.shape && b.shape && *a.shape == *b.shape;
}

bool only_broadcast(const Graph& graph, const Uses& uses, ValueId value) {
  return fits_everywhere(graph, uses, value, 0);
}

} // namespace octet
