// SPDX-License-Identifier: Apache-2.0
// Uses that are kept change by change are those that are counted from nothing.
#include "core/philox.h"
#include "graph/live_uses.h"
#include "graph/verify.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

std::vector<std::pair<int32_t, size_t>> listed(std::span<const Uses::Use> uses) {
  std::vector<std::pair<int32_t, size_t>> out;
  for (const Uses::Use& use : uses)
    out.emplace_back(use.node.index, use.input);
  return out;
}

void expect_as_counted(const LiveUses& live, const Graph& graph) {
  const Uses counted(graph);
  for (int32_t i = 0; i < graph.value_bound(); ++i) {
    const ValueId id{i};
    ASSERT_EQ(live.count(id), counted.count(id)) << graph.value(id).name;
    ASSERT_EQ(live.single_consumer(id), counted.single_consumer(id)) << graph.value(id).name;
    if (i % 3 != 0) continue; // some are counted while nobody has looked
    ASSERT_EQ(listed(live.of(id)), listed(counted.of(id))) << graph.value(id).name;
  }
}

/// Layers of additions, each of two earlier values; everybody reads the same few constants too.
Graph random_graph(Philox& random, int nodes) {
  Graph g;
  g.opsets[""] = 17;
  std::vector<ValueId> values = {g.add_input("x", tensor_type(DType::kFloat32, Shape{2}))};
  std::vector<ValueId> constants;
  for (int i = 0; i < 3; ++i)
    constants.push_back(g.add_constant("k" + std::to_string(i), Tensor::scalar(1.0F)));
  const auto any = [&](const std::vector<ValueId>& of) {
    return of[static_cast<size_t>(random.below(static_cast<int64_t>(of.size())))];
  };
  for (int i = 0; i < nodes; ++i) {
    const ValueId a = any(values);
    values.push_back(g.emit("Sum", {a, any(constants), random.uniform() < 0.2 ? a : any(values)}));
  }
  for (int i = 0; i < 4; ++i)
    g.mark_output(values[values.size() - 1 - static_cast<size_t>(i)]);
  return g;
}

TEST(LiveUses, AreThoseOfTheGraphAfterEveryChange) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Philox random(seed, 1);
    Graph g = random_graph(random, 60);
    LiveUses uses(g);
    for (int change = 0; change < 60; ++change) {
      const std::vector<NodeId> nodes = g.nodes();
      if (nodes.size() < 5) break;
      const auto any = [&] {
        return nodes[static_cast<size_t>(random.below(static_cast<int64_t>(nodes.size())))];
      };
      NodeId early = any(), late = any();
      if (late < early) std::swap(early, late);
      ValueId freed;
      if (random.uniform() < 0.5) {
        const ValueId from = g.node(late).output(0), to = g.node(early).output(0);
        uses.replace(g, from, to);
        freed = from;
      } else {
        const auto input = static_cast<size_t>(random.below(4)); // one more than there is
        freed = g.node(late).input(input);
        uses.set_input(g, late, input, g.node(early).input(1));
      }
      uses.remove_dead(g, {freed}, DeadConstants::kStay);
      expect_as_counted(uses, g);
      if (HasFatalFailure()) return;
      EXPECT_TRUE(verify(g).ok());
    }
  }
}

std::vector<std::string> names_found(const Graph& graph) {
  std::vector<std::string> out;
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    if (graph.find_value(graph.value(ValueId{i}).name) == ValueId{i})
      out.push_back(graph.value(ValueId{i}).name);
  return out;
}

TEST(LiveUses, WhatIsDeadIsWhatTheWholeGraphSays) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Philox random(seed, 2);
    Graph g = random_graph(random, 60);
    g.remove_dead();
    LiveUses uses(g);
    for (int change = 0; change < 60; ++change) {
      const std::vector<NodeId> nodes = g.nodes();
      if (nodes.size() < 5) break;
      const NodeId id =
          nodes[static_cast<size_t>(random.below(static_cast<int64_t>(nodes.size())))];
      const ValueId freed = g.node(id).input(1);
      uses.set_input(g, id, 1, g.node(nodes.front()).input(0));
      Graph whole = g;
      EXPECT_EQ(uses.remove_dead(g, {freed}, DeadConstants::kGo), whole.remove_dead());
      EXPECT_EQ(g.nodes(), whole.nodes());
      EXPECT_EQ(g.constants(), whole.constants());
      EXPECT_EQ(names_found(g), names_found(whole));
    }
  }
}

TEST(LiveUses, ReplacingReachesBodiesAndOutputs) {
  Graph g = parse_graph(R"(graph g opset(""=17)
input pick: bool[]
input x: f32[2]
a = Neg(x)
b = Exp(x)
y = If(pick) {then_branch={ graph t
  capture a: f32[2]
  c = Abs(a)
  output c: f32[2]
}, else_branch={ graph e
  capture b: f32[2]
  d = Abs(b)
  output d: f32[2]
}} "choice"
output y: f32[2]
output a: f32[2]
)")
                .value();
  LiveUses uses(g);
  const ValueId a = *g.find_value("a"), b = *g.find_value("b");
  uses.replace(g, a, b);
  expect_as_counted(uses, g);
  EXPECT_EQ(uses.count(a), 0);
  EXPECT_EQ(g.outputs()[1], b);
  const Node& choice = *g.producer(g.outputs()[0]);
  for (const auto& [key, attribute] : choice.attributes) {
    const Graph& body = *std::get<GraphPtr>(attribute.value);
    for (int32_t i = 0; i < body.value_bound(); ++i) {
      const Value& v = body.value(ValueId{i});
      EXPECT_TRUE(v.kind != ValueKind::kCapture || v.captured == b) << key;
    }
  }
  EXPECT_TRUE(verify(g).ok());
}

} // namespace
} // namespace octet
