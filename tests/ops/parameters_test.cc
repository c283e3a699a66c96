// SPDX-License-Identifier: Apache-2.0
// Which constants are parameters: by role, through movement and Q/DQ, and by name.
#include "core/string_util.h"
#include "ops/parameters.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

std::vector<std::string> names(const Graph& graph, const Result<std::vector<Parameter>>& found) {
  EXPECT_TRUE(found.ok()) << found.error().text();
  std::vector<std::string> out;
  for (const Parameter& p : *found)
    out.push_back(graph.value(p.value).name);
  return out;
}

Graph attention_like() {
  Result<Graph> graph = parse_graph(
      "graph g opset(\"\"=19)\ninput x: f32[N, 2]\nconst w: f32[2, 2] = [1, 2, 3, 4]\n"
      "const b: f32[2] = [1, 2]\nconst root: f32[] = [8]\nconst mask: f32[2] = [0, -10000]\n"
      "const s: f32[] = [0.1]\nconst z: i8[] = [0]\nconst shape: i64[2] = [-1, 2]\n"
      "t = Transpose(w) {perm=[1, 0]}\nq = QuantizeLinear(t, s, z)\nd = DequantizeLinear(q, s, z)\n"
      "h = MatMul(x, d)\nk = Gemm(h, w) {transB=1}\ny = Add(k, b)\nv = Div(y, root)\nm = Add(v, "
      "mask)\n"
      "r = Reshape(m, shape)\noutput r: f32[N, 2]\n");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

TEST(Parameters, AreConstantsWithATrainableRole) {
  const Graph graph = attention_like();
  // Scales, shapes, masks and scalars are constants too, and none; w counts once for its two uses.
  EXPECT_EQ(names(graph, trainable_parameters(graph)), (std::vector<std::string>{"w", "b"}));
}

TEST(Parameters, AreFollowedThroughWhatMovesByPlace) {
  const Result<Graph> graph = parse_graph(
      "graph g opset(\"\"=19)\ninput x: f32[N, 2]\nconst table: f32[3, 2] = [1, 2, 3, 4, 5, 6]\n"
      "const ids: i64[2] = [0, 2]\nconst low: f32[2, 2] = [1, 2, 3, 4]\n"
      "const zero: f32[1] = [0]\nconst on: bool[2, 2] = [1, 0, 0, 1]\n"
      "const images: f32[1, 4, 1, 1] = [1, 2, 3, 4]\nconst shape: i64[2] = [2, 2]\n"
      "e = Gather(table, ids)\na = MatMul(x, e)\n" // its role is said by Gather itself
      "d = DepthToSpace(images) {blocksize=2}\nw = Reshape(d, shape)\nb = MatMul(a, w)\n"
      "m = Where(on, low, zero)\ny = MatMul(b, m)\n" // the zero in its holes is no parameter
      "output y: f32[N, 2]\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(names(*graph, trainable_parameters(*graph)),
            (std::vector<std::string>{"table", "images"}));
}

TEST(Parameters, AreFollowedThroughAClipOfCodesAlone) {
  const Result<Graph> graph = parse_graph(
      "graph g opset(\"\"=19)\ninput x: f32[N, 2]\nconst w: f32[2, 2] = [1, 2, 3, 4]\n"
      "const v: f32[2, 2] = [1, 2, 3, 4]\nconst s: f32[] = [0.1]\nconst z: i8[] = [0]\n"
      "const lo: i8[] = [-8]\nconst hi: i8[] = [7]\nconst least: f32[] = [-3]\n"
      "q = QuantizeLinear(w, s, z)\nc = Clip(q, lo, hi)\nd = DequantizeLinear(c, s, z)\n"
      "h = MatMul(x, d)\nk = Clip(v, least)\ny = MatMul(h, k)\noutput y: f32[N, 2]\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(names(*graph, trainable_parameters(*graph)), (std::vector<std::string>{"w"}));
}

TEST(Parameters, FollowNamePatterns) {
  const Graph graph = attention_like();
  const std::vector<std::string> train = {"ro*"}, freeze = {"w"}, wrong = {"i64"};
  EXPECT_EQ(names(graph, trainable_parameters(graph, train, freeze)),
            (std::vector<std::string>{"b", "root"}));
  const Result<std::vector<Parameter>> bad = trainable_parameters(graph, {}, wrong);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("\"i64\" matches no float constant"), std::string::npos);
}

TEST(Patterns, MatchAnyCharactersAtStars) {
  EXPECT_TRUE(glob_match("encoder.*.weight", "encoder.3.attn.weight"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "aXbXbXc"));
  EXPECT_FALSE(glob_match("a*b", "ac"));
  EXPECT_FALSE(glob_match("", "a"));
  // A pattern that sends naive matchers into exponential time.
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

} // namespace
} // namespace octet
