// SPDX-License-Identifier: Apache-2.0
// The rules of simplify: graphs as text before and after, and equal numbers on random input.
#include <random>

#include "passes/pass_support.h"
#include "passes/simplify/rules.h"
#include "quant/prepare.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/passes.h"

namespace octet {
namespace {

using test::parse;
using test::printed;

/// Applies one rule until it no longer matches.
std::vector<Step> apply(Graph& graph, RuleFn* rule) {
  const Rule rules[] = {{"the_rule", rule}};
  return rewrite(graph, rules).value();
}

Tensor random(Shape shape, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
  for (float& v : values)
    v = draw(generator);
  return Tensor::of<float>(std::move(shape), std::span<const float>(values));
}

std::vector<double> run(const Graph& graph, const Tensor& x) {
  auto executor = make_reference_executor(graph).value();
  return executor->run(std::vector<Tensor>{x}).value().at(0).to_doubles().value();
}

void expect_same_numbers(const Graph& a, const Graph& b, const Tensor& x, double tolerance) {
  const std::vector<double> ya = run(a, x);
  const std::vector<double> yb = run(b, x);
  ASSERT_EQ(ya.size(), yb.size());
  for (size_t i = 0; i < ya.size(); ++i)
    EXPECT_NEAR(ya[i], yb[i], tolerance) << i;
}

TEST(Simplify, SizesOfOneNameThatAreOnlyDeclaredMayDiffer) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2, 3]
input m: bool[2]
input shape: i64[2]
const minus: i64[1] = [-1]
a = Compress(x, m) {axis=0}
flat = Reshape(a, minus)
y = Reshape(flat, shape)
output a: f32[A, 3]
output y: f32[A, 3]
)");
  ASSERT_TRUE(simplify(g).ok());
  const ValueId y = g.outputs()[1];
  ASSERT_NE(g.producer(y), nullptr);
  EXPECT_EQ(g.producer(y)->input(1), g.find_value("shape"));
  EXPECT_EQ(g.value(y).type.text(), "f32[A, 3]"); // the hint stays in the file
}

TEST(EliminateSameShape, BelievesNoShapeThatIsOnlyDeclared) {
  // As many rows as m has ones, whatever the output is declared as.
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[A, 2]
input m: bool[A]
const zero: i64[1] = [0]
const one: i64[1] = [1]
const two: i64[1] = [2]
n = NonZero(m)
shape = Shape(n)
count = Slice(shape, one, two)
a = Abs(x)
y = Slice(a, zero, count, zero)
output y: f32[A, 2]
)");
  ASSERT_TRUE(simplify(g).ok());
  auto executor = make_reference_executor(g).value();
  const std::vector<double> ones = {0, 1, 0};
  const Tensor m = Tensor::from_doubles(DType::kBool, {3}, ones).value();
  EXPECT_EQ(executor->run(std::vector<Tensor>{random({3, 2}, 1), m}).value().at(0).shape(),
            (Shape{1, 2}));
}

TEST(ConstantToInitializer, TakesTheConstantsName) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2]
c = Constant() {value=tensor(f32[2], [1.5, 2.5])}
y = Add(x, c)
output y: f32[2]
)");
  EXPECT_EQ(apply(g, constant_to_initializer).size(), 1U);
  ASSERT_TRUE(g.find_value("c"));
  EXPECT_TRUE(g.value(*g.find_value("c")).is_constant());
  EXPECT_EQ(run(g, Tensor::of<float>({2}, {1, 2})), (std::vector<double>{2.5, 4.5}));
}

TEST(SumToAdd, OfTwoThatBroadcast) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2, 3]
const c: f32[3] = [1.5, 2.5, -1e-3]
y = Sum(x, c)
z = Sum(y, x, c)
output z: f32[2, 3]
)");
  const Graph before = g;
  EXPECT_EQ(apply(g, sum_to_add).size(), 1U);
  const std::string text = printed(g);
  EXPECT_NE(text.find("y = Add(x, c)"), std::string::npos) << text;
  EXPECT_NE(text.find("z = Sum(y, x, c)"), std::string::npos) << text;
  expect_same_numbers(before, g, random({2, 3}, 5), 0);
}

TEST(CastLikeToCast, TakesTheTypeAndKeepsTheRest) {
  Graph g = parse(R"(graph g opset(""=19)
input x: f32[2, 3]
input t: i64[5]
input u: f8e4m3fn[1]
y = CastLike(x, t)
z = CastLike(x, u) {saturate=0}
output y: i64[2, 3]
output z: f8e4m3fn[2, 3]
)");
  EXPECT_EQ(apply(g, cast_like_to_cast).size(), 2U);
  const std::string text = printed(g);
  EXPECT_NE(text.find("y = Cast(x) {to=7}"), std::string::npos) << text;
  EXPECT_NE(text.find("z = Cast(x) {saturate=0, to=17}"), std::string::npos) << text;
}

TEST(EliminateIdentity, KeepsNamesOfGraphOutputs) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2, 3]
a = Identity(x)
b = Relu(a)
c = Transpose(b) {perm=[0, 1]}
y = Cast(c) {to=1}
output y: f32[2, 3]
)");
  EXPECT_EQ(apply(g, eliminate_identity).size(), 3U);
  EXPECT_EQ(printed(g), R"(graph g opset(""=17)
input x: f32[2, 3]
y = Relu(x)
output y: f32[2, 3]
)");
}

TEST(EliminateIdentity, KeepsAnInputThatIsAnOutput) {
  const std::string text = R"(graph g opset(""=17)
input x: f32[2]
y = Identity(x)
output y: f32[2]
)";
  Graph g = parse(text);
  EXPECT_TRUE(apply(g, eliminate_identity).empty());
  EXPECT_EQ(g.nodes().size(), 1U);
}

TEST(EliminateDropout, OnlyInInference) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[4]
const ratio: f32[] = [0.5]
const yes: bool[] = [1]
const no: bool[] = [0]
a = Dropout(x, ratio)
b = Dropout(a, ratio, no)
c = Dropout(b, ratio, yes)
y = Relu(c)
output y: f32[4]
)");
  EXPECT_EQ(apply(g, eliminate_dropout).size(), 2U);
  int left = 0;
  for (const NodeId id : g.nodes())
    left += g.node(id).is("Dropout") ? 1 : 0;
  EXPECT_EQ(left, 1);
}

TEST(FoldConstants, FoldsChainsButNoQuantization) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2]
const a: f32[2] = [1.0, 2.0]
const b: f32[2] = [10.0, 20.0]
const s: f32[] = [0.5]
const z: i8[] = [0]
sum = Add(a, b)
twice = Add(sum, sum)
q = QuantizeLinear(a, s, z)
dq = DequantizeLinear(q, s, z)
t = Add(x, twice)
y = Add(t, dq)
output y: f32[2]
)");
  const Graph before = g;
  const std::vector<Step> steps = apply(g, fold_constants);
  EXPECT_EQ(steps.size(), 2U);
  EXPECT_EQ(g.nodes().size(), 4U);
  expect_same_numbers(before, g, Tensor::of<float>({2}, {3, 4}), 0);
}

TEST(FoldConstants, HasAByteBudget) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[1]
const value: f32[1] = [1.0]
const shape: i64[2] = [4096, 4096]
big = Expand(value, shape)
y = Add(x, big)
output y: f32[4096, 4096]
)");
  EXPECT_TRUE(apply(g, fold_constants).empty());
  EXPECT_TRUE(apply(g, fold_weights).empty()) << "no product reads it";
}

TEST(FoldConstants, WeightsOfProductsWhereAskedFor) {
  const Graph g = parse(R"(graph g opset(""=17)
input x: f32[1, 1100, 2, 2]
const shape: i64[4] = [1100, 1100, 1, 1]
w = ConstantOfShape(shape)
y = Conv(x, w)
output y: f32[1, 1100, 2, 2]
)");
  Graph simple = g;
  EXPECT_TRUE(apply(simple, fold_constants).empty());
  EXPECT_EQ(apply(simple, fold_weights).size(), 1U);
  EXPECT_EQ(simple.nodes().size(), 1U);
  Graph prepared = prepare_for_quantization(g).value();
  EXPECT_EQ(prepared.nodes().size(), 1U);
}

TEST(EliminateDuplicates, ComparesWhatStaysSerialized) {
  const auto nodes_left = [](const std::string& second) {
    Graph g =
        parse("graph g opset(\"\"=17)\ninput x: f32[2]\na = Neg(x) {type=raw(14, \"0a020801\")}\n"
              "b = Neg(x) {type=raw(14, \"" +
              second + "\")}\ny = Add(a, b)\noutput y: f32[2]\n");
    apply(g, eliminate_duplicates);
    return g.nodes().size();
  };
  EXPECT_EQ(nodes_left("0a020801"), 2U);
  EXPECT_EQ(nodes_left("0a020802"), 3U);
}

TEST(FoldConstants, LargeGraphsKeepWhatIsLarge) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2, 1100000]
input w: f32[1, 1100000]
wt = Transpose(w) {perm=[1, 0]}
y = MatMul(x, wt)
output y: f32[2, 1]
)");
  const ValueId w = *g.find_value("w");
  g.set_inputs({g.inputs()[0]});
  g.set_constant(w, Tensor::zeros(DType::kFloat32, {1, 1100000}).value());
  Graph small = g;
  EXPECT_EQ(apply(small, fold_constants).size(), 1U);
  EXPECT_TRUE(apply(g, fold_small_constants).empty());
}

TEST(FoldShape, NeedsKnownDimensions) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[N, 3, 4]
all = Shape(x)
tail = Shape(x) {start=-2}
y = ConstantOfShape(tail)
output y: f32[3, 4]
output all: i64[3]
)");
  EXPECT_EQ(apply(g, fold_shape).size(), 1U);
  const Tensor* tail = g.constant(*g.find_value("tail"));
  ASSERT_NE(tail, nullptr);
  EXPECT_EQ(tail->to_ints().value(), (std::vector<int64_t>{3, 4}));
}

TEST(Simplify, RemovesWhatReachesNoOutput) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2]
unused = Exp(x)
more = Neg(unused)
y = Relu(x)
output y: f32[2]
)");
  ASSERT_TRUE(simplify(g).ok());
  EXPECT_EQ(g.nodes().size(), 1U);
}

Graph with_batchnorm(const std::string& product,
                     const std::string& weight_shape,
                     const std::string& bias_shape,
                     uint32_t seed) {
  Graph g = parse(R"(graph g opset(""=17)
input x: )" + std::string(product[0] == 'G' ? "f32[2, 6]" : "f32[2, 4, 5, 5]") +
                  "\nconst gain: f32[6] = [0.5, -1.5, 2.0, 1.0, 0.25, 3.0]"
                  "\nconst shift: f32[6] = [0.5, 1.5, -2.0, 1.0, 0.25, 0.0]"
                  "\nconst mean: f32[6] = [0.1, -0.2, 0.3, 0.4, -0.5, 0.6]"
                  "\nconst var: f32[6] = [1.0, 2.0, 0.5, 0.1, 4.0, 0.01]"
                  "\ninput w: f32" +
                  weight_shape + "\ninput b: f32" + bias_shape + "\nt = " + product +
                  (product.back() == '}' ? "" : " {}") + " \"product\"" +
                  "\ny = BatchNormalization(t, gain, shift, mean, var) {epsilon=0.001} \"norm\""
                  "\noutput y: f32" +
                  (product[0] == 'G' ? "[2, 6]" : "[*]") + "\n");
  const ValueId w = *g.find_value("w");
  const ValueId b = *g.find_value("b");
  const Shape ws = *g.value(w).type.static_shape();
  const Shape bs = *g.value(b).type.static_shape();
  g.set_inputs({g.inputs()[0]});
  g.set_constant(w, random(ws, seed));
  g.set_constant(b, random(bs, seed + 1));
  return g;
}

TEST(FoldBatchnorm, KeepsTheNumbersOfEveryProduct) {
  struct Case {
    std::string product, weight, bias;
  };
  const Case cases[] = {
      {"Conv(x, w, b) {pads=[1, 1, 1, 1]}", "[6, 4, 3, 3]", "[6]"},
      {"Conv(x, w) {strides=[2, 2]}", "[6, 4, 3, 3]", "[6]"},
      {"Conv(x, w, b) {group=2}", "[6, 2, 3, 3]", "[6]"},
      {"ConvTranspose(x, w, b) {strides=[2, 2]}", "[4, 6, 3, 3]", "[6]"},
      {"ConvTranspose(x, w, b) {group=2}", "[4, 3, 3, 3]", "[6]"},
      {"Gemm(x, w, b)", "[6, 6]", "[6]"},
      {"Gemm(x, w, b) {transB=1, alpha=0.5, beta=2.0}", "[6, 6]", "[1, 6]"},
      {"Gemm(x, w)", "[6, 6]", "[6]"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.product);
    const Graph before = with_batchnorm(c.product, c.weight, c.bias, 3);
    Graph after = before;
    const std::vector<Step> steps = simplify(after).value();
    EXPECT_EQ(after.nodes().size(), 1U);
    ASSERT_FALSE(steps.empty());
    EXPECT_EQ(steps.back().rule, "fold_batchnorm");
    EXPECT_EQ(steps.back().exactness, Exactness::kRounding);
    const Node& node = after.node(after.nodes().at(0));
    EXPECT_EQ(node.origin, (std::vector<std::string>{"product", "norm"}));
    EXPECT_EQ(after.value(node.input(1)).name, "w");
    const Tensor x = random(c.product[0] == 'G' ? Shape{2, 6} : Shape{2, 4, 5, 5}, 9);
    expect_same_numbers(before, after, x, 2e-4);
  }
}

TEST(FoldBatchnorm, LeavesSharedWeightsAndTrainingMode) {
  Graph shared = parse(R"(graph g opset(""=17)
input x: f32[2, 2]
const w: f32[2, 2] = [1, 2, 3, 4]
const one: f32[2] = [1, 1]
t = Gemm(x, w)
u = Gemm(x, w)
n = BatchNormalization(t, one, one, one, one)
y = Add(n, u)
output y: f32[2, 2]
)");
  EXPECT_TRUE(apply(shared, fold_batchnorm).empty());
  Graph training = parse(R"(graph g opset(""=17)
input x: f32[2, 2]
const w: f32[2, 2] = [1, 2, 3, 4]
const one: f32[2] = [1, 1]
t = Gemm(x, w)
y, m, v = BatchNormalization(t, one, one, one, one) {training_mode=1}
output y: f32[2, 2]
)");
  EXPECT_TRUE(apply(training, fold_batchnorm).empty());
}

TEST(FoldScale, KeepsTheNumbersOfEveryProduct) {
  const std::string cases[] = {
      "t = Conv(x, w, b) {group=2} \"product\"\nu = Mul(t, f)\ny = Add(u, o)",
      "t = Conv(x, w) {group=2, strides=[2, 2]} \"product\"\nu = Mul(f, t)\ny = Add(o, u)",
      "t = Conv(x, w, b) {group=2, pads=[1, 1, 1, 1]} \"product\"\nu = Mul(t, half)\ny = Mul(u, f)",
      "t = ConvTranspose(x, v, b) {group=2} \"product\"\nu = Mul(t, f)\ny = Add(u, half)",
  };
  for (const std::string& nodes : cases) {
    SCOPED_TRACE(nodes);
    Graph before = parse(R"(graph g opset(""=17)
input x: f32[2, 4, 5, 5]
input w: f32[6, 2, 3, 3]
input v: f32[4, 3, 3, 3]
input b: f32[6]
const f: f32[6, 1, 1] = [1, -2, 0.5, 0, 3, 7]
const o: f32[1, 6, 1, 1] = [1, 2, 3, -4, 5, 6]
const half: f32[] = [0.5]
)" + nodes + "\noutput y: f32[*]\n");
    before.set_inputs({before.inputs()[0]});
    for (const char* name : {"w", "v", "b"}) {
      const ValueId id = *before.find_value(name);
      before.set_constant(id, random(*before.value(id).type.static_shape(), 3));
    }
    Graph after = before;
    ASSERT_TRUE(simplify(after).ok());
    EXPECT_EQ(after.nodes().size(), 1U);
    expect_same_numbers(before, after, random({2, 4, 5, 5}, 9), 2e-4);
  }
}

TEST(FoldScale, LeavesWhatIsNotByChannelOrReadTwice) {
  const std::string cases[] = {
      "t = Conv(x, w, b)\ny = Mul(t, along)",                            // along the last axis
      "t = Conv(x, w, b)\ny = Mul(t, wide)",                             // the result is larger
      "t = Conv(x, w, b)\nu = Mul(t, f)\ny = Add(u, t)",                 // read twice
      "t = Conv(x, w, b)\ny = Mul(t, infinite)",                         // would make weights NaN
      "t = Conv(x, w, b)\nu = Conv(x, w)\nm = Mul(t, f)\ny = Add(m, u)", // weights read twice
  };
  for (const std::string& nodes : cases) {
    SCOPED_TRACE(nodes);
    Graph g = parse(R"(graph g opset(""=17)
input x: f32[1, 1, 2, 2]
const w: f32[2, 1, 1, 1] = [1, 2]
const b: f32[2] = [3, 4]
const f: f32[2, 1, 1] = [5, 6]
const along: f32[2] = [5, 6]
const wide: f32[3, 1, 1, 1] = [5, 6, 7]
const infinite: f32[] = [inf]
)" + nodes + "\noutput y: f32[*]\n");
    EXPECT_TRUE(apply(g, fold_scale).empty());
  }
}

/// What a patch costs does not grow with the graph: a chain this long would take minutes otherwise.
TEST(Simplify, TakesHalfOfALongChainAway) {
  constexpr int kPairs = 50000;
  Graph g;
  g.opsets[""] = 17;
  ValueId at = g.add_input("x", tensor_type(DType::kFloat32, Shape{2}));
  const ValueId one = g.add_constant("one", Tensor::scalar(1.0F));
  for (int i = 0; i < kPairs; ++i)
    at = g.emit("Mul", {g.emit("Sigmoid", {at}), one});
  g.mark_output(at);
  const auto steps = simplify(g);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  EXPECT_EQ(g.nodes().size(), static_cast<size_t>(kPairs));
  for (const NodeId id : g.nodes())
    ASSERT_EQ(g.node(id).op_type, "Sigmoid");
}

} // namespace
} // namespace octet
