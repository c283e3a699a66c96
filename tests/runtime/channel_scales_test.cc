// SPDX-License-Identifier: Apache-2.0
// What is one number a channel behind or before products of codes is part of their scales: batch norm,
// factors, and activations with a scale for each channel.
#include <algorithm>

#include "runtime/ramp.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

std::string weights(const std::string& name, const std::string& shape, int count) {
  std::string text = fmt::format("const {}: i8{} = [", name, shape);
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", i * 5 % 9 - 4);
  return text + "]\n";
}

/// Bit for bit what the reference makes of the graph, by these operators alone. All numbers are sums
/// of powers of two, so that no order of the same arithmetic rounds.
void expect_operators(const std::string& text,
                      const Shape& shape,
                      const std::vector<std::string>& operators) {
  const Graph model = parse_graph(text).value();
  const std::vector<Tensor> inputs = {ramp(shape)};
  const auto want = make_reference_executor(model).value()->run(inputs).value();
  auto session = Session::create(model, {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.error().text();
  const auto got = session->run(inputs).value();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(got[i].identical(want[i])) << "output " << i;
  std::vector<std::string> seen;
  for (const PlannedNode& node : session->plan())
    seen.push_back(node.op_type);
  EXPECT_EQ(seen, operators);
}

constexpr const char* kHead =
    "graph g opset(\"\"=17)\ninput x: f32[2, 2, 5, 5]\n"
    "const s: f32[] = [0.125]\nconst z: i8[] = [0]\nconst six: f32[] = [6]\n"
    "const by: f32[3] = [0.0078125, 0.015625, 0.015625]\nconst zs: u8[3] = [0, 0, 0]\n"
    "const b: f32[3] = [0.5, -1, 2]\nconst ws: f32[3] = [0.25, 0.5, 0.125]\n"
    "const gain: f32[3] = [2, -0.5, 1]\nconst bias: f32[3] = [1, 0.5, -0.25]\n"
    "const mean: f32[3] = [0.5, 0, -1]\nconst var: f32[3] = [4, 0.25, 1]\n"
    "xq = QuantizeLinear(x, s, z)\nxd = DequantizeLinear(xq, s, z)\n";

std::string convolution() {
  return weights("w", "[3, 2, 1, 1]", 6) +
         "wd = DequantizeLinear(w, ws) {axis=0}\nc = Conv(xd, wd, b) {kernel_shape=[1, 1]}\n";
}

TEST(ChannelScales, ABlockAsNncfWritesIt) {
  std::string text = kHead + convolution() +
                     "n = BatchNormalization(c, gain, bias, mean, var) {epsilon=0.0}\n"
                     "r = Relu(n)\nm = Min(r, six)\n"
                     "q = QuantizeLinear(m, by, zs) {axis=1}\n"
                     "d = DequantizeLinear(q, by, zs) {axis=1}\n";
  text += weights("v", "[3, 1, 3, 3]", 27) +
          "vd = DequantizeLinear(v, ws) {axis=0}\n"
          "e = Conv(d, vd) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=3}\n"
          "k = BatchNormalization(e, gain, bias, mean, var) {epsilon=0.0}\n"
          "y = QuantizeLinear(k, s, z)\noutput y: i8[2, 3, 5, 5]\n";
  // Codes end at 2, 4 and 4, before the 6 of Min.
  expect_operators(text, {2, 2, 5, 5}, {"Quantize", "Transpose", "QConv", "QConv", "Transpose"});
  // Codes of the last channel end at 32.
  text.replace(text.find("0.015625]"), 8, "0.125000");
  expect_operators(text, {2, 2, 5, 5},
                   {"Quantize", "Transpose", "QConv", "QMap", "QConv", "Transpose"});
}

/// As files of fp16 networks have it: nothing is rounded between the sums and their codes.
TEST(ChannelScales, ABatchNormOfHalves) {
  const std::string text =
      "graph g opset(\"\"=19)\ninput x: f32[2, 2, 5, 5]\n"
      "const s: f16[] = [0.125]\nconst z: i8[] = [0]\nconst b: f16[3] = [0.5, -1, 2]\n"
      "const ws: f16[3] = [0.25, 0.5, 0.125]\nconst gain: f16[3] = [2, -0.5, 1]\n"
      "const bias: f16[3] = [1, 0.5, -0.25]\nconst mean: f16[3] = [0.5, 0, -1]\n"
      "const var: f16[3] = [4, 0.25, 1]\nconst six: f16[] = [6]\n" +
      weights("w", "[3, 2, 1, 1]", 6) +
      "h = Cast(x) {to=10}\nxq = QuantizeLinear(h, s, z)\nxd = DequantizeLinear(xq, s, z)\n"
      "wd = DequantizeLinear(w, ws) {axis=0}\nc = Conv(xd, wd, b) {kernel_shape=[1, 1]}\n"
      "n = BatchNormalization(c, gain, bias, mean, var) {epsilon=0.0}\nr = Relu(n)\n"
      "m = Min(r, six)\ny = QuantizeLinear(m, s, z)\noutput y: i8[2, 3, 5, 5]\n";
  expect_operators(text, {2, 2, 5, 5}, {"Cast", "QMap", "Transpose", "QConv", "Transpose"});
  // The sums are read as halves too.
  const std::string twice = text + "output c: f16[2, 3, 5, 5]\n";
  expect_operators(twice, {2, 2, 5, 5},
                   {"Cast", "QMap", "Transpose", "QConv", "RoundHalf", "Transpose", "Cast", "QMap",
                    "Transpose"});
}

TEST(ChannelScales, FactorsOfEitherSign) {
  for (const char* operation :
       {"Mul(c, f)", "Mul(f, c)", "Div(c, f)", "Add(c, f)", "Sub(c, f)", "Add(f, c)"}) {
    const std::string text = kHead + convolution() +
                             "const f: f32[3, 1, 1] = [0.5, -2, 4]\nt = " + operation +
                             "\ny = QuantizeLinear(t, s, z)\noutput y: i8[2, 3, 5, 5]\n";
    SCOPED_TRACE(operation);
    expect_operators(text, {2, 2, 5, 5}, {"Quantize", "Transpose", "QConv", "Transpose"});
  }
}

TEST(ChannelScales, AFactorBehindTheBiasOfAMatrix) {
  const std::string text =
      "graph g opset(\"\"=17)\ninput x: f32[4, 8]\nconst s: f32[] = [0.125]\n"
      "const z: i8[] = [0]\nconst ws: f32[3] = [0.25, 0.5, 0.125]\nconst b: f32[3] = [0.5, -1, 2]\n"
      "const f: f32[3] = [0.5, -2, 4]\n" +
      weights("w", "[8, 3]", 24) +
      "xq = QuantizeLinear(x, s, z)\nxd = DequantizeLinear(xq, s, z)\n"
      "wd = DequantizeLinear(w, ws) {axis=1}\nc = MatMul(xd, wd)\na = Add(c, b)\nt = Mul(a, f)\n"
      "y = QuantizeLinear(t, s, z)\noutput y: i8[4, 3]\n";
  expect_operators(text, {4, 8}, {"Quantize", "QGemm"});
}

TEST(ChannelScales, AProductOfUnknownRankKeepsItsFactor) {
  const Graph model =
      parse_graph(
          "graph g opset(\"\"=17)\ninput x: f32[*]\nconst s: f32[] = [0.125]\n"
          "const z: i8[] = [0]\nconst ws: f32[] = [0.25]\nconst f: f32[3] = [0.5, -2, 4]\n" +
          weights("w", "[8, 3]", 24) +
          "xq = QuantizeLinear(x, s, z)\nxd = DequantizeLinear(xq, s, z)\n"
          "wd = DequantizeLinear(w, ws)\nc = MatMul(xd, wd)\ny = Mul(c, f)\n"
          "output y: f32[*]\n")
          .value();
  const std::vector<Tensor> inputs = {ramp({2, 4, 8})};
  const auto want = make_reference_executor(model).value()->run(inputs).value();
  auto session = Session::create(model, {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_TRUE(session->run(inputs).value()[0].identical(want[0]));
}

TEST(ChannelScales, CodesWithoutAProduct) {
  const std::string text = std::string(kHead) +
                           "const two: f32[2] = [0.5, 0.03125]\nconst ones: i8[2] = [1, 1]\n"
                           "y = QuantizeLinear(x, two, ones) {axis=1}\noutput y: i8[2, 2, 5, 5]\n";
  expect_operators(text, {2, 2, 5, 5}, {"QMap"});
}

} // namespace
} // namespace octet
