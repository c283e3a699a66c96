// SPDX-License-Identifier: Apache-2.0
// Operators on layouts, sizes and numbers that examples of one operator do not have: what random
// graphs (tests/differential/training.py) found.
#include <cmath>
#include <limits>

#include "gradients.h"
#include "train/executor/torch_executor.h"

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

using Problem = test::GradientProblem;

class CombinedGradient : public testing::TestWithParam<Problem> {};

TEST_P(CombinedGradient, EqualsCentralDifferencesOfTheReference) {
  test::expect_gradients_of_reference(GetParam());
}

TEST_P(CombinedGradient, HasTheValuesOfTheReference) {
  test::expect_values_of_reference(GetParam(), DType::kFloat32);
}

const Problem kProblems[] = {
    {"BatchNormOfOtherStrides",
     "const m: f64[5] = [0.1, 0.2, -0.3, 0, 1]\nconst v: f64[5] = [0.5, 1, 2, 1, 3]\n"
     "t = Transpose(x) {perm=[0, 4, 3, 1, 2]}\nn = BatchNormalization(t, g, b, m, v)\n"
     "const a: i32[] = [0]\ny = CumSum(n, a) {reverse=1}",
     {{"x", {5, 1, 5, 1, 5}}, {"g", {5}}, {"b", {5}}}},
    {"BatchNormBeforeEinsum",
     "const m: f64[5] = [0.1, 0.2, -0.3, 0, 1]\nconst v: f64[5] = [0.5, 1, 2, 1, 3]\n"
     "n = BatchNormalization(x, g, b, m, v)\ny = Einsum(w, n) {equation=\"cd,abcd->abc\"}",
     {{"x", {1, 5, 5, 5}}, {"g", {5}}, {"b", {5}}, {"w", {5, 5}}}},
    {"BatchNormOfTheBatchBeforeEinsum",
     "const m: f64[5] = [0.1, 0.2, -0.3, 0, 1]\nconst v: f64[5] = [0.5, 1, 2, 1, 3]\n"
     "n = BatchNormalization(x, g, b, m, v) {training_mode=1}\n"
     "y = Einsum(w, n) {equation=\"cd,abcd->abc\"}",
     {{"x", {1, 5, 5, 5}}, {"g", {5}}, {"b", {5}}, {"w", {5, 5}}}},
    {"InstanceNormBeforeEinsum",
     "n = InstanceNormalization(x, g, b)\ny = Einsum(w, n) {equation=\"cd,abcd->abc\"}",
     {{"x", {2, 3, 4, 4}}, {"g", {3}}, {"b", {3}}, {"w", {4, 4}}}},
    {"WindowLargerThanTheVolume",
     "y = AveragePool(x) {kernel_shape=[2, 3, 2], pads=[0, 1, 0, 0, 1, 0], strides=[1, 1, 1]}",
     {{"x", {1, 2, 4, 1, 4}}}},
    {"WindowLargerThanTheVolumeWithItsPadding",
     "y = AveragePool(x) {kernel_shape=[3, 4, 4], pads=[1, 1, 1, 1, 1, 1], strides=[1, 2, 1], "
     "count_include_pad=1}",
     {{"x", {1, 2, 4, 2, 3}}}},
    {"PadThatTakesMoreThanThereIs",
     "const p: i64[4] = [-3, 1, 2, -1]\ny = Pad(x, p)",
     {{"x", {2, 3}}}},
    {"PadThatTakesMoreThanThereIsBehind",
     "const p: i64[4] = [4, 1, -3, -1]\ny = Pad(x, p)",
     {{"x", {2, 3}}}},
    {"ExclusiveSums",
     "const a: i64[] = [1]\ns = CumSum(x, a) {exclusive=1, reverse=1}\ny = CumSum(s, a) "
     "{exclusive=1}",
     {{"x", {2, 4}}}},
    {"AverageOfNoPlane", "y = GlobalAveragePool(x)", {{"x", {2, 3}}}},
    {"LargestOfNoPlane", "y = GlobalMaxPool(x)", {{"x", {2, 3}}}},
};
INSTANTIATE_TEST_SUITE_P(Found, CombinedGradient, testing::ValuesIn(kProblems), test::name_of);

struct Values {
  std::string name, text;
  Tensor x;
};

std::string values_name(const testing::TestParamInfo<Values>& info) {
  return info.param.name;
}

class CombinedValues : public testing::TestWithParam<Values> {};

TEST_P(CombinedValues, AreTheReferences) {
  const Graph graph = parse_graph(GetParam().text).value();
  const auto expected = make_reference_executor(graph).value()->run({{GetParam().x}});
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  const auto got = train::make_torch_executor(graph, {.threads = 1}).value()->run({{GetParam().x}});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ((*got)[0].type(), (*expected)[0].type());
  EXPECT_EQ((*got)[0].shape(), (*expected)[0].shape());
  EXPECT_EQ((*got)[0].to_doubles().value(), (*expected)[0].to_doubles().value());
}

constexpr float kInf = std::numeric_limits<float>::infinity();

const Values kValues[] = {
    {"ExclusiveSumBeforeInfinity",
     "graph g opset(\"\"=14)\ninput x: f32[3]\nconst a: i32[] = [0]\n"
     "y = CumSum(x, a) {exclusive=1}\noutput y: f32[*]\n",
     Tensor::of<float>({3}, {1, 2, kInf})},
    {"SignOfNoNumber",
     "graph g opset(\"\"=14)\ninput x: f32[3]\ns = Sign(x)\nn = IsNaN(s)\ny = Cast(n) {to=1}\n"
     "output y: f32[*]\n",
     Tensor::of<float>({3}, {1, std::numeric_limits<float>::quiet_NaN(), -2})},
    {"LargestOfEmptyPlanes",
     "graph g opset(\"\"=14)\ninput x: f32[N, C, H]\ny = GlobalMaxPool(x)\noutput y: f32[*]\n",
     Tensor::zeros(DType::kFloat32, {2, 3, 0}).value()},
    {"HalfCodesOfSixteenBits",
     "graph g opset(\"\"=21)\ninput x: f32[6]\nconst s: f16[] = [0.003]\nconst z: u16[] = [3]\n"
     "h = Cast(x) {to=10}\nq = QuantizeLinear(h, s, z)\ny = DequantizeLinear(q, s, z)\n"
     "output y: f16[*]\n",
     Tensor::of<float>({6}, {-40, -3.1F, 0.7F, 12.3F, 100, 300})},
    {"HalfFromCodesOfSixteenBits",
     "graph g opset(\"\"=21)\ninput x: u16[4]\nconst s: f16[] = [0.003]\nconst z: u16[] = [3]\n"
     "y = DequantizeLinear(x, s, z)\noutput y: f16[*]\n",
     Tensor::of<uint16_t>({4}, {0, 2051, 40001, 65535})},
    {"HalfFromCodesOfThirtyTwoBits",
     "graph g opset(\"\"=21)\ninput x: i32[3]\nconst s: f16[] = [0.003]\n"
     "y = DequantizeLinear(x, s)\noutput y: f16[*]\n",
     Tensor::of<int32_t>({3}, {-70001, 2051, 100001})},
};
INSTANTIATE_TEST_SUITE_P(Found, CombinedValues, testing::ValuesIn(kValues), values_name);

TEST(ControlFlow, TakesWhatComesWhereOtherSizesAreDeclared) {
  const std::string text =
      "graph g opset(\"\"=20)\ninput n: i64[]\ninput x: f32[]\nconst c: bool[] = [1]\n"
      "const two: i64[1] = [2]\n"
      "v = Loop(n, c, x) {body={ graph a\n  input i: i64[]\n  input d: bool[]\n  input u: f32[]\n"
      "  capture two: i64[1]\n  o = Expand(u, two)\n  e = Identity(d)\n  output e: bool[]\n"
      "  output o: f32[]\n}}\n"
      "y = Loop(n, c, v) {body={ graph b\n  input i: i64[]\n  input d: bool[]\n  input u: f32[*]\n"
      "  o = Neg(u)\n  e = Identity(d)\n  output e: bool[]\n  output o: f32[*]\n}}\n"
      "output y: f32[*]\n";
  const Result<Graph> parsed = parse_graph(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  const Graph& graph = *parsed;
  const auto torch = train::make_torch_executor(graph, {.threads = 1}).value();
  const std::vector<Tensor> inputs = {Tensor::scalar<int64_t>(1), Tensor::scalar(1.5F)};
  const auto got = torch->run(inputs);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ((*got)[0].shape(), (Shape{2}));
}

TEST(GraphGradients, AreZeroForAWeightThatReachesNoOutput) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[2]\nconst w: f32[2] = [1, 2]\n"
                  "u = Mul(x, w)\ny = Relu(x)\noutput y: f32[*]\n")
          .value();
  const auto got =
      train::graph_gradients(graph, {.inputs = {Tensor::of<float>({2}, {1, 2})},
                                     .output_gradients = {Tensor::of<float>({2}, {1, 1})},
                                     .wrt = {"w"}});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ((*got)[0].to_doubles().value(), (std::vector<double>{0, 0}));
}

} // namespace
} // namespace octet
