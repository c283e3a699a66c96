// SPDX-License-Identifier: Apache-2.0
#include "ops/value_range.h"

#include <algorithm>

#include "ops/op.h"

namespace octet {
namespace {

/// How far back a value is followed, and over how many nodes in all: paths may join.
constexpr int kMaxRangeDepth = 16, kMaxRangeNodes = 64;

class RangeWalk {
 public:
  explicit RangeWalk(const Graph& graph) : graph_(graph) {}

  Range of(ValueId value, int depth = 0) {
    const Node* node = value.valid() ? graph_.producer(value) : nullptr;
    if (node == nullptr || depth == kMaxRangeDepth || ++nodes_ > kMaxRangeNodes) return kEverything;
    const OpDef* op = find_op(node->domain, node->op_type);
    if (op == nullptr || !speaks_of(*op, *node, value)) return kEverything;
    const RangeContext context{
        .node = *node,
        .in = [&](size_t i) { return of(node->input(i), depth + 1); },
        .constant = [&](size_t i) { return graph_.constant(node->input(i)); }};
    return op->range.fn(context);
  }

 private:
  static bool speaks_of(const OpDef& op, const Node& node, ValueId value) {
    if (node.output(0) == value) return true;
    const auto at = std::find(node.outputs.begin(), node.outputs.end(), value);
    return op.motion.fn(node).gives(static_cast<size_t>(at - node.outputs.begin()));
  }

  const Graph& graph_;
  int nodes_ = 0;
};

} // namespace

Range range_of(const Graph& graph, ValueId value) {
  return RangeWalk(graph).of(value);
}

} // namespace octet
