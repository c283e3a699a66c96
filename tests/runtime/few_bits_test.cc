// SPDX-License-Identifier: Apache-2.0
// Networks of 2 to 7 bits, as int4 and the like or as QCDQ, run on the kernels of bytes; codes of 16
// bits as functions of floats; functions of bytes as tables.
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/ramp.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<std::string> kernel_names(const Session& session) {
  std::vector<std::string> out;
  for (const PlannedNode& node : session.plan())
    out.push_back(node.kernel);
  return out;
}

/// Bit for bit what the reference makes of the graph as it stands, without a node of the reference.
void expect_as_written(const Graph& model, const Tensors& inputs, const std::string& kernel) {
  const Tensors want = make_reference_executor(model).value()->run(inputs).value();
  auto session = Session::create(model, {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.error().text();
  const Tensors got = session->run(inputs).value();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(got[i].identical(want[i])) << "output " << i;
  const std::vector<std::string> kernels = kernel_names(*session);
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "reference"), 0);
  const auto is_it = [&](const std::string& name) { return name.starts_with(kernel); };
  EXPECT_TRUE(std::any_of(kernels.begin(), kernels.end(), is_it)) << kernel;
}

struct Form {
  const char *activation, *weight; ///< types of codes
  int lo, hi;                      ///< of a Clip behind each Q; both 0: none
  int zero;
};

class FewBits : public ::testing::TestWithParam<Form> {};

/// Scales are powers of two, so that sums of floats are exact as well.
TEST_P(FewBits, AreMultipliedAsBytes) {
  const Form& form = GetParam();
  const bool clips = form.lo != form.hi;
  std::string text =
      fmt::format("graph g opset(\"\"=25)\ninput x: f32[2, 4, 5, 5]\nconst s: f32[] = [0.125]\n"
                  "const z: {0}[] = [{1}]\nconst lo: {0}[] = [{2}]\nconst hi: {0}[] = [{3}]\n"
                  "const ws: f32[3] = [0.25, 0.5, 0.125]\nconst gs: f32[2] = [0.25, 0.5]\n",
                  form.activation, form.zero, form.lo, form.hi);
  const bool is_signed = form.weight[0] == 'i';
  const auto weights = [&](const std::string& name, const std::string& shape, int count) {
    text += fmt::format("const {}: {}{} = [", name, form.weight, shape);
    for (int i = 0; i < count; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", i * 5 % 4 - (is_signed ? 2 : 0));
    text += "]\n";
  };
  weights("w", "[3, 4, 1, 1]", 12);
  weights("v", "[2, 75]", 150);
  const auto coded = [&](const std::string& value) {
    text += fmt::format("{0}_q = QuantizeLinear({0}, s, z)\n", value);
    if (clips) text += fmt::format("{0}_c = Clip({0}_q, lo, hi)\n", value);
    text += fmt::format("{0}_d = DequantizeLinear({0}_{1}, s, z)\n", value, clips ? "c" : "q");
  };
  coded("x");
  text += "wd = DequantizeLinear(w, ws) {axis=0}\nc = Conv(x_d, wd) {kernel_shape=[1, 1]}\n"
          "r = Relu(c)\n";
  coded("r");
  text += "f = Flatten(r_d)\nvd = DequantizeLinear(v, gs) {axis=0}\n"
          "y = Gemm(f, vd) {transB=1}\noutput y: f32[2, 2]\n";
  const Graph model = parse_graph(text).value();
  expect_as_written(model, {ramp({2, 4, 5, 5})}, "igemm");
}

INSTANTIATE_TEST_SUITE_P(Types,
                         FewBits,
                         ::testing::Values(Form{"i4", "i4", 0, 0, 0},
                                           Form{"u4", "i4", 0, 0, 5},
                                           Form{"u4", "u4", 0, 0, 0},
                                           Form{"i2", "i2", 0, 0, -1},
                                           Form{"u2", "u2", 0, 0, 1},
                                           Form{"i8", "i2", 0, 0, 3},
                                           Form{"i8", "i8", -7, 7, 0},
                                           Form{"i8", "i4", -4, 3, -1},
                                           Form{"u8", "i8", 0, 15, 4},
                                           Form{"i8", "u8", -128, 127, 7}),
                         [](const auto& made) {
                           return fmt::format("{}_{}_{}", made.param.activation, made.param.weight,
                                              made.param.hi);
                         });

/// Of one that leaves the zero point out NaN gets another code: the Clip stays one of codes.
TEST(FewBitsOfOthers, AClipThatLeavesZeroOutIsATable) {
  const Graph model =
      parse_graph("graph g opset(\"\"=13)\ninput x: f32[70]\nconst s: f32[] = [0.125]\n"
                  "const z: i8[] = [-20]\nconst lo: i8[] = [-3]\nconst hi: i8[] = [3]\n"
                  "q = QuantizeLinear(x, s, z)\nc = Clip(q, lo, hi)\n"
                  "y = DequantizeLinear(c, s, z)\noutput y: f32[70]\n")
          .value();
  Tensor x = ramp({70});
  x.mutable_data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  expect_as_written(model, {x}, "lookup");
}

TEST(FewBitsOfOthers, FunctionsOfBytesAreTables) {
  for (const std::string type : {"i8", "u8"})
    for (const std::string function :
         {"Clip(x, c)", "Clip(x, _, c)", "Max(c, x)", "Min(x, c)", "Abs(x)", "Sign(x)", "Relu(x)",
          "Neg(x)", "Cast(x) {to=2}", "Cast(x) {to=3}"}) {
      if (type == "u8" && (function == "Relu(x)" || function == "Neg(x)")) continue; // no such type
      SCOPED_TRACE(type + " " + function);
      const std::string to = function.find("to=2") != std::string::npos   ? "u8"
                             : function.find("to=3") != std::string::npos ? "i8"
                                                                          : type;
      if (to == type && function.starts_with("Cast")) continue;
      const Graph model =
          parse_graph("graph g opset(\"\"=17)\ninput x: " + type + "[2, 128]\nconst c: " + type +
                      "[] = [21]\ny = " + function + "\noutput y: " + to + "[2, 128]\n")
              .value();
      Tensor x = Tensor::zeros(model.value(model.inputs()[0]).type.type, {2, 128}).value();
      for (size_t i = 0; i < 256; ++i)
        x.mutable_bytes()[i] = static_cast<std::byte>(i * 7 & 255);
      expect_as_written(model, {x}, "lookup");
    }
}

/// Ties, zeros of both signs, what saturates, and what is no number.
TEST(FewBitsOfOthers, SixteenBitsAreFunctionsOfFloats) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0F,       -0.0F,     kInfinity,  -kInfinity, std::nanf(""),
                               1e-30F,     -1e-30F,   1e30F,      -1e30F,     0.015625F,
                               -0.015625F, 0.046875F, -0.046875F, 1023.99F};
  for (int i = 0; i < 2000; ++i)
    values.push_back(static_cast<float>(i - 1000) * 1.37F);
  const auto count = static_cast<int64_t>(values.size());
  const Tensor x = Tensor::of<float>({count}, std::span<const float>(values));
  for (const auto& [type, zero] : {std::pair{"i16", "0"}, {"i16", "-311"}, {"u16", "32768"}})
    for (const char* scale : {"0.03125", "0.0213"}) {
      SCOPED_TRACE(fmt::format("{} {} {}", type, zero, scale));
      const Graph model =
          parse_graph(
              fmt::format("graph g opset(\"\"=21)\ninput x: f32[{}]\nconst s: f32[] = [{}]\n"
                          "const z: {}[] = [{}]\nq = QuantizeLinear(x, s, z)\n"
                          "y = DequantizeLinear(q, s, z)\noutput y: f32[{}]\n",
                          count, scale, type, zero, count))
              .value();
      expect_as_written(model, {x}, "map");
    }
}

} // namespace
} // namespace octet
