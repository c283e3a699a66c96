// SPDX-License-Identifier: Apache-2.0
// What is said of nodes and weights in the bodies of If: where check found it, which weights were
// looked at, and that a bound on them is told.
#include <algorithm>
#include <string>

#include "graph/bodies.h"
#include "ops/infer.h"
#include "targets/checks.h"
#include "view/measured.h"
#include "view/picture.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

/// The same names in both branches; only the second one's codes are refused, and one of them reads
/// what a node outside makes.
Graph with_branches() {
  const auto branch = [](const std::string& result, const std::string& zero) {
    return "  capture r: f32[2, 4]\n  capture w: f32[4, 2]\n  const s: f32[] = [0.1]\n"
           "  const z: i8[] = [" +
           zero +
           "]\n  const own: f32[2, 3] = [1, -2, 3, 4, -5, 6]\n"
           "  q = QuantizeLinear(r, s, z) \"to_codes\"\n  d = DequantizeLinear(q, s, z)\n"
           "  p = MatMul(d, w) \"product\"\n  " +
           result + " = MatMul(p, own) \"second\"\n  output " + result + ": f32[2, 3]\n";
  };
  return parse_graph("graph g opset(\"\"=17)\ninput c: bool[]\ninput x: f32[2, 4]\n"
                     "const w: f32[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
                     "r = Relu(x) \"before\"\ny = If(c) {then_branch={ graph a\n" +
                     branch("t", "0") + "}, else_branch={ graph e\n" + branch("u", "3") +
                     "}} \"choice\"\noutput y: f32[2, 3]\n")
      .value();
}

TEST(CheckPlaces, LeadToTheNodeOfTheBody) {
  const Graph graph = with_branches();
  const auto found = check_places(graph, "tensorrt-10").value();
  const auto plain = check(graph, "tensorrt-10").value();
  ASSERT_EQ(found.size(), plain.size());
  ASSERT_EQ(found.size(), 2U); // of Q and of DQ
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].finding.node, plain[i].node);
    EXPECT_FALSE(plain[i].id.valid());
    ASSERT_EQ(found[i].place.bodies.size(), 1U);
    const Node& holder = graph.node(found[i].place.bodies[0].node);
    EXPECT_EQ(holder.name, "choice");
    const Body body = bodies_of(holder)[found[i].place.bodies[0].body];
    EXPECT_EQ(body.key, "else_branch");
    EXPECT_EQ(plain[i].node, "If \"choice\" else_branch: " +
                                 label(*body.graph, body.graph->node(found[i].place.node)));
  }
}

/// Nodes by name in a body, as the page has them.
const view::PictureNode&
in_body(const view::Picture& picture, const std::string& body, const std::string& name) {
  const auto found =
      std::find_if(picture.nodes.begin(), picture.nodes.end(), [&](const view::PictureNode& node) {
        return node.name == name && node.scope >= 0 &&
               picture.scopes[static_cast<size_t>(node.scope)].name == body;
      });
  EXPECT_NE(found, picture.nodes.end()) << body << " " << name;
  return *found;
}

TEST(Picture, HasFindingsAtNodesOfBodies) {
  const view::Picture picture =
      view::picture_of(with_branches(), "m", {"onnxruntime", "tensorrt-10"}, view::Codes::kFolded)
          .value();
  EXPECT_TRUE(picture.findings.empty());
  for (const view::PictureNode& node : picture.nodes) {
    if (node.scope < 0) continue;
    const bool refused = &node == &in_body(picture, "else_branch", "product");
    ASSERT_EQ(node.facts.contains("on"), refused) << node.name;
    if (!refused) continue;
    EXPECT_TRUE(node.facts["on"][0].empty());
    EXPECT_EQ(node.facts["on"][1]["precision"], "refused");
    EXPECT_EQ(node.facts["on"][1]["findings"].size(), 2U);
    EXPECT_EQ(node.facts["on"][1]["findings"][0]["at"],
              "If \"choice\" else_branch: QuantizeLinear \"to_codes\"");
  }
  // What makes the numbers stands outside, and nothing is wrong with it.
  const auto& outside = picture.nodes[static_cast<size_t>(picture.node_named.at("before"))];
  EXPECT_FALSE(outside.facts["on"][1].contains("findings"));
}

const nlohmann::ordered_json& weight(const view::Picture& picture,
                                     const view::PictureNode& reader) {
  return picture.values[static_cast<size_t>(reader.inputs[1])].facts;
}

TEST(Picture, HasWeightsOfBodiesAndSaysWhatWasLeftOut) {
  Graph graph = with_branches();
  ASSERT_TRUE(infer_types(graph).ok());
  for (const int64_t most : {int64_t{19}, int64_t{20}}) {
    view::Picture picture = view::picture_of(graph, "m", {}, view::Codes::kFolded).value();
    ASSERT_TRUE(view::look_at_constants(graph, picture, most).ok());
    for (const char* body : {"then_branch", "else_branch"})
      EXPECT_EQ(weight(picture, in_body(picture, body, "product"))["seen"]["largest"], 8);
    size_t seen = 0, told = 0;
    for (const char* body : {"then_branch", "else_branch"}) {
      const auto& own = weight(picture, in_body(picture, body, "second"));
      EXPECT_NE(own.contains("seen"), own.contains("unseen"));
      seen += own.contains("seen") ? 1 : 0;
      told += own.contains("unseen") ? 1 : 0;
      if (own.contains("seen")) {
        EXPECT_EQ(own["seen"]["least"], -5);
      }
    }
    EXPECT_EQ(seen, most == 19 ? 1U : 2U); // 8 outside, 6 in each branch
    EXPECT_EQ(told, most == 19 ? 1U : 0U);
  }
}

} // namespace
} // namespace octet
