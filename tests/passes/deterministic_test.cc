// SPDX-License-Identifier: Apache-2.0
// Which nodes may be computed ahead of a run, or once for two.
#include "graph/bodies.h"
#include "ops/evaluate.h"
#include "passes/pass_support.h"

namespace octet {
namespace {

using test::apply;
using test::parse;

bool of_first(const std::string& lines) {
  const Graph g = parse("graph g opset(\"\"=17, \"mine\"=1)\ninput x: f32[4]\n" + lines);
  return is_deterministic(g.node(g.nodes().front()));
}

TEST(Deterministic, IsWhatDrawsNothing) {
  EXPECT_TRUE(of_first("y = Relu(x)\noutput y: f32[4]\n"));
  EXPECT_TRUE(of_first("y = Constant() {value_float=1.0}\noutput y: f32[]\n"));
  for (const char* op : {"RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"})
    EXPECT_FALSE(of_first("y = " + std::string(op) + "(x)\noutput y: f32[4]\n")) << op;
  EXPECT_FALSE(of_first("y = Dropout(x)\noutput y: f32[4]\n"));
  EXPECT_FALSE(of_first("y = mine.Anything(x)\noutput y: f32[4]\n"));
}

TEST(Deterministic, BodiesAreAskedToo) {
  for (const bool draws : {false, true}) {
    Graph body = parse(std::string("graph body opset(\"\"=17)\ninput x: f32[4]\ny = ") +
                       (draws ? "Dropout" : "Relu") + "(x)\noutput y: f32[4]\n");
    Node node;
    node.op_type = "If";
    node.attributes["then_branch"].value = GraphPtr(std::make_shared<Graph>(body));
    EXPECT_EQ(is_deterministic(node), !draws);
    EXPECT_FALSE(evaluate_constant(Graph{}, node).has_value());
    Node outer;
    outer.op_type = "Loop";
    Graph around;
    around.opsets[""] = 17;
    around.add_node(node);
    outer.attributes["body"].value = GraphPtr(std::make_shared<Graph>(around));
    EXPECT_EQ(is_deterministic(outer), !draws);
  }
}

TEST(Deterministic, UnknownOperatorsStayApart) {
  Graph g = parse(R"(graph g opset(""=17, "mine"=1)
input x: f32[4]
a = mine.Noise(x)
b = mine.Noise(x)
y = Add(a, b)
output y: f32[4]
)");
  EXPECT_TRUE(apply(g, {eliminate_duplicates}).empty());
}

} // namespace
} // namespace octet
