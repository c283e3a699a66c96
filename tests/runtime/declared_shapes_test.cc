// SPDX-License-Identifier: Apache-2.0
// Types and shapes that a file declares for what its operators compute, and that are not what they compute:
// both executors give what is computed. What that is is written out here.
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

struct DeclaredCase {
  const char* name;
  const char* nodes;
  std::vector<Tensor> inputs;
  Tensor want;
};

Tensor sample() {
  return Tensor::of<float>({2, 3}, {1, 0, 2, 0, 3, 0});
}

std::vector<DeclaredCase> declared_cases() {
  return {
      {"fewer elements than declared, known only when it runs",
       "input x: f32[2, 3]\ny = NonZero(x)\noutput y: i64[2, 5]\n",
       {sample()},
       Tensor::of<int64_t>({2, 3}, {0, 0, 1, 0, 2, 1})},
      {"more elements than declared",
       "input x: f32[2, 3]\ny = NonZero(x)\noutput y: i64[2, 1]\n",
       {sample()},
       Tensor::of<int64_t>({2, 3}, {0, 0, 1, 0, 2, 1})},
      {"a declared shape that later shapes are made from",
       "input x: f32[2, 3]\nn = NonZero(x)\ny = Shape(n)\noutput y: i64[2]\noutput n: i64[2, 5]\n",
       {sample()},
       Tensor::of<int64_t>({2}, {2, 3})},
      {"a range that ends elsewhere",
       "input a: i64[]\ninput b: i64[]\ninput c: i64[]\ny = Range(a, b, c)\noutput y: i64[5]\n",
       {Tensor::of<int64_t>({}, {0}), Tensor::of<int64_t>({}, {3}), Tensor::of<int64_t>({}, {1})},
       Tensor::of<int64_t>({3}, {0, 1, 2})},
      {"another size than the input gives, by a kernel",
       "input x: f32[2, 3]\ny = Relu(x)\noutput y: f32[1, 3]\n",
       {sample()},
       sample()},
      {"another rank than the input gives",
       "input x: f32[2, 3]\ny = Relu(x)\noutput y: f32[2, 3, 1]\n",
       {sample()},
       sample()},
      {"a batch of one declared behind an open one, without a kernel",
       "input x: f32[N, 3]\ny = Hardmax(x)\noutput y: f32[1, 3]\n",
       {sample()},
       Tensor::of<float>({2, 3}, {0, 0, 1, 0, 1, 0})},
      {"shapes made from a batch of one that is declared",
       "input x: f32[N, 3]\nh = Neg(x)\ny = Shape(h)\noutput y: i64[2]\noutput h: f32[1, 3]\n",
       {sample()},
       Tensor::of<int64_t>({2}, {2, 3})},
      {"another element type",
       "input x: f32[2, 3]\ny = Relu(x)\noutput y: i8[2, 3]\n",
       {sample()},
       sample()},
      {"another element type in between, which a kernel reads",
       "input x: f32[2, 3]\nh = Neg(x)\ny = Neg(h)\noutput y: f32[2, 3]\noutput h: i64[6]\n",
       {sample()},
       sample()},
      {"a constant that is computed",
       "input x: f32[2, 3]\nconst c: f32[2] = [1, 2]\nh = Shape(c)\nk = Cast(h) {to=1}\n"
       "z = Sub(k, k)\ny = Add(x, z)\noutput y: f32[2, 3]\noutput h: i64[4]\n"
       "output z: f32[7]\n",
       {sample()},
       sample()},
  };
}

TEST(DeclaredShapes, YieldToWhatIsComputed) {
  for (const DeclaredCase& c : declared_cases()) {
    SCOPED_TRACE(c.name);
    const Graph graph = parse_graph(std::string("graph g opset(\"\"=17)\n") + c.nodes).value();
    for (const bool lowered : {true, false}) {
      auto session = Session::create(graph, {.lower = lowered});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (int run = 0; run < 2; ++run) {
        const auto native = session->run(c.inputs);
        ASSERT_TRUE(native.ok()) << native.error().text();
        EXPECT_TRUE(native->at(0).identical(c.want)) << print(graph);
      }
    }
    const auto reference = make_reference_executor(graph).value()->run(c.inputs);
    ASSERT_TRUE(reference.ok()) << reference.error().text();
    EXPECT_TRUE(reference->at(0).identical(c.want));
  }
}

/// Where nothing else tells the shape, a right declaration lets the native executor plan.
TEST(DeclaredShapes, FillInWhatDependsOnData) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 3]\nn = NonZero(x)\n"
                                  "y = Neg(n)\noutput n: i64[2, 3]\noutput y: i64[2, 3]\n")
                          .value();
  const auto got = Session::create(graph).value().run(std::vector<Tensor>{sample()});
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_TRUE(got->at(1).identical(Tensor::of<int64_t>({2, 3}, {0, 0, -1, 0, -2, -1})));
}

/// Only a shape that proves wrong makes the reference executor run; what else goes wrong is
/// reported by the node that met it, as where no shape is taken on trust.
TEST(DeclaredShapes, DoNotHideOtherErrorsOfARun) {
  const std::string gather = "graph g opset(\"\"=17)\ninput x: f32[2, 3]\ninput i: i64[1]\n"
                             "g = Gather(x, i)\noutput g: f32[1, 3]\n";
  const std::vector<Tensor> inputs = {sample(), Tensor::of<int64_t>({1}, {7})};
  const auto error_of = [&](const std::string& text) {
    const auto got = Session::create(parse_graph(text).value()).value().run(inputs);
    return got.ok() ? "none" : got.error().text();
  };
  const std::string want = error_of(gather);
  EXPECT_NE(want.find("node Gather"), std::string::npos) << want;
  EXPECT_NE(want.find("index 7 out of range for a dimension of 2"), std::string::npos) << want;
  // The shape is right, and needed: nothing else tells it.
  EXPECT_EQ(error_of(gather + "n = NonZero(x)\noutput n: i64[2, 3]\n"), want);
}

} // namespace
} // namespace octet
