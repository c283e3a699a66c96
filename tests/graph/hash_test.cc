// SPDX-License-Identifier: Apache-2.0
// The content hash tells graphs apart that compute something else: also by the overload that a node
// calls and by the functions of the model.
#include <gtest/gtest.h>

#include "octet/graph.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

Graph calls() {
  return parse_graph("graph g opset(\"\"=17, \"local\"=1)\ninput x: f32[2]\n"
                     "y = local.Scaled(x) \"call\"\noutput y: f32[2]\n")
      .value();
}

TEST(ContentHash, TellsOverloadsApart) {
  Graph plain = calls(), first = calls(), second = calls();
  const NodeId id = *first.find_node("call");
  first.mutable_node(id).overload = "by_two";
  second.mutable_node(id).overload = "by_three";
  EXPECT_NE(first.content_hash(), second.content_hash());
  EXPECT_NE(first.content_hash(), plain.content_hash());
  EXPECT_EQ(plain.content_hash(), calls().content_hash());
}

TEST(ContentHash, TellsLocalFunctionsApart) {
  const LocalFunction function{
      .domain = "local", .name = "Scaled", .overload = "", .bytes = "by two"};
  Graph graph = calls();
  graph.info.functions = {function};
  const uint64_t hash = graph.content_hash();
  EXPECT_NE(hash, calls().content_hash());
  for (const auto member : {&LocalFunction::domain, &LocalFunction::name, &LocalFunction::overload,
                            &LocalFunction::bytes}) {
    graph.info.functions = {function};
    graph.info.functions.front().*member += "!";
    EXPECT_NE(graph.content_hash(), hash);
  }
  graph.info.functions = {function};
  EXPECT_EQ(graph.content_hash(), hash);
}

} // namespace
} // namespace octet
