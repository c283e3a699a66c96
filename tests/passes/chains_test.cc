// SPDX-License-Identifier: Apache-2.0
// Chains of small operators, as exporters write them, become one operator with the same numbers.
#include "passes/pass_support.h"

namespace octet {
namespace {

using test::apply;
using test::expect_same_numbers;
using test::parse;

/// Operators of the graph, in order.
std::vector<std::string> operators(const Graph& graph) {
  const std::vector<NodeId> order = graph.topological().value();
  std::vector<std::string> out;
  out.reserve(order.size());
  for (const NodeId id : order)
    out.push_back(graph.node(id).op_type);
  return out;
}

using Names = std::vector<std::string>;

constexpr const char* kGeluHead = R"(graph g opset(""=20)
input x: f32[2, 5]
const root: f32[] = [1.4142135623730951]
const slope: f32[] = [0.7978845608028654]
const cubic: f32[] = [0.044715]
const one: f32[] = [1]
const half: f32[] = [0.5]
const three: f32[] = [3]
)";

TEST(FuseGelu, TakesEveryOrderOfItsFactors) {
  struct Form {
    const char* text;
    bool tanh;
  };
  const Form forms[] = {
      {"a = Div(x, root)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, c)\ny = Mul(d, half)\n", false},
      {"a = Div(x, root)\nb = Erf(a)\nc = Add(one, b)\nd = Mul(half, c)\ny = Mul(x, d)\n", false},
      {"a = Div(x, root)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, half)\ny = Mul(d, c)\n", false},
      {"p = Pow(x, three)\nq = Mul(p, cubic)\nr = Add(x, q)\ns = Mul(r, slope)\nt = Tanh(s)\n"
       "u = Add(t, one)\nv = Mul(x, half)\ny = Mul(v, u)\n",
       true},
      {"o = Mul(x, x)\np = Mul(x, o)\nq = Mul(cubic, p)\nr = Add(q, x)\ns = Mul(slope, r)\n"
       "t = Tanh(s)\nu = Add(one, t)\nv = Mul(half, x)\ny = Mul(v, u)\n",
       true},
      {"l = Mul(x, slope)\nm = Mul(x, cubic)\nn = Mul(m, x)\no = Add(n, one)\ns = Mul(l, o)\n"
       "t = Tanh(s)\nu = Add(one, t)\nv = Mul(u, half)\ny = Mul(v, x)\n",
       true},
  };
  for (const Form& form : forms) {
    SCOPED_TRACE(form.text);
    const Graph before = parse(std::string(kGeluHead) + form.text + "output y: f32[2, 5]\n");
    Graph after = before;
    const std::vector<Step> steps = apply(after, {fuse_gelu});
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].exactness, Exactness::kRounding);
    ASSERT_EQ(operators(after), Names{"Gelu"});
    const Node& node = after.node(after.nodes().at(0));
    EXPECT_EQ(node.attr_string("approximate", "none"), form.tanh ? "tanh" : "none");
    expect_same_numbers(before, after, 2e-6);
  }
}

TEST(FuseGelu, NeedsItsNumbersAndItsOperatorSet) {
  const std::string chain =
      "a = Div(x, root)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, c)\ny = Mul(d, half)\n"
      "output y: f32[2, 5]\n";
  std::string head = kGeluHead;
  Graph older = parse(head.replace(head.find("20"), 2, "17") + chain);
  EXPECT_TRUE(apply(older, {fuse_gelu}).empty());
  head = kGeluHead;
  Graph other = parse(head.replace(head.find("1.4142135"), 9, "1.5142135") + chain);
  EXPECT_TRUE(apply(other, {fuse_gelu}).empty());
}

constexpr const char* kNormTail = R"(const two: f32[] = [2]
const eps: f32[] = [0.00001]
const gain: f32[4] = [1, 0.5, 2, -1]
const bias: f32[4] = [0, 1, -1, 0.5]
m = ReduceMean(x) {axes=[-1]}
d = Sub(x, m)
s = Pow(d, two)
v = ReduceMean(s) {axes=[-1]}
e = Add(v, eps)
r = Sqrt(e)
n = Div(d, r)
p = Mul(n, gain)
y = Add(p, bias)
output y: f32[2, 3, 4]
)";

TEST(FuseLayerNorm, FromOpset17On) {
  const Graph before =
      parse(std::string("graph g opset(\"\"=17)\ninput x: f32[2, 3, 4]\n") + kNormTail);
  Graph after = before;
  ASSERT_EQ(apply(after, {fuse_layer_norm}).size(), 1U);
  EXPECT_EQ(operators(after), Names{"LayerNormalization"});
  expect_same_numbers(before, after, 1e-5);
  Graph older = parse(std::string("graph g opset(\"\"=13)\ninput x: f32[2, 3, 4]\n") + kNormTail);
  EXPECT_TRUE(apply(older, {fuse_layer_norm}).empty());
}

TEST(FuseLayerNorm, OverSeveralAxes) {
  const std::string head = "graph g opset(\"\"=17)\ninput x: f32[2, 3, 4]\n"
                           "const gain: f32[3, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6]\n"
                           "const eps: f32[] = [0.00001]\nconst two: f32[] = [2]\n";
  const auto chain = [&](const char* first, const char* second) {
    return parse(head + "m = ReduceMean(x) {axes=" + first +
                 "}\nd = Sub(x, m)\ns = Pow(d, two)\nv = ReduceMean(s) {axes=" + second +
                 "}\ne = Add(v, eps)\nr = Sqrt(e)\nn = Div(d, r)\ny = Mul(gain, n)\n"
                 "output y: f32[2, 3, 4]\n");
  };
  const Graph before = chain("[-2, -1]", "[2, 1]");
  Graph after = before;
  ASSERT_EQ(apply(after, {fuse_layer_norm}).size(), 1U);
  EXPECT_EQ(operators(after), Names{"LayerNormalization"});
  expect_same_numbers(before, after, 1e-5);
  Graph apart = chain("[0, 2]", "[0, 2]");
  EXPECT_TRUE(apply(apart, {fuse_layer_norm}).empty());
  Graph unequal = chain("[1, 2]", "[2]");
  EXPECT_TRUE(apply(unequal, {fuse_layer_norm}).empty());
}

TEST(MergeFactors, OfProductsAndSums) {
  const Graph before = parse(R"(graph g opset(""=17)
input x: f32[2, 3]
const tenth: f32[] = [0.1]
const c: f32[2, 3] = [1, 2, 3, 4, 5, 6]
a = Mul(x, tenth)
b = Mul(c, a)
d = Add(tenth, b)
y = Add(d, c)
output y: f32[2, 3]
)");
  Graph after = before;
  EXPECT_EQ(apply(after, {merge_factors}).size(), 2U);
  EXPECT_EQ(operators(after), (Names{"Mul", "Add"}));
  expect_same_numbers(before, after, 1e-6);
}

TEST(FoldBias, IntoConvAndGemm) {
  for (const char* sizes : {"1, 1, 3, 3", "?, 1, ?, ?"}) {
    const Graph conv = parse(std::string("graph g opset(\"\"=17)\ninput x: f32[") + sizes + R"(]
const w: f32[2, 1, 2, 2] = [1, 2, 3, 4, 5, 6, 7, 8]
const b: f32[2, 1, 1] = [0.5, -1]
const f: f32[1, 2, 1, 1] = [2, 3]
p = Conv(x, w)
s = Add(p, b)
y = Mul(s, f)
output y: f32[*]
)");
    Graph after = conv;
    EXPECT_EQ(apply(after, {fold_bias, fold_scale}).size(), 2U) << sizes;
    EXPECT_EQ(operators(after), Names{"Conv"}) << sizes;
    if (sizes[0] == '1') expect_same_numbers(conv, after, 1e-5);
  }
  Graph after;
  const Graph product = parse(R"(graph g opset(""=17)
input x: f32[N, 2]
const w: f32[2, 3] = [1, 2, 3, 4, 5, 6]
const b: f32[3] = [0.5, -1, 2]
p = MatMul(x, w)
y = Add(b, p)
output y: f32[N, 3]
)");
  after = product;
  ASSERT_EQ(apply(after, {fold_bias}).size(), 1U);
  EXPECT_EQ(operators(after), Names{"Gemm"});
  expect_same_numbers(product, after, 1e-5);
}

} // namespace
} // namespace octet
