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

// w never changes; it comes out under a name of its own, and v changes.
constexpr const char* kInvariant = R"(graph g opset(""=17)
input x: f32[2, 2]
input w: f32[2, 2]
const n: i64[] = [3]
const yes: bool[] = [1]
w_end, last, all = Loop(n, yes, w, x) {body={ graph step
  input i: i64[]
  input go: bool[]
  input m: f32[2, 2]
  input v: f32[2, 2]
  capture w: f32[2, 2]
  t = MatMul(v, m)
  u = Sub(t, w)
  same = Identity(m)
  still = Identity(go)
  c = ReduceSum(u) {keepdims=0}
  output still: bool[]
  output same: f32[2, 2]
  output u: f32[2, 2]
  output c: f32[]
}} "loop"
y = Add(w_end, last)
output y: f32[2, 2]
output all: f32[3]
)";

TEST(SimplifyBodies, WhatALoopNeverChangesIsCaptured) {
  const Graph before = parse(kInvariant);
  Graph after = before;
  const auto steps = simplify(after);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  EXPECT_EQ(body(after, "body").inputs().size(), 3U);
  EXPECT_EQ(body(after, "body").outputs().size(), 3U);
  expect_same_numbers(before, after, 0);
}

TEST(SimplifyBodies, AnOutputOfTheGraphIsNoInput) {
  std::string text = kInvariant;
  text += "output w_end: f32[2, 2]\n";
  const Graph before = parse(text);
  Graph after = before;
  ASSERT_TRUE(simplify(after).ok());
  EXPECT_EQ(body(after, "body").inputs().size(), 4U);
  expect_same_numbers(before, after, 0);
}

TEST(SimplifyBodies, StatesOfScanToo) {
  const Graph before = parse(R"(graph g opset(""=17)
input x: f32[3, 2]
input s: f32[2]
const w: f32[2] = [2, -3]
w_end, s_end, all = Scan(w, s, x) {num_scan_inputs=1, body={ graph step
  input k: f32[2]
  input state: f32[2]
  input e: f32[2]
  t = Mul(e, k)
  next = Add(t, state)
  same = Identity(k)
  out = Neg(next)
  output same: f32[2]
  output next: f32[2]
  output out: f32[2]
}} "scan"
y = Add(w_end, s_end)
output y: f32[2]
output all: f32[3, 2]
)");
  Graph after = before;
  const auto steps = simplify(after);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  EXPECT_EQ(body(after, "body").inputs().size(), 2U);
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

// A branch that holds an If itself is folded once that one is.
TEST(SimplifyBodies, AChoiceWithinAChoiceIsFoldedWhole) {
  const Graph before = parse(R"(graph g opset(""=17)
input x: f32[2]
const rate: i64[] = [16000]
const wanted: i64[] = [16000]
c = Equal(rate, wanted)
y = If(c) {then_branch={ graph a
  capture x: f32[2]
  const low: i64[] = [8000]
  const lower: i64[] = [4000]
  is_low = Equal(lower, low)
  t = If(is_low) {then_branch={ graph aa
    capture x: f32[2]
    p = Abs(x)
    output p: f32[2]
  }, else_branch={ graph ab
    capture x: f32[2]
    q = Neg(x)
    output q: f32[2]
  }}
  r = Exp(t)
  output r: f32[2]
}, else_branch={ graph b
  capture x: f32[2]
  u = Sin(x)
  output u: f32[2]
}} "choice"
output y: f32[2]
)");
  Graph after = before;
  const auto steps = simplify(after);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  for (const NodeId id : after.nodes())
    EXPECT_FALSE(after.node(id).is("If"));
  EXPECT_EQ(after.nodes().size(), 2U);
  expect_same_numbers(before, after, 0);
}

// What the bodies of a branch capture of it, of the graph, and of a body around them.
TEST(SimplifyBodies, ABranchWithChoicesAndLoopsOfItsOwnIsFolded) {
  const Graph before = parse(R"(graph g opset(""=17)
input x: f32[2]
input s: bool[]
const taken: bool[] = [1]
t = Neg(x)
y, z = If(taken) {then_branch={ graph a
  capture x: f32[2]
  capture s: bool[]
  capture t: f32[2]
  const three: i64[] = [3]
  const go: bool[] = [1]
  const w: f32[2] = [2, -3]
  p = Mul(x, w)
  q = If(s) {then_branch={ graph aa
    capture p: f32[2]
    capture t: f32[2]
    capture s: bool[]
    r = If(s) {then_branch={ graph aaa
      capture p: f32[2]
      capture t: f32[2]
      m = Add(p, t)
      output m: f32[2]
    }, else_branch={ graph aab
      capture t: f32[2]
      n = Exp(t)
      output n: f32[2]
    }}
    output r: f32[2]
  }, else_branch={ graph ab
    capture p: f32[2]
    n = Abs(p)
    output n: f32[2]
  }} "inner"
  l = Loop(three, go, q) {body={ graph ac
    input i: i64[]
    input c: bool[]
    input carried: f32[2]
    capture p: f32[2]
    capture w: f32[2]
    kept = Identity(c)
    u = Mul(carried, w)
    v = Add(u, p)
    output kept: bool[]
    output v: f32[2]
  }} "loop"
  output l: f32[2]
  output q: f32[2]
}, else_branch={ graph b
  capture x: f32[2]
  u = Sin(x)
  v = Cos(x)
  output u: f32[2]
  output v: f32[2]
}} "choice"
output y: f32[2]
output z: f32[2]
)");
  Graph after = before;
  const auto steps = simplify(after);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  std::vector<std::string> types;
  for (const NodeId id : after.nodes())
    types.push_back(after.node(id).op_type);
  std::sort(types.begin(), types.end());
  EXPECT_EQ(types, (std::vector<std::string>{"If", "Loop", "Mul", "Neg"}));
  for (const float a : {1.5F, -0.25F})
    for (const bool s : {false, true}) {
      const std::vector<Tensor> inputs = {Tensor::of<float>({2}, {a, 0.75F}), Tensor::scalar(s)};
      const auto want = make_reference_executor(before).value()->run(inputs).value();
      const auto got = make_reference_executor(after).value()->run(inputs).value();
      for (size_t k = 0; k < 2; ++k)
        EXPECT_EQ(got[k].to_floats().value(), want[k].to_floats().value()) << s << " " << k;
    }
}

} // namespace
} // namespace octet
