// SPDX-License-Identifier: Apache-2.0
// Quant and BipolarQuant of Brevitas and QONNX, against their definition in doubles.
#include <algorithm>
#include <cmath>

#include "passes/standardize/standard_operators.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/passes.h"
#include "octet/session.h"

namespace octet {
namespace {

struct QuantCase {
  const char* name;
  int bits;
  bool is_signed, narrow;
  int zero;
  const char* rounding;
  const char* domain;
};

constexpr QuantCase kQuantCases[] = {
    {"Signed8", 8, true, false, 0, "ROUND", "onnx.brevitas"},
    {"Narrow4", 4, true, true, 0, "ROUND", "qonnx.custom_op.general"},
    {"Unsigned3", 3, false, false, 0, "ROUND", "onnx.brevitas"},
    {"UnsignedNarrow2", 2, false, true, 0, "ROUND", "finn.custom_op.general"},
    {"ZeroPoint", 6, false, false, 20, "ROUND", "onnx.brevitas"},
    {"Bits12", 12, true, false, 0, "ROUND", "onnx.brevitas"},
    {"Ceiling", 5, true, false, 0, "CEIL", "onnx.brevitas"},
    {"Floor", 8, true, true, -3, "FLOOR", "onnx.brevitas"},
};

double quantized(double x, double scale, const QuantCase& c) {
  const double all = std::exp2(c.bits);
  const double lo = c.is_signed ? -all / 2 + (c.narrow ? 1 : 0) : 0;
  const double hi = c.is_signed ? all / 2 - 1 : all - 1 - (c.narrow ? 1 : 0);
  const double code = std::clamp(x / scale + c.zero, lo, hi);
  const std::string mode = c.rounding;
  const double whole = mode == "CEIL"    ? std::ceil(code)
                       : mode == "FLOOR" ? std::floor(code)
                                         : std::nearbyint(code);
  return (whole - c.zero) * scale;
}

constexpr int64_t kRows = 7, kColumns = 12;

/// Far from ties: sevenths.
Tensor sevenths() {
  Tensor out = Tensor::zeros(DType::kFloat32, {kRows, kColumns}).value();
  const auto values = out.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i * 31 % 103) - 40) / 7.0F;
  return out;
}

std::string quant_of(const QuantCase& c, const std::string& x, const std::string& scale) {
  return fmt::format("{}.Quant({}, {}, z, b) {{signed={}, narrow={}, rounding_mode=\"{}\"}}",
                     c.domain, x, scale, c.is_signed ? 1 : 0, c.narrow ? 1 : 0, c.rounding);
}

Graph graph_of(const QuantCase& c, const std::string& body, int opset) {
  return parse_graph(fmt::format("graph g opset(\"\"={}, \"{}\"=1)\ninput x: f32[7, 12]\n"
                                 "const s: f32[] = [0.25]\nconst z: f32[] = [{}]\n"
                                 "const b: f32[] = [{}]\n{}output y: f32[*]\n",
                                 opset, c.domain, c.zero, c.bits, body))
      .value();
}

void expect_numbers(const Graph& model, const Tensor& x, const std::vector<double>& want) {
  auto session = Session::create(model, {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.error().text();
  const std::vector<Tensor> y = session->run(std::vector<Tensor>{x}).value();
  ASSERT_EQ(y[0].count(), std::ssize(want));
  for (int64_t i = 0; i < y[0].count(); ++i)
    ASSERT_NEAR(y[0].at(i), want[static_cast<size_t>(i)], 1e-6) << i;
}

class Quants : public ::testing::TestWithParam<QuantCase> {};

TEST_P(Quants, OfActivationsAreTheirDefinition) {
  const QuantCase& c = GetParam();
  const Tensor x = sevenths();
  std::vector<double> want;
  for (int64_t i = 0; i < x.count(); ++i)
    want.push_back(quantized(x.at(i), 0.25, c));
  for (const int opset : {11, 13, 17})
    expect_numbers(graph_of(c, "y = " + quant_of(c, "x", "s") + "\n", opset), x, want);
  // A scale that is computed.
  expect_numbers(graph_of(c,
                          "const m: i64[1] = [1]\nconst n: f32[] = [0]\nr = Mul(x, n)\n"
                          "t = ReduceMax(r) {keepdims=0}\nu = Add(t, s)\ny = " +
                              quant_of(c, "x", "u") + "\n",
                          17),
                 x, want);
}

TEST_P(Quants, OfWeightsHaveAScaleForEachRow) {
  const QuantCase& c = GetParam();
  const Tensor x = sevenths();
  std::string body = "const w: f32[7, 12] = [";
  for (int64_t i = 0; i < x.count(); ++i)
    body += fmt::format("{}{}", i == 0 ? "" : ", ", x.at(i));
  body += "]\nconst ws: f32[7, 1] = [0.25, 0.5, 0.125, 1, 0.25, 2, 0.5]\n";
  const double scales[] = {0.25, 0.5, 0.125, 1, 0.25, 2, 0.5};
  std::vector<double> want;
  for (int64_t i = 0; i < x.count(); ++i)
    want.push_back(x.at(i) + quantized(x.at(i), scales[i / kColumns], c));
  body += "q = " + quant_of(c, "w", "ws") + "\ny = Add(x, q)\n";
  for (const int opset : {11, 17})
    expect_numbers(graph_of(c, body, opset), x, want);
}

/// In files: codes where the operator set has them.
TEST_P(Quants, AreStandardOperatorsInFiles) {
  const QuantCase& c = GetParam();
  const Tensor x = sevenths();
  std::vector<double> want;
  for (int64_t i = 0; i < x.count(); ++i)
    want.push_back(quantized(x.at(i), 0.25, c));
  Graph model = graph_of(c, "y = " + quant_of(c, "x", "s") + "\n", 17);
  ASSERT_TRUE(rewrite(model, standard_operator_rules()).ok());
  bool codes = false;
  for (const NodeId id : model.nodes()) {
    EXPECT_EQ(model.node(id).domain, "");
    codes = codes || model.node(id).is("QuantizeLinear");
  }
  EXPECT_EQ(codes, c.bits <= 8 && std::string(c.rounding) == "ROUND");
  expect_numbers(model, x, want);
}

INSTANTIATE_TEST_SUITE_P(Forms, Quants, ::testing::ValuesIn(kQuantCases), [](const auto& made) {
  return std::string(made.param.name);
});

/// Operands of more axes, or of more elements along one, make more of x, as NumPy has it.
TEST(QuantsOfOthers, OperandsBroadcast) {
  const QuantCase c = kQuantCases[0];
  struct Case {
    const char *x, *scale, *zero;
    Shape y;
  };
  for (const Case& one : {Case{"f32[]", "f32[1] = [0.25]", "f32[] = [0]", {1}},
                          Case{"f32[3]", "f32[1, 1] = [0.25]", "f32[] = [0]", {1, 3}},
                          Case{"f32[3]", "f32[] = [0.25]", "f32[2, 1] = [0, 0]", {2, 3}},
                          Case{"f32[1, 3]", "f32[2, 1] = [0.25, 0.25]", "f32[] = [0]", {2, 3}}}) {
    for (const bool stored : {false, true}) {
      const std::string text = fmt::format(
          "graph g opset(\"\"=17, \"{}\"=1)\ninput a: f32[]\n{} x: {}{}\nconst s: {}\nconst z: {}\n"
          "const b: f32[] = [8]\nq = {}\ny = Add(q, a)\noutput y: f32[*]\n",
          c.domain, stored ? "const" : "input", one.x,
          !stored                         ? ""
          : std::string(one.x) == "f32[]" ? " = [1.3]"
                                          : " = [1.3, 1.3, 1.3]",
          one.scale, one.zero, quant_of(c, "x", "s"));
      auto session = Session::create(parse_graph(text).value(), {.threads = 1});
      ASSERT_TRUE(session.ok()) << session.error().text() << text;
      const Shape shape = parse_graph(text)
                              ->value(parse_graph(text)->find_value("x").value())
                              .type.static_shape()
                              .value();
      std::vector<Tensor> inputs = {Tensor::scalar(0.0F)};
      const std::vector<float> numbers(static_cast<size_t>(element_count(shape).value()), 1.3F);
      if (!stored) inputs.push_back(Tensor::of<float>(shape, std::span<const float>(numbers)));
      const std::vector<Tensor> y = session->run(inputs).value();
      ASSERT_EQ(y[0].shape(), one.y) << text;
      for (int64_t i = 0; i < y[0].count(); ++i)
        EXPECT_EQ(y[0].at(i), 1.25) << text;
    }
  }
}

TEST(QuantsOfOthers, BipolarIsTheSign) {
  const Tensor x = sevenths();
  std::vector<double> want;
  for (int64_t i = 0; i < x.count(); ++i)
    want.push_back(x.at(i) >= 0 ? 0.25 : -0.25);
  expect_numbers(graph_of(kQuantCases[0], "y = onnx.brevitas.BipolarQuant(x, s)\n", 13), x, want);
}

TEST(QuantsOfOthers, WhatHasNoFormIsNamed) {
  QuantCase c = kQuantCases[0];
  c.rounding = "HALF_UP";
  const auto session =
      Session::create(graph_of(c, "y = " + quant_of(c, "x", "s") + "\n", 13), {.threads = 1});
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().text().find("Quant"), std::string::npos) << session.error().text();
}

} // namespace
} // namespace octet
