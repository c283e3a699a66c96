// SPDX-License-Identifier: Apache-2.0
// simplify in the bodies of If, Loop and Scan: fewer nodes, the same bits.
#include "passes/pass_support.h"

#include "octet/passes.h"

namespace octet {
namespace {

using test::expect_same_numbers;
using test::parse;

const Graph& body(const Graph& graph, const char* attribute) {
  for (const NodeId id : graph.nodes())
    if (const Attribute* a = graph.node(id).attr(attribute)) return *std::get<GraphPtr>(a->value);
  ADD_FAILURE() << "no " << attribute;
  return graph;
}

constexpr const char* kIf = R"(graph g opset(""=17)
input c: bool[]
input x: f32[2, 3]
const zero: f32[] = [0]
const unused_inside: f32[2, 3] = [1, 2, 3, 4, 5, 6]
y = If(c) {then_branch={ graph a
  capture x: f32[2, 3]
  capture zero: f32[]
  i = Identity(x)
  s = Add(i, zero)
  p = Transpose(s) {perm=[1, 0]}
  r = Transpose(p) {perm=[1, 0]}
  t = Relu(r) "relu"
  output t: f32[2, 3]
}, else_branch={ graph b
  capture x: f32[2, 3]
  capture unused_inside: f32[2, 3]
  d = Mul(unused_inside, unused_inside)
  u = Abs(x)
  output u: f32[2, 3]
}} "choice"
output y: f32[2, 3]
)";

TEST(SimplifyBodies, BothBranches) {
  const Graph before = parse(kIf);
  Graph after = before;
  const auto steps = simplify(after);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  EXPECT_EQ(body(after, "then_branch").nodes().size(), 1U);
  EXPECT_EQ(body(after, "else_branch").nodes().size(), 1U);
  ASSERT_FALSE(steps->empty());
  EXPECT_EQ(steps->front().node.substr(0, 19), "choice/else_branch/");
  for (size_t i = 0; i < steps->size(); ++i)
    EXPECT_EQ((*steps)[i].number, static_cast<int>(i) + 1);
  // What only the bodies read and read no more is gone.
  EXPECT_FALSE(after.find_value("zero"));
  EXPECT_FALSE(after.find_value("unused_inside"));
  expect_same_numbers(before, after, 0);
}

TEST(SimplifyBodies, StopsAfterSteps) {
  const size_t all = simplify(*std::make_unique<Graph>(parse(kIf)))->size();
  for (size_t limit = 0; limit <= all; ++limit) {
    const Graph before = parse(kIf);
    Graph after = before;
    SimplifyOptions options;
    options.max_steps = static_cast<int>(limit);
    ASSERT_EQ(simplify(after, options)->size(), limit);
    expect_same_numbers(before, after, 0);
  }
}

TEST(SimplifyBodies, LoopWithCarriedAndCollectedValues) {
  const Graph before = parse(R"(graph g opset(""=17)
input x: f32[3]
const n: i64[] = [4]
const yes: bool[] = [1]
const one: f32[] = [1]
last, all = Loop(n, yes, x) {body={ graph step
  input i: i64[]
  input go: bool[]
  input v: f32[3]
  capture one: f32[]
  const k: i64[1] = [3]
  still = Identity(go)
  m = Mul(v, one)
  h = Add(m, m)
  w = Identity(h)
  c = Reshape(w, k)
  output still: bool[]
  output w: f32[3]
  output c: f32[3]
}} "loop"
output last: f32[3]
output all: f32[4, 3]
)");
  Graph after = before;
  const auto steps = simplify(after);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  EXPECT_LT(body(after, "body").nodes().size(), 5U);
  expect_same_numbers(before, after, 0);
}

TEST(SimplifyBodies, NestedOnesToo) {
  const Graph before = parse(R"(graph g opset(""=17)
input c: bool[]
input x: f32[2]
y = If(c) {then_branch={ graph a
  capture c: bool[]
  capture x: f32[2]
  t = If(c) {then_branch={ graph aa
    capture x: f32[2]
    i = Identity(x)
    s = Neg(i)
    output s: f32[2]
  }, else_branch={ graph ab
    capture x: f32[2]
    w = Abs(x)
    output w: f32[2]
  }} "inner"
  output t: f32[2]
}, else_branch={ graph b
  capture x: f32[2]
  u = Abs(x)
  output u: f32[2]
}} "outer"
output y: f32[2]
)");
  Graph after = before;
  const auto steps = simplify(after);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_EQ((*steps)[0].node.substr(0, 36), "outer/then_branch/inner/then_branch/");
  expect_same_numbers(before, after, 0);
}

} // namespace
} // namespace octet
