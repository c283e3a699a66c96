// SPDX-License-Identifier: Apache-2.0
// A graph written for a later operator set gives the same bits, or an error that names why not.
#include "core/format.h"
#include "passes/pass_support.h"
#include "passes/standardize/raise_opset.h"

#include "octet/passes.h"

namespace octet {
namespace {

using test::expect_same_numbers;
using test::parse;

TEST(RaiseOpset, AttributesBecomeInputs) {
  const Graph before = parse(R"(graph g opset(""=13)
input x: f32[2, 4]
a, b = Split(x) {axis=1}
c = ReduceMean(a) {axes=[1], keepdims=1}
d = ReduceMax(b) {keepdims=1}
y = Add(c, d)
output y: f32[2, 1]
)");
  for (const int64_t version : {14, 17, 18, 20}) {
    Graph after = before;
    const Status raised = raise_opset(after, version);
    ASSERT_TRUE(raised.ok()) << raised.error().text();
    EXPECT_EQ(after.opset(), version);
    expect_same_numbers(before, after, 0);
  }
}

TEST(RaiseOpset, OpensTheOperatorsOfTheLaterSet) {
  Graph g = parse(R"(graph g opset(""=13)
input x: f32[2, 5]
const root: f32[] = [1.4142135623730951]
const one: f32[] = [1]
const half: f32[] = [0.5]
a = Div(x, root)
b = Erf(a)
c = Add(b, one)
d = Mul(x, c)
y = Mul(d, half)
output y: f32[2, 5]
)");
  ASSERT_TRUE(raise_opset(g, 20).ok());
  ASSERT_TRUE(simplify(g).ok());
  ASSERT_EQ(g.nodes().size(), 1U);
  EXPECT_TRUE(g.node(g.nodes()[0]).is("Gelu"));
}

struct Old {
  const char* name;
  int opset;
  const char* statements; ///< from x to y
};

class BeforeThirteen : public testing::TestWithParam<Old> {};

TEST_P(BeforeThirteen, GivesTheSameBits) {
  const Old& old = GetParam();
  const Graph before = parse(fmt::format("graph g opset(\"\"={})\ninput x: f32[2, 3, 4]\n{}\n"
                                         "output y: f32[*]\n",
                                         old.opset, old.statements));
  for (const int64_t version : {13, 18, 23}) {
    Graph after = before;
    const Status raised = raise_opset(after, version);
    ASSERT_TRUE(raised.ok()) << raised.error().text();
    EXPECT_EQ(after.opset(), version);
    EXPECT_EQ(after.value(after.outputs()[0]).name, "y");
    expect_same_numbers(before, after, 0);
    ASSERT_TRUE(simplify(after).ok());
    expect_same_numbers(before, after, 0);
  }
}

const Old kOld[] = {
    {"SoftmaxOverAll", 9, "y = Softmax(x)"},
    {"SoftmaxOverTheLast", 11, "y = Softmax(x) {axis=2}"},
    {"SoftmaxFromTheBack", 11, "y = Softmax(x) {axis=-2}"},
    {"LpPool", 11, "y = LpPool(x) {kernel_shape=[2], strides=[2], p=1}"},
    {"SoftmaxOfOthers", 11,
     "a = Softmax(x) {axis=1}\nb = Softmax(a) {axis=1}\nc = Softmax(b) {axis=2}\n"
     "y = Softmax(c) {axis=0}"},
    {"LogSoftmax", 12, "y = LogSoftmax(x) {axis=0}"},
    {"Hardmax", 11, "y = Hardmax(x) {axis=1}"},
    {"Clip", 7, "y = Clip(x) {min=-0.25, max=0.5}"},
    {"ClipAbove", 10, "y = Clip(x) {max=0.5}"},
    {"ClipOfInputs", 11, "const a: f32[] = [-0.5]\ny = Clip(x, a)"},
    {"Pad", 9, "y = Pad(x) {pads=[0, 1, 0, 0, 0, 2], value=3.0}"},
    {"PadByReflection", 10, "y = Pad(x) {mode=\"reflect\", pads=[0, 1, 0, 0, 0, 2]}"},
    {"Slice", 9, "y = Slice(x) {starts=[1, -3], ends=[3, 100], axes=[1, 2]}"},
    {"SliceOfInputs", 10,
     "const a: i64[1] = [1]\nconst b: i64[1] = [9]\nconst c: i64[1] = [2]\ny = Slice(x, a, b, c)"},
    {"Squeeze", 11, "z = Unsqueeze(x) {axes=[0, 2]}\ny = Squeeze(z) {axes=[2]}"},
    {"SqueezeAll", 9, "z = Unsqueeze(x) {axes=[0, 2]}\ny = Squeeze(z)"},
    {"Split", 11, "z, y = Split(x) {axis=1, split=[1, 2]}"},
    {"SplitEvenly", 12, "z, y = Split(x) {axis=2}"},
    {"TopK", 9, "y, i = TopK(x) {axis=2, k=2}"},
    {"ReduceSum", 12, "y = ReduceSum(x) {axes=[0, 2], keepdims=0}"},
    {"ReduceSumOfAll", 11, "y = ReduceSum(x)"},
    {"ReduceMean", 9, "y = ReduceMean(x) {axes=[1]}"},
    {"Upsample", 7, "y = Upsample(x) {scales=[1.0, 2.0, 1.5]}"},
    {"UpsampleLinear", 9,
     "const s: f32[4] = [1, 1, 2, 1.5]\nz = Unsqueeze(x) {axes=[0]}\n"
     "y = Upsample(z, s) {mode=\"linear\"}"},
    {"Resize", 10, "const s: f32[3] = [1, 0.5, 2]\ny = Resize(x, s)"},
    {"Scatter", 9,
     "const i: i64[1, 2, 2] = [0, 2, 1, 0]\nconst u: f32[1, 2, 2] = [5, 6, 7, 8]\n"
     "y = Scatter(x, i, u) {axis=1}"},
    {"Dropout", 10, "y = Dropout(x) {ratio=0.3}"},
    {"BatchNormalization", 7,
     "const g: f32[3] = [1, 2, 3]\nconst b: f32[3] = [0, 1, 2]\nconst m: f32[3] = [0.5, 0, 1]\n"
     "const v: f32[3] = [1, 2, 4]\ny = BatchNormalization(x, g, b, m, v)"},
    {"QuantizedPerTensor", 10,
     "const s: f32[] = [0.0625]\nconst z: u8[] = [7]\nq = QuantizeLinear(x, s, z)\n"
     "y = DequantizeLinear(q, s, z)"},
};

INSTANTIATE_TEST_SUITE_P(Operators, BeforeThirteen, testing::ValuesIn(kOld), [](const auto& i) {
  return std::string(i.param.name);
});

TEST(RaiseOpset, ReachesIntoBodies) {
  const Graph before = parse(R"(graph g opset(""=11)
input x: f32[2, 3, 4]
input c: bool[]
y = If(c) {then_branch={ graph a
capture x: f32[2, 3, 4]
t = Softmax(x) {axis=1}
output t: f32[2, 3, 4]
}, else_branch={ graph b
capture x: f32[2, 3, 4]
e = Clip(x) {min=0.0}
output e: f32[2, 3, 4]
}}
output y: f32[2, 3, 4]
)");
  Graph after = before;
  const Status raised = raise_opset(after, 17);
  ASSERT_TRUE(raised.ok()) << raised.error().text();
  expect_same_numbers(before, after, 0);
}

TEST(RaiseOpset, ErrorsNameWhatStandsInTheWay) {
  const Graph g = parse(R"(graph g opset(""=16)
input x: f32[1, 1, 4, 4]
y = AveragePool(x) {kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1} "pool"
output y: f32[1, 1, 2, 2]
)");
  Graph after = g;
  const Status refused = raise_opset(after, 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("AveragePool \"pool\""), std::string::npos);
  EXPECT_EQ(after.opset(), 16);
  EXPECT_FALSE(raise_opset(after, 13).ok());
  EXPECT_FALSE(raise_opset(after, 21).ok());
  Graph statistics = parse(R"(graph g opset(""=8)
input x: f32[1, 3]
const v: f32[3] = [1, 1, 1]
y = BatchNormalization(x, v, v, v, v) {spatial=0} "bn"
output y: f32[1, 3]
)");
  const Status spatial = raise_opset(statistics, 13);
  ASSERT_FALSE(spatial.ok());
  EXPECT_NE(spatial.error().text().find("spatial"), std::string::npos);
}

} // namespace
} // namespace octet
