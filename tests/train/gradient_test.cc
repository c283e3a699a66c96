// SPDX-License-Identifier: Apache-2.0
// The gradient of differentiable mappings that are one function of LibTorch, and of groups.
#include "gradients.h"
#include "ops/infer.h"
#include "train/executor/fusions.h"

#include "octet/graph_text.h"

namespace octet {
namespace {

using Problem = test::GradientProblem;

class Gradient : public testing::TestWithParam<Problem> {};

TEST_P(Gradient, EqualsCentralDifferencesOfTheReference) {
  test::expect_gradients_of_reference(GetParam());
}

Problem unary(const char* op, double low = -1.5, double high = 1.5, int opset = 17) {
  return {op, std::string("y = ") + op + "(x)", {{"x", {3, 4}}}, low, high, opset};
}
Problem binary(const char* op, double low = -1.5, double high = 1.5) {
  return {op, std::string("y = ") + op + "(a, b)", {{"a", {2, 3, 4}}, {"b", {3, 1}}}, low, high};
}
Problem on(const char* name,
           const char* body,
           Shape shape,
           double low = -1.5,
           double high = 1.5,
           int opset = 17) {
  return {name, body, {{"x", std::move(shape)}}, low, high, opset};
}

const Problem kElementwise[] = {
    unary("Abs"),
    unary("Acos", -0.9, 0.9),
    unary("Acosh", 1.1, 3),
    unary("Asin", -0.9, 0.9),
    unary("Asinh"),
    unary("Atan"),
    unary("Atanh", -0.9, 0.9),
    unary("Cos"),
    unary("Cosh"),
    unary("Erf"),
    unary("Exp"),
    unary("Identity"),
    unary("Log", 0.5, 3),
    unary("Neg"),
    unary("Reciprocal", 0.5, 2),
    unary("Relu"),
    unary("Sigmoid"),
    unary("Sin"),
    unary("Sinh"),
    unary("Softplus"),
    unary("Softsign"),
    unary("Sqrt", 0.5, 2),
    unary("Tan", -1, 1),
    unary("Tanh"),
    unary("Elu"),
    unary("Selu"),
    unary("Celu"),
    unary("LeakyRelu"),
    unary("ThresholdedRelu"),
    unary("HardSigmoid"),
    unary("HardSwish", -5, 5),
    unary("Mish", -1.5, 1.5, 18),
    unary("Gelu", -1.5, 1.5, 20),
    on("GeluTanh", "y = Gelu(x) {approximate=\"tanh\"}", {3, 4}, -2, 2, 20),
    unary("Swish", -1.5, 1.5, 24),
    on("CeluAlpha", "y = Celu(x) {alpha=0.5}", {3, 4}),
    on("Clip", "const l: f64[] = [-0.5]\nconst h: f64[] = [0.75]\ny = Clip(x, l, h)", {3, 4}),
    on("Shrink", "y = Shrink(x) {lambd=0.3, bias=0.1}", {3, 4}),
    binary("Add"),
    binary("Sub"),
    binary("Mul"),
    binary("Div", 0.5, 2),
    binary("Pow", 0.5, 2),
    binary("Max"),
    binary("Min"),
    binary("Sum"),
    binary("Mean"),
    binary("PRelu"),
    on("Square", "const two: f64[] = [2]\ny = Pow(x, two)", {3, 4}),
    {"Where",
     "const c: bool[2, 2] = [1, 0, 0, 1]\ny = Where(c, a, b)",
     {{"a", {2, 2}}, {"b", {2, 2}}}},
};

const Problem kProducts[] = {
    {"MatMul", "y = MatMul(a, b)", {{"a", {2, 3, 4}}, {"b", {4, 2}}}},
    {"MatMulVector", "y = MatMul(a, b)", {{"a", {4}}, {"b", {4, 2}}}},
    {"Gemm", "y = Gemm(a, b, c) {transB=1}", {{"a", {3, 4}}, {"b", {2, 4}}, {"c", {2}}}},
    {"GemmFactors",
     "y = Gemm(a, b, c) {transA=1, alpha=0.5, beta=2.0}",
     {{"a", {4, 3}}, {"b", {4, 2}}, {"c", {3, 1}}}},
    {"Conv",
     "y = Conv(x, w, b) {strides=[2, 2]}",
     {{"x", {1, 2, 5, 5}}, {"w", {3, 2, 3, 3}}, {"b", {3}}}},
    {"ConvGroupPads",
     "y = Conv(x, w) {group=2, pads=[0, 1, 1, 0]}",
     {{"x", {1, 2, 4, 4}}, {"w", {4, 1, 3, 3}}}},
    {"ConvSame",
     "y = Conv(x, w) {auto_pad=\"SAME_UPPER\", strides=[2], kernel_shape=[3]}",
     {{"x", {2, 2, 6}}, {"w", {2, 2, 3}}}},
    {"ConvDilated",
     "y = Conv(x, w) {dilations=[2, 1]}",
     {{"x", {1, 1, 6, 5}}, {"w", {1, 1, 3, 3}}}},
};

const Problem kConvTranspose[] = {
    {"ConvTranspose",
     "y = ConvTranspose(x, w, b) {strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]}",
     {{"x", {1, 2, 3, 3}}, {"w", {2, 2, 3, 3}}, {"b", {2}}}},
    {"ConvTransposeGroup",
     "y = ConvTranspose(x, w) {group=2}",
     {{"x", {1, 2, 3, 3}}, {"w", {2, 1, 2, 2}}}},
    {"ConvTransposeSameOfShortKernel",
     "y = ConvTranspose(x, w) {strides=[3, 2], auto_pad=\"SAME_UPPER\"}",
     {{"x", {1, 2, 3, 3}}, {"w", {2, 1, 2, 3}}}},
    {"ConvTransposeOutputShape",
     "y = ConvTranspose(x, w) {strides=[2, 2], output_shape=[6, 7]}",
     {{"x", {1, 1, 3, 3}}, {"w", {1, 1, 3, 3}}}},
};

const Problem kPools[] = {
    on("AveragePool", "y = AveragePool(x) {kernel_shape=[3, 3], strides=[2, 2]}", {1, 2, 7, 7}),
    on("AveragePoolPads",
       "y = AveragePool(x) {kernel_shape=[3, 3], pads=[0, 1, 1, 0]}",
       {1, 1, 4, 4}),
    on("AveragePoolCounted",
       "y = AveragePool(x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1}",
       {1, 1, 4, 4}),
    on("AveragePoolCeil",
       "y = AveragePool(x) {kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1}",
       {1, 1, 6, 6}),
    on("AveragePoolCeilPads",
       "y = AveragePool(x) {kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[0, 0, 1, 1]}",
       {1, 1, 5, 5}),
    {"AveragePoolOfNothing",
     "y = AveragePool(x) {kernel_shape=[2, 2], dilations=[2, 1], pads=[1, 0, 1, 1]}",
     {{"x", {1, 1, 1, 3}}},
     -1.5,
     1.5,
     19},
    on("MaxPool", "y = MaxPool(x) {kernel_shape=[2, 2], strides=[2, 2]}", {1, 2, 5, 5}),
    on("MaxPoolPads", "y = MaxPool(x) {kernel_shape=[3, 3], pads=[0, 0, 1, 2]}", {1, 1, 4, 4}),
    on("MaxPoolSame",
       "y = MaxPool(x) {kernel_shape=[3], strides=[2], auto_pad=\"SAME_LOWER\"}",
       {1, 1, 6}),
    unary("Softmax"),
    unary("LogSoftmax"),
    on("GlobalAveragePool", "y = GlobalAveragePool(x)", {1, 2, 3, 3}),
    on("GlobalMaxPool", "y = GlobalMaxPool(x)", {1, 2, 3, 3}),
};

const Problem kNorms[] = {
    {"LayerNormalization",
     "y = LayerNormalization(x, g, b)",
     {{"x", {2, 3, 4}}, {"g", {4}}, {"b", {4}}}},
    {"LayerNormalizationOfAWideGain",
     "y = LayerNormalization(x, g, b)",
     {{"x", {2, 3, 4}}, {"g", {1, 3, 4}}, {"b", {2, 1, 1}}}},
    {"LayerNormalizationAxis",
     "y = LayerNormalization(x, g) {axis=1}",
     {{"x", {2, 3, 4}}, {"g", {3, 4}}}},
    {"InstanceNormalization",
     "y = InstanceNormalization(x, g, b)",
     {{"x", {2, 3, 4}}, {"g", {3}}, {"b", {3}}}},
    {"BatchNormalization",
     "const m: f64[3] = [0.1, -0.2, 0.3]\nconst v: f64[3] = [0.5, 1, 2]\ny = BatchNormalization(x, "
     "g, b, m, v)",
     {{"x", {2, 3, 4}}, {"g", {3}}, {"b", {3}}}},
    on("LpNormalization", "y = LpNormalization(x)", {3, 4}, 0.5, 2),
};

const Problem kMovement[] = {
    on("Reshape", "const s: i64[2] = [-1, 6]\ny = Reshape(x, s)", {2, 3, 2}),
    on("Flatten", "y = Flatten(x) {axis=2}", {2, 3, 2}),
    on("Transpose", "y = Transpose(x) {perm=[2, 0, 1]}", {2, 3, 2}),
    on("Squeeze", "const a: i64[1] = [1]\ny = Squeeze(x, a)", {2, 1, 2}),
    on("Unsqueeze", "const a: i64[2] = [0, -1]\ny = Unsqueeze(x, a)", {2, 3}),
    on("Expand", "const s: i64[3] = [2, 3, 1]\ny = Expand(x, s)", {3, 4}),
    on("Slice",
       "const s: i64[2] = [0, 3]\nconst e: i64[2] = [2, -9]\nconst a: i64[2] = [0, 1]\nconst t: "
       "i64[2] = [1, -2]\n"
       "y = Slice(x, s, e, a, t)",
       {3, 4}),
    on("Split", "a, b = Split(x) {axis=1}\ny = Sub(a, b)", {2, 4}, -1.5, 1.5, 13),
    {"Concat", "y = Concat(a, b) {axis=1}", {{"a", {2, 2}}, {"b", {2, 3}}}},
    on("Gather", "const i: i64[2, 2] = [0, -1, 1, 0]\ny = Gather(x, i)", {3, 2}),
    on("GatherAxis", "const i: i64[2] = [2, -2]\ny = Gather(x, i) {axis=1}", {2, 3, 2}),
    on("GatherElements",
       "const i: i64[2, 2] = [0, -1, 1, 0]\ny = GatherElements(x, i) {axis=1}",
       {2, 3}),
    on("GatherND", "const i: i64[2, 2] = [0, 1, -1, 0]\ny = GatherND(x, i)", {2, 3, 2}),
    {"ScatterElements",
     "const i: i64[1, 2] = [1, -1]\ny = ScatterElements(x, i, u) {axis=1}",
     {{"x", {2, 3}}, {"u", {1, 2}}}},
    {"ScatterND",
     "const i: i64[2, 1] = [2, 0]\ny = ScatterND(x, i, u)",
     {{"x", {3, 2}}, {"u", {2, 2}}}},
    on("Pad", "const p: i64[4] = [1, 0, 0, 2]\ny = Pad(x, p)", {2, 3}),
    on("Tile", "const r: i64[2] = [2, 1]\ny = Tile(x, r)", {2, 3}),
    on("Trilu", "y = Trilu(x)", {3, 3}),
    on("CumSum", "const a: i64[] = [1]\ny = CumSum(x, a) {reverse=1, exclusive=1}", {2, 3}),
    on("Cast", "y = Cast(x) {to=11}", {2, 3}),
};

const Problem kReductions[] = {
    on("ReduceSum", "const a: i64[1] = [1]\ny = ReduceSum(x, a)", {2, 3, 2}),
    on("ReduceMean", "y = ReduceMean(x) {axes=[0, -1], keepdims=0}", {2, 3, 2}),
    on("ReduceMax", "y = ReduceMax(x) {axes=[1]}", {2, 3, 2}),
    on("ReduceMin", "y = ReduceMin(x)", {2, 3}),
    on("ReduceProd", "y = ReduceProd(x) {axes=[0, 1], keepdims=0}", {2, 2, 2}, 0.5, 2),
    on("ReduceSumSquare", "y = ReduceSumSquare(x) {axes=[1]}", {2, 3}),
    on("ReduceL1", "y = ReduceL1(x) {axes=[1]}", {2, 3}),
    on("ReduceL2", "y = ReduceL2(x) {axes=[1]}", {2, 3}, 0.5, 2),
    on("ReduceLogSum", "y = ReduceLogSum(x) {axes=[1]}", {2, 3}, 0.5, 2),
    on("ReduceLogSumExp", "y = ReduceLogSumExp(x) {axes=[1]}", {2, 3}),
};

/// Groups that run as one function; f32 kernels of LibTorch and f64 ones are the same code.
const Problem kGroups[] = {
    {"Linear", "h = MatMul(x, w)\ny = Add(b, h)", {{"x", {2, 3, 4}}, {"w", {4, 2}}, {"b", {2}}}},
    {"Attention",
     "const c: f64[] = [0.5]\nconst mask: f64[2, 1, 1, 4] = [0, 0, 0, -10000, 0, 0, 0, 0]\n"
     "s = MatMul(q, k)\nt = Mul(s, c)\nm = Add(t, mask)\np = Softmax(m)\ny = MatMul(p, v)",
     {{"q", {2, 2, 3, 2}}, {"k", {2, 2, 2, 4}}, {"v", {2, 2, 4, 2}}}},
    {"AttentionOfScaledQueries",
     "const c: f64[] = [0.5]\nconst heads: i64[4] = [0, 0, 2, 2]\nqs = Mul(x, c)\n"
     "qr = Reshape(qs, heads)\nq = Transpose(qr) {perm=[0, 2, 1, 3]}\n"
     "kr = Reshape(x, heads)\nk = Transpose(kr) {perm=[0, 2, 3, 1]}\n"
     "v = Transpose(kr) {perm=[0, 2, 1, 3]}\ns = MatMul(q, k)\np = Softmax(s)\ny = MatMul(p, v)",
     {{"x", {2, 3, 4}}}},
    {"Gelu",
     "const r: f64[] = [1.4142135623730951]\nconst one: f64[] = [1]\nconst half: f64[] = [0.5]\n"
     "d = Div(x, r)\ne = Erf(d)\na = Add(e, one)\nm = Mul(x, a)\ny = Mul(m, half)",
     {{"x", {3, 4}}}},
    {"LayerNorm",
     "const two: f64[] = [2]\nconst e: f64[] = [0.001]\nm = ReduceMean(x) {axes=[-1]}\n"
     "d = Sub(x, m)\np = Pow(d, two)\nv = ReduceMean(p) {axes=[-1]}\na = Add(v, e)\n"
     "r = Sqrt(a)\nn = Div(d, r)\ng = Mul(n, gain)\ny = Add(g, bias)",
     {{"x", {2, 3, 4}}, {"gain", {4}}, {"bias", {4}}}},
};

TEST(Groups, AreFoundWhole) {
  for (const Problem& p : kGroups) {
    Graph graph = parse_graph(test::text_of(p)).value();
    ASSERT_TRUE(infer_types(graph).ok());
    const auto found = train::find_fusions(graph, Uses(graph), graph.outputs());
    ASSERT_EQ(found.size(), 1u) << p.name;
    EXPECT_EQ(found.begin()->first, graph.producer(graph.outputs()[0])->id) << p.name;
  }
}

TEST(Groups, StayApartWhereSomethingElseReadsTheirInside) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 3, 4]\n"
                  "input w: f32[4, 2]\ninput b: f32[2]\nh = MatMul(x, w)\n"
                  "y = Add(h, b)\nz = Relu(h)\noutput y: f32[*]\noutput z: f32[*]\n")
          .value();
  EXPECT_TRUE(train::find_fusions(graph, Uses(graph), graph.outputs()).empty());
}

INSTANTIATE_TEST_SUITE_P(Elementwise, Gradient, testing::ValuesIn(kElementwise), test::name_of);
INSTANTIATE_TEST_SUITE_P(Products, Gradient, testing::ValuesIn(kProducts), test::name_of);
INSTANTIATE_TEST_SUITE_P(ConvTranspose, Gradient, testing::ValuesIn(kConvTranspose), test::name_of);
INSTANTIATE_TEST_SUITE_P(Pools, Gradient, testing::ValuesIn(kPools), test::name_of);
INSTANTIATE_TEST_SUITE_P(Norms, Gradient, testing::ValuesIn(kNorms), test::name_of);
INSTANTIATE_TEST_SUITE_P(Movement, Gradient, testing::ValuesIn(kMovement), test::name_of);
INSTANTIATE_TEST_SUITE_P(Groups, Gradient, testing::ValuesIn(kGroups), test::name_of);
INSTANTIATE_TEST_SUITE_P(Reductions, Gradient, testing::ValuesIn(kReductions), test::name_of);

} // namespace
} // namespace octet
