// SPDX-License-Identifier: Apache-2.0
// A graph written for a later operator set gives the same bits, or an error that names why not.
#include "passes/pass_support.h"
#include "passes/raise_opset.h"
#include "passes/simplify.h"

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

TEST(RaiseOpset, ErrorsNameWhatStandsInTheWay) {
  const Graph g = parse(R"(graph g opset(""=16)
input x: f32[1, 1, 4, 4]
input grid: f32[1, 4, 4, 2]
y = GridSample(x, grid) {mode="bilinear"} "sample"
output y: f32[1, 1, 4, 4]
)");
  Graph after = g;
  const Status refused = raise_opset(after, 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("GridSample \"sample\""), std::string::npos);
  EXPECT_EQ(after.opset(), 16);
  EXPECT_FALSE(raise_opset(after, 13).ok());
  EXPECT_FALSE(raise_opset(after, 21).ok());
}

} // namespace
} // namespace octet
