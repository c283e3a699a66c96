// SPDX-License-Identifier: Apache-2.0
// Operators that draw random numbers: nothing computes them ahead of a run, and every executor
// draws the same.
#include "core/cpu.h"
#include "passes/lower/lower.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/passes.h"
#include "octet/session.h"

namespace octet {
namespace {

constexpr const char* kHead = R"(graph g opset(""=17)
input x: f32[16, 16]
const ratio: f32[] = [0.5]
const yes: bool[] = [1]
const s: f32[] = [0.02]
const z: i8[] = [0]
)";

/// `name`: i8[16, 16] of `code`.
std::string codes(const std::string& name, int code) {
  std::string text = "const " + name + ": i8[16, 16] = [" + std::to_string(code);
  for (int i = 1; i < 256; ++i)
    text += ", " + std::to_string(code);
  return text + "]\n";
}

Tensor identity() {
  Tensor t = Tensor::zeros(DType::kFloat32, {16, 16}).value();
  for (size_t i = 0; i < 16; ++i)
    t.mutable_data<float>()[i * 17] = 1;
  return t;
}

int count(const Graph& g, std::string_view op) {
  int n = 0;
  for (const NodeId id : g.nodes())
    n += g.node(id).is(op) ? 1 : 0;
  return n;
}

std::vector<Tensor> by_reference(const Graph& g) {
  return make_reference_executor(g).value()->run(std::vector<Tensor>{identity()}).value();
}

std::vector<Tensor> natively(const Graph& g) {
  return Session::create(g).value().run(std::vector<Tensor>{identity()}).value();
}

/// Weights, a bias, a scale and codes that come out of Dropout.
TEST(Random, ConstantsBehindDropoutAreDrawnAtEachRun) {
  const std::string q = codes("q", 50);
  for (const std::string& body : std::vector<std::string>{
           "d = DequantizeLinear(q, s, z)\nw, m = Dropout(d, ratio, yes)\ny = MatMul(x, w)\n",
           "d = DequantizeLinear(q, s, z)\nw, m = Dropout(d, ratio, yes)\ny = Gemm(x, d, w)\n",
           "d = DequantizeLinear(q, s, z)\nw, m = Dropout(d, ratio, yes)\ny = Add(x, w)\n",
           "d = DequantizeLinear(q, s, z)\nw, m = Dropout(d, ratio, yes)\n"
           "c = QuantizeLinear(w, s, z)\ne = DequantizeLinear(c, s, z)\n"
           "a = QuantizeLinear(x, s, z)\nb = DequantizeLinear(a, s, z)\ny = MatMul(b, e)\n"}) {
    SCOPED_TRACE(body);
    const Graph g = parse_graph(kHead + q + body + "output y: f32[16, 16]\n").value();
    Graph simple = g;
    ASSERT_TRUE(simplify(simple).ok());
    EXPECT_EQ(count(simple, "Dropout"), 1);
    EXPECT_EQ(count(lower(simple).value().graph, "Dropout"), 1);
    const Tensor want = by_reference(g)[0];
    const Tensor got = natively(g)[0];
    for (int64_t i = 0; i < want.count(); ++i)
      ASSERT_NEAR(got.at(i), want.at(i), 1e-6) << i;
  }
}

/// What the numbers are is the node's own: nodes before it that go change none, and two nodes do
/// not share theirs.
TEST(Random, NumbersFollowTheNode) {
  const std::string two = "a = Identity(x)\nb = Identity(a)\nu, m = Dropout(b, ratio, yes)\n"
                          "v, n = Dropout(b, ratio, yes)\n"
                          "output m: bool[16, 16]\noutput n: bool[16, 16]\n";
  const Graph g = parse_graph(kHead + two).value();
  const auto want = by_reference(g);
  EXPECT_FALSE(want[0].identical(want[1]));
  EXPECT_TRUE(by_reference(g)[0].identical(want[0]));
  const auto got = natively(g);
  EXPECT_TRUE(got[0].identical(want[0]));
  EXPECT_TRUE(got[1].identical(want[1]));
  double kept = 0;
  for (int64_t i = 0; i < want[0].count(); ++i)
    kept += want[0].at(i);
  EXPECT_GT(kept, 256 * 0.35);
  EXPECT_LT(kept, 256 * 0.65);
}

} // namespace
} // namespace octet
