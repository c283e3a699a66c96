// SPDX-License-Identifier: Apache-2.0
// The bodies of a node: single graphs and lists of them, all seen and all changed.
#include <memory>

#include "graph/bodies.h"
#include "graph/sizes.h"
#include "graph/verify.h"
#include "passes/edit_bodies.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

GraphPtr capturing(ValueId outer, int constants) {
  Graph body;
  const TypeInfo type = tensor_type(DType::kFloat32, Shape{2});
  ValueId x = body.add_capture("w", outer, type);
  for (int i = 0; i < constants; ++i)
    x = body.emit("Add", {x, body.add_constant("", Tensor::of<float>({2}, {1, 2}))});
  body.mark_output(constants > 0 ? x : body.emit("Identity", {x}));
  return std::make_shared<const Graph>(std::move(body));
}

/// A node of an operator that takes a graph, and a list of two.
NodeId add_node(Graph& g, ValueId captured) {
  Node node;
  node.op_type = "Choose";
  node.domain = "test";
  node.attributes["cases"].value =
      std::vector<GraphPtr>{capturing(captured, 1), capturing(captured, 2)};
  node.attributes["otherwise"].value = capturing(captured, 0);
  node.attributes["to"].value = int64_t{1};
  node.captures = {captured};
  node.outputs = {g.add_value("y", tensor_type(DType::kFloat32, Shape{2}))};
  return g.add_node(std::move(node));
}

TEST(Bodies, AreThoseOfListsToo) {
  Graph g;
  g.opsets[""] = 17;
  const ValueId w = g.add_constant("w", Tensor::of<float>({2}, {3, 4}));
  const ValueId v = g.add_constant("v", Tensor::of<float>({2}, {5, 6}));
  const NodeId id = add_node(g, w);
  g.mark_output(g.node(id).output(0));
  ASSERT_TRUE(verify(g).ok());
  const Graph& same = g;

  std::vector<std::string> keys;
  for (const Body& body : bodies_of(same.node(id)))
    keys.push_back(body.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"cases", "cases", "otherwise"}));
  EXPECT_TRUE(has_bodies(g.node(id)));
  EXPECT_EQ(constant_bytes(g), 8 * 5); // w, v, and three constants in the bodies

  g.replace_uses(w, v);
  for (const Body& body : bodies_of(same.node(id)))
    EXPECT_EQ(body.graph->value(*body.graph->find_value("w")).captured, v);
  EXPECT_TRUE(verify(g).ok());
  EXPECT_FALSE(drop_unused_captures(g, id)) << "a capture that a list of bodies uses";

  for (const MutableBody& body : bodies_of(g.mutable_node(id)))
    body.graph = nullptr;
  EXPECT_FALSE(verify(g).ok());

  g.mutable_node(id).attributes.erase("cases");
  g.mutable_node(id).attributes.erase("otherwise");
  EXPECT_FALSE(has_bodies(g.node(id)));
  EXPECT_TRUE(bodies_of(same.node(id)).empty());
}

} // namespace
} // namespace octet
