// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"
#include "quant/steps/network_blocks.h"
#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet::test {
namespace {

std::vector<NodeId> nodes_named(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<NodeId> out;
  out.reserve(names.size());
  for (const std::string& name : names)
    out.push_back(graph.find_node(name).value());
  return out;
}

/// "products > outputs | ...", the inputs in brackets.
std::string shown(const Graph& graph, const std::vector<std::string>& products, size_t least) {
  const auto blocks = network_blocks(graph, nodes_named(graph, products), least).value();
  std::string out;
  for (const NetworkBlock& block : blocks) {
    out += out.empty() ? "" : " | ";
    for (const NodeId id : block.products)
      out += graph.node(id).name + " ";
    out += ">";
    for (const ValueId v : block.outputs)
      out += " " + graph.value(v).name;
    out += " [";
    for (const ValueId v : block.inputs)
      out += (out.back() == '[' ? "" : " ") + graph.value(v).name;
    out += "]";
  }
  return out;
}

Graph blocks_graph() {
  Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 4]
input mask: f32[N, 4]
const wa: f32[4, 4] = ?
const wb: f32[4, 4] = ?
const wc: f32[4, 4] = ?
const wd: f32[4, 4] = ?
const we: f32[4, 4] = ?
m = Sigmoid(mask) "gate"
a = MatMul(x, wa) "a"
r = Relu(a) "relu"
b = MatMul(r, wb) "b"
c = MatMul(b, wc) "c"
s = Add(c, r) "sum"
d = MatMul(s, wd) "d"
e = Mul(d, m) "masked"
f = Add(e, s) "sum2"
y = MatMul(f, we) "e"
output y: f32[N, 4]
)");
  EXPECT_TRUE(infer_types(graph).ok());
  return graph;
}

TEST(NetworkBlocks, AShortcutKeepsABlockTogetherAndAMaskGoesPast) {
  const Graph graph = blocks_graph();
  EXPECT_EQ(shown(graph, {"a", "b", "c", "d", "e"}, 1),
            "a > a [x] | b c > s [a] | d > f [m s] | e > y [f]");
}

TEST(NetworkBlocks, SmallOnesAreJoined) {
  const Graph graph = blocks_graph();
  EXPECT_EQ(shown(graph, {"a", "b", "c", "d", "e"}, 2), "a b c > s [x] | d e > y [m s]");
  // What is left over goes to the one before.
  EXPECT_EQ(shown(graph, {"a", "b", "c", "d"}, 2), "a b c d > y [x m]");
  EXPECT_EQ(shown(graph, {"d"}, 2), "d > y [m s]");
}

TEST(NetworkBlocks, APartComputesWhatTheNetworkDoes) {
  const Graph graph = blocks_graph();
  const auto blocks =
      network_blocks(graph, nodes_named(graph, {"a", "b", "c", "d", "e"}), 1).value();
  const Tensor x = random_tensor({3, 4}, 1), mask = random_tensor({3, 4}, 2);
  std::map<ValueId, Tensor> made = {{graph.inputs()[0], x}, {graph.inputs()[1], mask}};
  Graph gate = graph;
  gate.set_outputs({*graph.find_value("m")});
  const Tensor inputs[] = {x, mask};
  made[*graph.find_value("m")] = make_reference_executor(gate).value()->run(inputs).value().front();
  for (const NetworkBlock& block : blocks) {
    const Graph part = part_between(graph, block.inputs, block.outputs).value();
    ASSERT_EQ(part.inputs().size(), block.inputs.size());
    std::vector<Tensor> given;
    for (const ValueId v : block.inputs) {
      if (!made.contains(v)) {
        Graph upto = graph;
        upto.set_outputs({v});
        made[v] = make_reference_executor(upto).value()->run(inputs).value().front();
      }
      given.push_back(made.at(v));
    }
    made[block.outputs.front()] = make_reference_executor(part).value()->run(given).value().front();
  }
  const Tensor wanted = make_reference_executor(graph).value()->run(inputs).value().front();
  EXPECT_TRUE(made.at(graph.outputs().front()).identical(wanted));
}

} // namespace
} // namespace octet::test
