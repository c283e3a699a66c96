// SPDX-License-Identifier: Apache-2.0
// Shapes with symbols: what exported models compute from Shape folds to polynomials, and what does
// not fit is refused with a message that names it.
#include "graph/bodies.h"
#include "ops/declared.h"
#include "ops/infer.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

struct Case {
  const char* name;
  const char* inputs; ///< statements before the node(s)
  const char* nodes;  ///< the last one makes y
  const char* want;   ///< the type of y, or a part of the error after "error: "
};

std::string infer_y(const Case& c) {
  const std::string text = std::string("graph main opset(\"\"=17)\n") + c.inputs + "\n" + c.nodes +
                           "\noutput y: undefined[*]\n";
  auto graph = parse_graph(text);
  if (!graph.ok()) return "parse: " + graph.error().text();
  const Status status = infer_types(*graph, UnknownOp::kRefuse);
  if (!status.ok()) return "error: " + status.error().text();
  return graph->value(graph->outputs()[0]).type.text();
}

class ShapeInference : public testing::TestWithParam<Case> {};

TEST_P(ShapeInference, GivesTheType) {
  const Case& c = GetParam();
  const std::string want = c.want;
  const std::string have = infer_y(c);
  if (want.starts_with("error: "))
    EXPECT_TRUE(have.starts_with("error: ") && have.find(want.substr(7)) != std::string::npos)
        << have;
  else
    EXPECT_EQ(have, want);
}

constexpr const char* kX = "input x: f32[N, S, 384]";

const Case kCases[] = {
    {"ReshapeCopiesAndInfers", "input x: f32[N, S, 384]\nconst s: i64[4] = [0, 0, 12, -1]",
     "y = Reshape(x, s)", "f32[N, S, 12, 32]"},
    {"ReshapeMergesSymbols", "input x: f32[N, S, 384]\nconst s: i64[2] = [-1, 384]",
     "y = Reshape(x, s)", "f32[N*S, 384]"},
    {"ReshapeBySizesOfShape",
     "input x: f32[N, S, 384]\nconst i: i64[] = [0]\nconst a: i64[1] = [0]\n"
     "const r: i64[2] = [-1, 32]",
     "d = Shape(x)\nn = Gather(d, i)\nu = Unsqueeze(n, a)\nt = Concat(u, r) {axis=0}\n"
     "y = Reshape(x, t)",
     "f32[N, S*12, 32]"},
    {"ReshapeRefusesSizes", "input x: f32[2, 3]\nconst s: i64[2] = [4, -1]", "y = Reshape(x, s)",
     "error: does not fit the shape [4, -1]"},
    {"ReshapeRefusesTwoOpen", "input x: f32[2, 3]\nconst s: i64[2] = [-1, -1]", "y = Reshape(x, s)",
     "error: has two -1"},
    {"ExpandByWhereOfEqual",
     "input x: f32[N, S, 384]\nconst m: i64[] = [-1]\nconst o: i64[3] = [1, 1, 1]\n"
     "const one: f32[1] = [1]",
     "d = Shape(x)\ne = Equal(d, m)\nw = Where(e, o, d)\ny = Expand(one, w)", "f32[N, S, 384]"},
    {"SliceOfPositions",
     "input x: i64[N, S]\nconst p: i64[1, 4] = [0, 1, 2, 3]\nconst zero: i64[1] = [0]\n"
     "const axis: i64[1] = [1]\nconst two: i64[1] = [2]",
     "d = Shape(x)\ns = Slice(d, axis, two)\ny = Slice(p, zero, s, axis)", "i64[1, S]"},
    {"SliceDropsTheLast",
     "input x: i64[N, S]\nconst a: i64[1] = [0]\nconst b: i64[1] = [-1]\nconst axis: i64[1] = [1]",
     "y = Slice(x, a, b, axis)", "i64[N, S - 1]"},
    {"SliceFromNearTheEndOfAShortAxis",
     "input x: i64[N, S]\nconst a: i64[1] = [-2]\nconst b: i64[1] = [-1]\nconst axis: i64[1] = [1]",
     "y = Slice(x, a, b, axis)", "i64[N, ?]"},
    {"ReshapeCopiesNothing", "input x: f32[0, 2, 4]\nconst s: i64[1] = [0]", "y = Reshape(x, s)",
     "f32[0]"},
    {"ResizeOfNothing", "input x: f32[1, 2, 0]\nconst s: f32[3] = [1, 2, 3]", "y = Resize(x, _, s)",
     "f32[1, 4, 0]"},
    {"StftOfRealSignals",
     "input x: f32[2, 10]\nconst s: i64[] = [2]\nconst w: f32[4] = [1, 1, 1, 1]",
     "y = STFT(x, s, w)", "f32[2, 4, 3, 2]"},
    {"ArgMaxOfNothingIntoNothing", "input x: f32[0, 0]", "y = ArgMax(x) {axis=1}", "i64[0, 1]"},
    {"ArgMaxRefusesNothing", "input x: f32[2, 0]", "y = ArgMax(x) {axis=1}",
     "error: there is no best element"},
    {"ArithmeticOnShapes",
     "input x: f32[N, S, 384]\nconst i: i64[1] = [1]\nconst two: i64[1] = [2]",
     "d = Shape(x)\ns = Gather(d, i)\nm = Mul(s, two)\na = Add(m, two)\n"
     "y = ConstantOfShape(a)",
     "f32[S*2 + 2]"},
    {"SplitHalvesAConstant", "input x: f32[N, 768]", "y, z = Split(x) {axis=-1}", "f32[N, 384]"},
    {"BroadcastKeepsSymbols", "input x: f32[N, S, 384]\nconst b: f32[1] = [1]", "y = Add(x, b)",
     "f32[N, S, 384]"},
    {"BroadcastRefuses", "input x: f32[2, 3]\ninput b: f32[4]", "y = Add(x, b)",
     "error: shapes [2, 3] and [4] do not broadcast"},
    {"TypesMustAgree", "input x: f32[2]\ninput b: f64[2]", "y = Add(x, b)",
     "error: inputs 0 and 1 of Add are f32 and f64"},
    {"TransposeRefusesAxis", kX, "y = Transpose(x) {perm=[0, 1, 3]}",
     "error: axis 3 out of range for rank 3; use -3 to 2"},
    {"ConcatAddsSymbols", "input x: f32[N, S]\ninput z: f32[N, 4]", "y = Concat(x, z) {axis=1}",
     "f32[N, S + 4]"},
    {"ConcatRefuses", "input x: f32[2, 3]\ninput z: f32[4, 3]", "y = Concat(x, z) {axis=1}",
     "error: may differ only along axis 1"},
    {"SqueezeRefuses", "input x: f32[2, 3]\nconst a: i64[1] = [1]", "y = Squeeze(x, a)",
     "error: has size 3; only dimensions of size 1"},
    {"ReductionTakesAnAxisOnce", "input x: f32[2, N, 4]", "y = ReduceMax(x) {axes=[1, 2, -1]}",
     "f32[2, 1, 1]"},
    {"UnsqueezeRefusesTwice", "input x: f32[2]\nconst a: i64[2] = [0, -3]", "y = Unsqueeze(x, a)",
     "error: axis -3 is given twice"},
    {"RangeOfASymbol",
     "input x: f32[N, S]\nconst i: i64[] = [1]\nconst zero: i64[] = [0]\nconst one: i64[] = [1]",
     "d = Shape(x)\ns = Gather(d, i)\ny = Range(zero, s, one)", "i64[S]"},
    {"FlattenMultiplies", "input x: f32[N, 64, 7, 7]", "y = Flatten(x)", "f32[N, 3136]"},
    {"TileMultiplies", "input x: f32[N, 2]\nconst r: i64[2] = [3, 4]", "y = Tile(x, r)",
     "f32[N*3, 8]"},
    {"PadAdds", "input x: f32[N, H]\nconst p: i64[4] = [0, 1, 0, 2]", "y = Pad(x, p)",
     "f32[N, H + 3]"},
    {"GatherRefusesAxis", "input x: f32[2, 3]\nconst i: i64[1] = [0]", "y = Gather(x, i) {axis=2}",
     "error: axis 2 out of range for rank 2"},
    {"TopKRefuses", "input x: f32[3]\nconst k: i64[1] = [4]", "y, i = TopK(x, k)",
     "error: k is 4 but axis 0"},
    {"CastFollowsWhatFits", "input x: f32[N, 3]",
     "s = Shape(x)\nt = Cast(s) {to=6}\nu = Cast(t) {to=7}\ny = ConstantOfShape(u)", "f32[N, 3]"},
    {"CastDoesNotFollowLowBits", "const s: i64[2] = [2, 300]",
     "t = Cast(s) {to=2}\nu = Cast(t) {to=7}\ny = ConstantOfShape(u)", "f32[?, ?]"},
    {"CastNeedsAType", "input x: f32[3]", "y = Cast(x) {to=99}", "error: to is 99"},
    {"DepthToSpaceRefuses", "input x: f32[1, 6, 2, 2]", "y = DepthToSpace(x) {blocksize=2}",
     "error: 6 channels do not split into blocks of 2 x 2"},
};

INSTANTIATE_TEST_SUITE_P(Ops, ShapeInference, testing::ValuesIn(kCases), [](const auto& param) {
  return std::string(param.param.name);
});

struct DeclaredCase {
  const char* name;
  const char* text;
  const char* y;    ///< type that counts
  const char* want; ///< the disagreements, one a line
};

/// What is declared fills in what operators leave open, and yields to what they compute.
TEST(DeclaredTypes, YieldAndAreNamedOnce) {
  const DeclaredCase cases[] = {
      {"agrees", "input x: f32[2]\ny = Relu(x)\noutput y: f32[2]", "f32[2]", ""},
      {"says less", "input x: f32[2]\ny = Relu(x)\noutput y: f32[M]", "f32[2]", ""},
      {"says more", "input x: f32[2]\ny = NonZero(x)\noutput y: i64[1, 5]", "i64[1, 5]", ""},
      {"open in the computed one", "input x: f32[N]\ny = Relu(x)\noutput y: f32[1]", "f32[N]", ""},
      {"size", "input x: f32[2]\ny = Relu(x)\noutput y: f32[3]", "f32[2]",
       "\"y\" is declared f32[3] but computes f32[2]\n"},
      {"rank", "input x: f32[2]\ny = Relu(x)\noutput y: f32[]", "f32[2]",
       "\"y\" is declared f32[] but computes f32[2]\n"},
      {"type", "input x: f32[2]\ny = Relu(x)\noutput y: i8[2]", "f32[2]",
       "\"y\" is declared i8[2] but computes f32[2]\n"},
      {"between",
       "input x: f32[2]\nh = Relu(x)\ny = Shape(h)\noutput y: i64[1]\noutput h: i8[4, 4]", "i64[1]",
       "\"h\" is declared i8[4, 4] but computes f32[2]\n"},
      {"in a body",
       "input c: bool[]\ninput x: f32[2]\ny = If(c) {then_branch={ graph a\n  capture x: f32[2]\n"
       "  t = Neg(x)\n  output t: f32[7]\n}, else_branch={ graph b\n  capture x: f32[2]\n"
       "  u = Abs(x)\n  output u: f32[2]\n}}\noutput y: f32[2]",
       "f32[2]", "\"If \"y\": t\" is declared f32[7] but computes f32[2]\n"},
  };
  for (const DeclaredCase& c : cases) {
    SCOPED_TRACE(c.name);
    auto graph = parse_graph(std::string("graph main opset(\"\"=17)\n") + c.text + "\n");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    std::string have;
    for (const Disagreement& one : disagreements(*graph))
      have += one.text() + "\n";
    EXPECT_EQ(have, c.want);
    ASSERT_TRUE(infer_types(*graph).ok());
    EXPECT_EQ(graph->value(graph->outputs()[0]).type.text(), c.y);
    const auto again = infer(*graph);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(must_agree(*again).ok());
  }
}

TEST(DeclaredTypes, ForgottenShapesFollowFromInputsAlone) {
  auto graph = parse_graph("graph main opset(\"\"=17)\ninput x: f32[2]\nn = NonZero(x)\n"
                           "y = Cast(n) {to=1}\noutput y: f32[1, 5]\n");
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(infer(*graph)->trusted);
  forget_declared_shapes(*graph);
  const auto found = infer(*graph);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->trusted);
  EXPECT_EQ(graph->value(graph->outputs()[0]).type.text(), "f32[1, ?]");
}

TEST(DeclaredTypes, ThatNothingFitsAreForgotten) {
  // How many elements are not 0 only the data tells; five are declared.
  const auto with_bias = [](const std::string& bias) {
    Graph graph = parse_graph("graph main opset(\"\"=17)\ninput x: f32[2, 3]\nconst b: f32" + bias +
                              "\nn = NonZero(x)\nc = Cast(n) {to=1}\nt = Transpose(c)\n"
                              "y = Add(t, b)\noutput y: f32[*]\n")
                      .value();
    graph.set_type(*graph.find_value("n"), tensor_type(DType::kInt64, Shape{2, 5}));
    return graph;
  };
  for (const char* bias :
       {"[5, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]"}) {
    Graph graph = with_bias(bias), again = graph;
    const Status fits = infer_types(graph);
    ASSERT_TRUE(fits.ok()) << fits.error().text();
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "f32" + std::string(bias, 6));
    const auto found = infer(again);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_EQ(again.value(again.outputs()[0]).type.text(), "f32" + std::string(bias, 6));
  }
  // A rank that only is declared, which a turn of a loop or a branch changes.
  Graph ranked = parse_graph("graph main opset(\"\"=17)\ninput c: bool[]\ninput x: f32[]\n"
                             "const i: i64[2] = [0, 1]\n"
                             "y = If(c) {then_branch={ graph a\n  capture x: f32[]\n"
                             "  t = Neg(x)\n  output t: f32[]\n}, else_branch={ graph b\n"
                             "  capture x: f32[]\n  const n: i64[1] = [0]\n"
                             "  u = Unsqueeze(x, n)\n  output u: f32[*]\n}}\n"
                             "z = Gather(y, i) {axis=0}\noutput z: f32[*]\n")
                     .value();
  ranked.set_type(*ranked.find_value("y"), tensor_type(DType::kFloat32, Shape{}));
  const Status rank_fits = infer_types(ranked);
  EXPECT_TRUE(rank_fits.ok()) << rank_fits.error().text();
  // What does not fit without it either is the error that it was.
  Graph never = with_bias("[4, 3] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]");
  EXPECT_NE(infer_types(never).error().text().find("Add"), std::string::npos);
}

TEST(DeclaredTypes, OfBodiesStayWhereTheyDoNotFit) {
  // ONNX Runtime asks for the shapes of a body's inputs.
  Graph graph = parse_graph("graph main opset(\"\"=17)\ninput x: f32[2, 3]\ninput c: bool[]\n"
                            "const b: f32[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
                            "y = If(c) {then_branch={ graph a\n  capture x: f32[2, 3]\n"
                            "  n = NonZero(x)\n  m = Cast(n) {to=1}\n  t = Transpose(m)\n"
                            "  output t: f32[5, 2]\n}, else_branch={ graph d\n"
                            "  capture x: f32[2, 3]\n  n = NonZero(x)\n  m = Cast(n) {to=1}\n"
                            "  u = Transpose(m)\n  output u: f32[5, 2]\n}}\n"
                            "z = Add(y, b)\noutput z: f32[*]\n")
                    .value();
  const auto found = infer(graph);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "f32[4, 2]");
  const Node& branches = *graph.producer(*graph.find_value("y"));
  const Graph& branch = *bodies_of(branches).front().graph;
  EXPECT_EQ(branch.value(branch.outputs()[0]).type.text(), "f32[5, 2]");
}

} // namespace
} // namespace octet
