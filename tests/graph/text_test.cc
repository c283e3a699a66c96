// SPDX-License-Identifier: Apache-2.0
// The textual form: what is printed parses back to an equal graph, and errors name the line.
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

constexpr const char* kModel = R"(graph net opset(""=17, "com.microsoft"=1)
input x: f32[N, 1, 28, 28]
input "odd name": i64[batch*2 + 1]
const w: f32[2, 2] = [1.0, -2.5, 3.0, 0.1]
const q: i8[3] = [-128, 0, 127]
const e: f8e4m3fn[2] = [448.0, -0.5]
const s: string[2] = ["a\"b", "c\nd"]
y, _, z = Split(x, _, w) {axis=-1, alpha=0.5, mode="SAME_UPPER", pads=[0, 1], f=[1.0, 2.5], none=ints[]} "node 1"
g = com.microsoft.Gelu(y)
c = Constant() {value=tensor(i64[2], [1, -2])}
output g: f32[*]
output z: undefined[*]
)";

TEST(Text, PrintsWhatItParsed) {
  const Result<Graph> g = parse_graph(kModel);
  ASSERT_TRUE(g.ok()) << g.error().text();
  const std::string text = print(*g);
  const Result<Graph> again = parse_graph(text);
  ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << text;
  EXPECT_EQ(print(*again), text);
  EXPECT_EQ(again->content_hash(), g->content_hash());
  EXPECT_EQ(g->opset("com.microsoft"), 1);
  const Node* split = g->producer(*g->find_value("z"));
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(split->name, "node 1");
  EXPECT_EQ(split->attr_int("axis", 0), -1);
  EXPECT_EQ(split->attr_float("alpha", 0), 0.5F);
  EXPECT_EQ(split->outputs.size(), 3U);
  EXPECT_FALSE(split->outputs[1].valid());
  EXPECT_EQ(g->value(*g->find_value("s")).constant.string_values()[1], "c\nd");
}

TEST(Text, SubgraphsCaptureOuterValues) {
  const char* text = R"(graph main opset(""=17)
input cond: bool[]
input x: f32[4]
y = If(cond) {then_branch={ graph a
  capture x: f32[4]
  t = Neg(x)
  output t: f32[4]
}, else_branch={ graph b
  capture x: f32[4]
  u = Abs(x)
  output u: f32[4]
}}
output y: f32[4]
)";
  const Result<Graph> g = parse_graph(text);
  ASSERT_TRUE(g.ok()) << g.error().text();
  const Node* node = g->producer(*g->find_value("y"));
  ASSERT_EQ(node->captures.size(), 1U);
  EXPECT_EQ(node->captures[0], *g->find_value("x"));
  const Result<Graph> again = parse_graph(print(*g));
  ASSERT_TRUE(again.ok()) << again.error().text() << print(*g);
  EXPECT_EQ(again->content_hash(), g->content_hash());
}

TEST(Text, LargeConstantsComeBackFromTheModel) {
  Graph g;
  g.opsets[""] = 17;
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{100}));
  std::vector<float> values(100);
  for (size_t i = 0; i < 100; ++i)
    values[i] = 0.1F * static_cast<float>(i);
  const ValueId w = g.add_constant("w", Tensor::of<float>({100}, values));
  g.mark_output(g.emit("Add", {x, w}));
  const std::string text = print(g);
  EXPECT_NE(text.find("= @"), std::string::npos);
  EXPECT_FALSE(parse_graph(text).ok());
  const Result<Graph> again = parse_graph(text, &g);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->value(*again->find_value("w")).constant.identical(g.value(w).constant));
}

TEST(Text, ErrorsNameTheLine) {
  struct Case {
    const char* text;
    const char* part;
  };
  const Case cases[] = {
      {"graph g\ninput x f32[1]\n", "line 2"},
      {"graph g\ninput x: f99[1]\n", "\"f99\" is no element type"},
      {"graph g\ny = Relu(x)\n", "value \"x\" is not defined"},
      {"graph g\ninput x: f32[1]\ninput x: f32[1]\n", "defined twice"},
      {"graph g\nconst c: f32[3] = [1, 2]\n", "wants 3 elements but 2 are given"},
      {"graph g\ninput x: f32[1]\ny = Relu(x) {a=[1, \"b\"]}\n", "must be of one kind"},
      {"graph g\noutput y: f32[1]\n", "\"y\" is not defined"},
      {"graph g\ninput x: f32[1]\ny = Relu(x) {a=\"open\n", "no closing quote"},
  };
  for (const Case& c : cases) {
    const Result<Graph> g = parse_graph(c.text);
    ASSERT_FALSE(g.ok()) << c.text;
    EXPECT_NE(g.error().text().find(c.part), std::string::npos) << g.error().text();
  }
}

} // namespace
} // namespace octet
