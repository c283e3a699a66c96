// SPDX-License-Identifier: Apache-2.0
// repair of zero points by a shift: the file's codes stay, no Add comes between a dequantizer and a
// product, and constants take up what can be taken up.
#include <cmath>
#include <random>

#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/repair.h"

namespace octet {
namespace {

/// Values that lie on no tie between two codes of a scale of 0.1.
std::vector<float> numbers(int64_t count) {
  std::mt19937 random(5);
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) {
    const double steps = static_cast<double>(random() % 700) - 350;
    out.push_back(
        static_cast<float>(0.1 * (steps + static_cast<double>(random() % 81) / 100 - 0.4)));
  }
  return out;
}

std::string constant(const std::string& name, const std::string& shape, int64_t count) {
  std::mt19937 random(static_cast<unsigned>(count));
  std::string out = "const " + name + ": f32" + shape + " = [";
  for (int64_t i = 0; i < count; ++i)
    out += (i != 0 ? ", " : "") + std::to_string(static_cast<double>(random() % 2001) / 1000 - 1);
  return out + "]\n";
}

/// `x` of [2, 6, 8], the scale 0.1 and zero points u8 of 37 and i8 of -9; what `body` computes is
/// y.
Graph network(const std::string& body, const std::string& out) {
  return parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 6, 8]\nconst s: f32[] = [0.1]\n"
                     "const t: f32[] = [0.7]\nconst u: u8[] = [37]\nconst i: i8[] = [-9]\n" +
                     constant("w", "[8, 4]", 32) + constant("b", "[4]", 4) +
                     constant("g", "[8]", 8) + constant("h", "[8]", 8) + body + "\noutput y: f32" +
                     out + "\n")
      .value();
}

Tensor values_of(const Graph& graph) {
  const auto x = numbers(96);
  const std::vector<Tensor> in = {Tensor::of<float>({2, 6, 8}, std::span<const float>(x))};
  return make_reference_executor(graph).value()->run(in).value().at(0);
}

int nodes_of(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const NodeId id : graph.nodes())
    n += graph.node(id).op_type == op ? 1 : 0;
  return n;
}

/// Repairs, by a shift alone, and expects the file's numbers.
Graph shifted(const std::string& body, const std::string& out = "[2, 6, 4]") {
  const Graph graph = network(body, out);
  const Repaired repaired = repair(graph, "tensorrt-10").value();
  EXPECT_TRUE(accepted(repaired.left)) << test::has_rule(repaired.left, "zero-point-not-zero");
  for (const Change& change : repaired.changes)
    EXPECT_TRUE(change.rule == "shift_activation" || change.rule == "lower_ir_version")
        << change.rule;
  const Tensor was = values_of(graph), is = values_of(repaired.graph);
  EXPECT_EQ(was.shape(), is.shape());
  for (int64_t k = 0; k < was.count(); ++k)
    EXPECT_NEAR(was.at(k), is.at(k), 2e-5 * (1 + std::abs(was.at(k)))) << "element " << k;
  return repaired.graph;
}

TEST(RepairShift, AProductTakesItInItsBias) {
  const Graph graph = shifted("q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
                              "m = MatMul(d, w)\ny = Add(b, m)");
  EXPECT_EQ(nodes_of(graph, "Add"), 2); // before Q, and the bias
  const Graph without = shifted("q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
                                "y = MatMul(d, w)");
  EXPECT_EQ(nodes_of(without, "Add"), 2);
  for (const NodeId id : graph.nodes())
    if (graph.node(id).op_type == "MatMul") {
      EXPECT_EQ(graph.producer(graph.node(id).input(0))->op_type, "DequantizeLinear");
    }
}

TEST(RepairShift, GemmAndUnpaddedConvTakeItInTheirBias) {
  EXPECT_EQ(nodes_of(shifted("f = Flatten(x) {axis=2}\nq = QuantizeLinear(f, s, i)\n"
                             "d = DequantizeLinear(q, s, i)\ny = Gemm(d, w, b) {alpha=0.3}",
                             "[12, 4]"),
                     "Add"),
            1);
  const std::string kernel = constant("k", "[4, 3, 3]", 36);
  EXPECT_EQ(nodes_of(shifted(kernel + "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
                                      "y = Conv(d, k, b) {group=2, strides=[2]}",
                             "[2, 4, 3]"),
                     "Add"),
            1);
}

TEST(RepairShift, WhatMadeTheValueTakesItWhereNothingElseReadsIt) {
  const std::string end = "q = QuantizeLinear(v, s, u)\nd = DequantizeLinear(q, s, u)\n"
                          "m = MatMul(d, w)\ny = Add(m, b)";
  EXPECT_EQ(nodes_of(shifted("v = LayerNormalization(x, g, h) {axis=-1}\n" + end), "Add"), 1);
  EXPECT_EQ(nodes_of(shifted("v = LayerNormalization(x, g) {axis=-1}\n" + end), "Add"), 1);
  EXPECT_EQ(nodes_of(shifted("v = Add(x, h)\n" + end), "Add"), 2);
  EXPECT_EQ(
      nodes_of(shifted("v = Add(x, h)\n" + end + "\nz = Neg(v)\noutput z: f32[2, 6, 8]"), "Add"),
      3);
}

TEST(RepairShift, AChainOfEqualCodesIsShiftedOnce) {
  const Graph graph = shifted("q = QuantizeLinear(x, s, i)\nd = DequantizeLinear(q, s, i)\n"
                              "p = Transpose(d) {perm=[0, 2, 1]}\nr = QuantizeLinear(p, s, i)\ne = "
                              "DequantizeLinear(r, s, i)\n"
                              "a = Transpose(e) {perm=[0, 2, 1]}\no = QuantizeLinear(a, s, i)\nf = "
                              "DequantizeLinear(o, s, i)\n"
                              "m = MatMul(f, w)\ny = Add(m, b)");
  EXPECT_EQ(nodes_of(graph, "Add"), 2);
}

TEST(RepairShift, AllElseReadsAnAddition) {
  const Graph graph = shifted("q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
                              "m = MatMul(d, w)\nn = MatMul(d, w)\nk = Mul(m, n)\ne = Exp(d)\n"
                              "l = ReduceMax(e) {axes=[-1], keepdims=1}\ny = Add(k, l)");
  EXPECT_EQ(nodes_of(graph, "Add"),
            5); // before Q, behind both products, before Exp, and the file's
  for (const NodeId id : graph.nodes())
    if (graph.node(id).op_type == "MatMul") {
      EXPECT_EQ(graph.producer(graph.node(id).input(0))->op_type, "DequantizeLinear");
    }
}

TEST(RepairShift, AProductOfTwoActivationsIsGivenTheSumsOfTheOther) {
  const std::string both =
      "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\nr = QuantizeLinear(x, t, i)\n"
      "e = DequantizeLinear(r, t, i)\np = Transpose(e) {perm=[0, 2, 1]}\ny = MatMul(d, p)";
  const Graph graph = shifted(both, "[2, 6, 6]");
  EXPECT_EQ(nodes_of(graph, "ReduceSum"), 2);
  for (const NodeId id : graph.nodes())
    if (graph.node(id).op_type == "MatMul") {
      EXPECT_EQ(graph.producer(graph.node(id).input(0))->op_type, "DequantizeLinear");
      EXPECT_EQ(graph.producer(graph.node(id).input(1))->op_type, "Transpose");
    }
  // On the left stands a constant, behind a softmax what has no negative values.
  EXPECT_EQ(nodes_of(shifted(constant("l", "[4, 6]", 24) +
                                 "q = QuantizeLinear(x, s, i)\nd = DequantizeLinear(q, s, i)\n"
                                 "y = MatMul(l, d)",
                             "[2, 4, 8]"),
                     "ReduceSum"),
            1);
  EXPECT_EQ(nodes_of(shifted("const o: f32[] = [0.003]\nconst z: u8[] = [0]\n"
                             "m = Softmax(x) {axis=-1}\nq = QuantizeLinear(m, o, z)\n"
                             "d = DequantizeLinear(q, o, z)\n"
                             "p = Transpose(x) {perm=[0, 2, 1]}\ny = MatMul(d, p)",
                             "[2, 6, 6]"),
                     "ReduceSum"),
            1);
}

TEST(RepairShift, RowsOfATableAreShiftedBehindGather) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: i64[3]\n"
                                  "const c: u8[4, 2] = [0, 255, 3, 77, 128, 200, 9, 1]\n"
                                  "const s: f32[] = [0.1]\nconst u: u8[] = [90]\n"
                                  "d = DequantizeLinear(c, s, u)\ny = Gather(d, x)\n"
                                  "output y: f32[3, 2]\n")
                          .value();
  const Repaired repaired = repair(graph, "tensorrt-10").value();
  EXPECT_TRUE(accepted(repaired.left));
  EXPECT_EQ(repaired.changes.front().rule, "shift_table");
  const std::vector<Tensor> x = {Tensor::of<int64_t>({3}, {0, 3, 2})};
  const Tensor was = make_reference_executor(graph).value()->run(x).value().at(0);
  const Tensor is = make_reference_executor(repaired.graph).value()->run(x).value().at(0);
  for (int64_t k = 0; k < was.count(); ++k)
    EXPECT_NEAR(was.at(k), is.at(k), repaired.changes.front().max_error.value()) << k;
}

TEST(RepairShift, AConstantsCodesAreNotRoundedBeforeTheyAreShifted) {
  // erf + 1 as quantize_static codes it: 1 is 255 codes of s / 2, which is no float, and every sum
  // lies on a tie between two codes. With 1 for it half of all codes would become one less.
  const Graph graph =
      parse_graph(
          "graph g opset(\"\"=17, \"com.microsoft\"=1)\ninput x: f32[255]\n"
          "const s: f32[] = [0.007843137718737125]\nconst h: f32[] = "
          "[0.0039215688593685627]\nconst z: i8[] = [0]\nconst l: i8[] = [-128]\n"
          "const n: f32[] = [1]\none = QuantizeLinear(n, h, l)\nq = QuantizeLinear(x, s, z)\n"
          "a = com.microsoft.QLinearAdd(q, s, z, one, h, l, s, l)\n"
          "y = DequantizeLinear(a, s, l)\noutput y: f32[255]\n")
          .value();
  std::vector<float> x;
  for (int code = -127; code <= 127; ++code)
    x.push_back(static_cast<float>(code) * 0.007843137718737125F);
  const std::vector<Tensor> in = {Tensor::of<float>({255}, std::span<const float>(x))};
  const Repaired repaired = repair(graph, "tensorrt-10").value();
  EXPECT_TRUE(accepted(repaired.left));
  const Tensor was = make_reference_executor(graph).value()->run(in).value().at(0);
  const Tensor is = make_reference_executor(repaired.graph).value()->run(in).value().at(0);
  int others = 0;
  for (int64_t k = 0; k < was.count(); ++k)
    others += std::abs(was.at(k) - is.at(k)) > 1e-6 ? 1 : 0;
  EXPECT_LE(others, 1) << "sums of floats miss a tie now and then";
}

std::string rule_of(const std::string& body,
                    const std::string& out,
                    ZeroPointForm form = ZeroPointForm::kShift) {
  RepairOptions options;
  options.zero_points = form;
  const Repaired repaired = repair(network(body, out), "tensorrt-10", options).value();
  EXPECT_TRUE(accepted(repaired.left));
  return repaired.changes.empty() ? "" : repaired.changes.front().rule;
}

TEST(RepairShift, AWiderScaleWhereTheConstantWouldNotBeOne) {
  const std::string pair = "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n";
  const std::string two = pair + "p = Transpose(d) {perm=[0, 2, 1]}\ny = MatMul(d, p)";
  EXPECT_EQ(rule_of(two, "[2, 6, 6]"), "symmetric_activation");
  const std::string kernel = constant("k", "[4, 6, 3]", 72);
  EXPECT_EQ(rule_of(kernel + pair + "y = Conv(d, k, b) {pads=[1, 1]}", "[2, 4, 8]"),
            "symmetric_activation");
  EXPECT_EQ(rule_of(pair + "y = MatMul(d, w)", "[2, 6, 4]", ZeroPointForm::kWiden),
            "symmetric_activation");
  EXPECT_EQ(rule_of(pair + "y = MatMul(d, w)", "[2, 6, 4]"), "shift_activation");
}

} // namespace
} // namespace octet
