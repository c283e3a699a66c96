// SPDX-License-Identifier: Apache-2.0
// The ordered operators of com.microsoft against what they are written as, by the reference.
#include <set>

#include "passes/pass_support.h"

namespace octet {
namespace {

using test::parse;

/// As operators of ai.onnx no code is more than one step off.
void expect_steps(const std::string& body, const std::string& opset = "17") {
  test::expect_standard(
      parse("graph g opset(\"\"=" + opset + ", \"com.microsoft\"=1)\nconst z: i8[] = [0]\n" + body),
      1);
}

void expect_left(const std::string& body) {
  Graph g = parse("graph g opset(\"\"=17, \"com.microsoft\"=1)\nconst z: i8[] = [0]\n" + body);
  const auto steps = rewrite(g, standard_operator_rules());
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  EXPECT_TRUE(steps->empty());
}

std::string list(const std::string& name,
                 const std::string& type,
                 int count,
                 const std::function<std::string(int)>& value) {
  std::string out = "const " + name + ": " + type + " = [";
  for (int i = 0; i < count; ++i)
    out += (i == 0 ? "" : ", ") + value(i);
  return out + "]\n";
}

std::string codes(const std::string& name, const std::string& shape, int count) {
  return list(name, "i8" + shape, count,
              [](int i) { return std::to_string((i * 37 + 11) % 201 - 100); });
}

std::string floats(const std::string& name, int count) {
  return list(name, "f32[" + std::to_string(count) + "]", count,
              [](int i) { return std::to_string((i * 37 + 11) % 19 * 0.05 + 0.1); });
}

TEST(OrderedStandard, CodesInEveryOrder) {
  for (const char* from : {"0", "1", "2", "3", "4"})
    for (const char* to : {"0", "1", "2", "3", "4"}) {
      SCOPED_TRACE(std::string(from) + " to " + to);
      const std::string orders = std::string(" {order_input=") + from + ", order_output=" + to;
      expect_steps("input x: f32[2, 32, 64]\nconst s: f32[] = [0.01]\n"
                   "q = com.microsoft.QuantizeWithOrder(x, s)" +
                   orders + "}\ny = com.microsoft.DequantizeWithOrder(q, s)" + orders +
                   ", to=1}\noutput y: f32[2, 32, 64]\noutput q: i8[2, 32, 64]\n");
    }
}

TEST(OrderedStandard, CodesOfHalfPrecision) {
  expect_steps("input x: f16[N, 4, 32]\nconst s: f32[1] = [0.01]\n"
               "q = com.microsoft.QuantizeWithOrder(x, s) {order_input=1, order_output=2}\n"
               "y = com.microsoft.DequantizeWithOrder(q, s) {order_input=2, order_output=1, "
               "to=10}\noutput y: f16[N, 4, 32]\noutput q: i8[N, 4, 32]\n");
}

TEST(OrderedStandard, ProductsRowAfterRow) {
  const std::string head = "input x: f32[N, 3, 4]\ninput r: f32[N, 3, 5]\n"
                           "const s: f32[] = [0.01]\nconst t: f32[] = [0.03]\n"
                           "q = QuantizeLinear(x, s, z)\nc = QuantizeLinear(r, t, z)\n" +
                           codes("w", "[4, 5]", 20) + floats("b", 5) + floats("columns", 5);
  for (const char* call : {"(q, s, w, s, t)", "(q, s, w, s, t, b)", "(q, s, w, columns, t, b)",
                           "(q, s, w, columns, t, _, c, t)", "(q, s, w, s, t, b, c, t)"})
    for (const char* opset : {"13", "17", "21"}) {
      SCOPED_TRACE(std::string(call) + " at " + opset);
      expect_steps(head + "y = com.microsoft.QOrderedMatMul" + call +
                       " {order_A=1, order_B=0, order_Y=1}\noutput y: i8[N, 3, 5]\n",
                   opset);
    }
}

TEST(OrderedStandard, ProductsInTiles) {
  for (const char* order : {"3", "4"})
    expect_steps("input x: f32[2, 3, 64]\nconst s: f32[] = [0.01]\nconst t: f32[] = [0.5]\n"
                 "q = com.microsoft.QuantizeWithOrder(x, s) {order_input=1, order_output=2}\n" +
                 codes("w", "[64, 32]", 2048) +
                 "p = com.microsoft.QOrderedMatMul(q, s, w, s, t) {order_A=2, order_B=" + order +
                 ", order_Y=2}\ny = com.microsoft.DequantizeWithOrder(p, t) {order_input=2, "
                 "order_output=1, to=1}\noutput y: f32[2, 3, 32]\noutput p: i8[2, 3, 32]\n");
}

TEST(OrderedStandard, GeluAndLayerNormalization) {
  const std::string head = "input x: f32[2, 3, 32]\nconst s: f32[] = [0.01]\n"
                           "const t: f32[] = [0.02]\nq = QuantizeLinear(x, s, z)\n";
  for (const char* opset : {"13", "17", "20"}) {
    expect_steps(head + "y = com.microsoft.QOrderedGelu(q, s, t)\noutput y: i8[2, 3, 32]\n", opset);
    for (const char* order : {"1", "2"})
      for (const char* bias : {"b", "_"})
        expect_steps(head + floats("g", 32) + floats("b", 32) +
                         "y = com.microsoft.QOrderedLayerNormalization(q, s, g, " + bias +
                         ", t) {order_X=" + order + ", order_Y=" + order +
                         "}\noutput y: i8[2, 3, 32]\n",
                     opset);
  }
}

TEST(OrderedStandard, LayerNormalizationWithHalfGains) {
  for (const char* opset : {"13", "17"})
    expect_steps("input x: f32[2, 3, 4]\nconst s: f32[] = [0.01]\nconst t: f32[] = [0.02]\n"
                 "const g: f16[4] = [1.0, 0.5, 0.25, 2.0]\nconst b: f16[4] = [0.5, 0, -1, 1]\n"
                 "q = QuantizeLinear(x, s, z)\n"
                 "y = com.microsoft.QOrderedLayerNormalization(q, s, g, b, t) {epsilon=0.01}\n"
                 "output y: i8[2, 3, 4]\n",
                 opset);
}

std::string attention(const std::string& mask, const std::string& arguments, const char* more) {
  return "input x: f32[N, 3, 4]\n" + (mask.empty() ? "" : "input m: i32" + mask + "\n") +
         "const s: f32[] = [0.01]\nconst t: f32[] = [0.02]\nconst p: f32[] = [0.0079]\n" +
         codes("wq", "[4, 4]", 16) + codes("wk", "[4, 4]", 16) + codes("wv", "[4, 6]", 24) +
         floats("b", 4) + floats("bv", 6) + floats("columns", 6) +
         "q = QuantizeLinear(x, s, z)\ny = com.microsoft.QOrderedAttention(q, s, t, t, t, wq, wk, "
         "wv, s, s, " +
         arguments + ") {num_heads=2, order_input=1, order_weight=0, order_output=1, " +
         "qkv_hidden_sizes=[4, 4, 6]" + more + "}\noutput y: i8[N, 3, 6]\n";
}

TEST(OrderedStandard, AttentionWithEachMask) {
  for (const char* mask : {"", "[N]", "[N, 3]", "[N, 3, 3]"}) {
    SCOPED_TRACE(mask);
    const std::string last = mask[0] != '\0' ? ", m" : "";
    expect_steps(attention(mask, "s, b, b, bv, s, p, t" + last, ""));
    expect_steps(attention(mask, "columns, b, b, bv, _, _, t" + last, ""));
  }
}

TEST(OrderedStandard, NodesWithoutNamesGetDifferentOnes) {
  Graph g = parse("graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput q: i8[2, 32]\n"
                  "const s: f32[] = [0.1]\na = com.microsoft.QOrderedGelu(q, s, s)\n"
                  "y = com.microsoft.QOrderedGelu(a, s, s)\noutput y: i8[2, 32]\n");
  ASSERT_TRUE(rewrite(g, standard_operator_rules()).ok());
  std::set<std::string> names;
  for (const NodeId id : g.nodes())
    EXPECT_TRUE(names.insert(g.node(id).name).second) << g.node(id).name;
}

TEST(OrderedStandard, LeftAloneWhereNothingStandardIsTheSame) {
  expect_left(attention("", "s, b, b, bv, s, p, t", ", unidirectional=1"));
  // A scale and weights that are computed.
  expect_left("input q: i8[2, 32]\ninput s: f32[]\n"
              "y = com.microsoft.QOrderedGelu(q, s, s)\noutput y: i8[2, 32]\n");
  expect_left("input q: i8[2, 4]\ninput w: i8[4, 4]\nconst s: f32[] = [0.1]\n"
              "y = com.microsoft.QOrderedMatMul(q, s, w, s, s) {order_A=1, order_B=0, order_Y=1}\n"
              "output y: i8[2, 4]\n");
}

} // namespace
} // namespace octet
