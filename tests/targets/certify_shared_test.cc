// SPDX-License-Identifier: Apache-2.0
// Coarser weights where several nodes read one DequantizeLinear: no product saturates, every one
// still multiplies what it did up to half a step, and nobody else notices.
#include <set>

#include <gtest/gtest.h>

#include "octet/certify.h"
#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

/// Codes d reach 255, codes e 180, which asks for less.
constexpr const char* kSharedHeader =
    "graph g opset(\"\"=17)\ninput x: f32[N, 4]\nconst s: f32[] = [1]\nconst u: u8[] = [0]\n"
    "const z: i8[] = [0]\nconst lo: u8[] = [0]\nconst hi: u8[] = [180]\n"
    "const w: i8[4, 4] = [100, 1, 127, 3, 100, 1, 0, 90, 1, 90, -100, 90, 2, 90, -100, 4]\n"
    "const ws: f32[] = [0.5]\nconst each: f32[4] = [0.5, 0.25, 1, 2]\nconst zz: i8[4] = [0, 0, 0, "
    "0]\n"
    "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\nc = Clip(q, lo, hi)\n"
    "e = DequantizeLinear(c, s, u)\n";

Graph shared_graph(const std::string& body) {
  return parse_graph(kSharedHeader + body + "\noutput y: f32[*]\noutput v: f32[*]\n").value();
}

Graph reduced(const Graph& graph) {
  const Certification before = Certification::create(graph).value();
  EXPECT_FALSE(before.safe());
  auto out = before.reduced();
  EXPECT_TRUE(out.ok()) << out.error().text();
  return std::move(*out);
}

/// What a DequantizeLinear gives, and half a step of each element.
struct Decoded {
  std::vector<double> values, half_steps;
};
Decoded decoded(const Graph& graph, const Node& dq) {
  const Tensor& codes = *graph.constant(dq.input(0));
  const Tensor& scale = *graph.constant(dq.input(1));
  const int64_t inner = dq.attr_int("axis", 1) == 0 ? 4 : 1;
  Decoded out;
  for (int64_t i = 0; i < codes.count(); ++i) {
    const double s = scale.at(scale.count() == 1 ? 0 : i / inner % scale.count());
    out.values.push_back(codes.at(i) * s);
    out.half_steps.push_back(s / 2);
  }
  return out;
}

/// Every product is safe and its weights are those of before, up to half a step. Returns how many
/// DequantizeLinear nodes hold weights then.
size_t expect_coarser(const Graph& before, const Graph& after) {
  EXPECT_TRUE(Certification::create(after).value().safe()) << print(after);
  std::set<NodeId> holders;
  for (const NodeId id : after.nodes()) {
    const Node& product = after.node(id);
    if (!product.is("MatMul") && !product.is("Gemm")) continue;
    const Node* mine = after.producer(product.input(1));
    const Node* old = before.producer(before.node(id).input(1));
    const Decoded is = decoded(after, *mine), was = decoded(before, *old);
    for (size_t i = 0; i < is.values.size(); ++i)
      EXPECT_NEAR(is.values[i], was.values[i], is.half_steps[i] * 1.0001)
          << product.name << " " << i;
    holders.insert(mine->id);
  }
  return holders.size();
}

TEST(CertifyShared, ProductsOfOneWeightGetFactorsThatServeBoth) {
  for (const char* weight :
       {"wd = DequantizeLinear(w, ws, z)\n", "wd = DequantizeLinear(w, each, zz) {axis=1}\n"})
    for (const char* products :
         {"y = MatMul(d, wd)\nv = MatMul(e, wd)", "y = MatMul(e, wd)\nv = MatMul(d, wd)"}) {
      SCOPED_TRACE(std::string(weight) + products);
      const Graph before = shared_graph(std::string(weight) + products);
      EXPECT_EQ(expect_coarser(before, reduced(before)), 1U);
    }
}

TEST(CertifyShared, LayoutsOfOneWeightGetTheirOwn) {
  const Graph before = shared_graph("wd = DequantizeLinear(w, ws, z)\ny = MatMul(d, wd)\n"
                                    "v = Gemm(e, wd) {transB=1}");
  EXPECT_EQ(expect_coarser(before, reduced(before)), 2U);
}

TEST(CertifyShared, OthersKeepTheWeight) {
  const Graph before =
      shared_graph("wd = DequantizeLinear(w, each, zz) {axis=1}\ny = MatMul(d, wd)\n"
                   "v = Exp(wd)");
  const Graph after = reduced(before);
  expect_coarser(before, after);
  const std::vector<Tensor> x{Tensor::of<float>({1, 4}, {1, 2, 3, 4})};
  const auto a = make_reference_executor(before).value()->run(x).value();
  const auto b = make_reference_executor(after).value()->run(x).value();
  EXPECT_TRUE(a[1].identical(b[1]));
}

/// The second product cannot saturate: it multiplies what it did.
TEST(CertifyShared, ASafeProductKeepsTheWeight) {
  const Graph before =
      shared_graph("const top: u8[] = [60]\nf = Clip(q, lo, top)\n"
                   "h = DequantizeLinear(f, s, u)\nwd = DequantizeLinear(w, ws, z)\n"
                   "y = MatMul(d, wd)\nv = MatMul(h, wd)");
  const Graph after = reduced(before);
  EXPECT_EQ(expect_coarser(before, after), 2U);
  const std::vector<Tensor> x{Tensor::of<float>({1, 4}, {255, 255, 3, 4})};
  const auto a = make_reference_executor(before).value()->run(x).value();
  const auto b = make_reference_executor(after).value()->run(x).value();
  EXPECT_TRUE(a[1].identical(b[1]));
}

/// Both have the bias in steps of their own sums, also behind one DequantizeLinear.
TEST(CertifyShared, ABiasOfTwoWeightsGoesWithEach) {
  const Graph before =
      shared_graph("const w2: i8[4, 4] = [70, 1, 70, 3, 70, 1, 0, 90, 1, 70, 0, 70, 2, 70, 0, 4]\n"
                   "const b: i32[4] = [1000, -2000, 300, 40]\nconst bz: i32[4] = [0, 0, 0, 0]\n"
                   "wd = DequantizeLinear(w, each, zz) {axis=1}\n"
                   "wd2 = DequantizeLinear(w2, each, zz) {axis=1}\n"
                   "bd = DequantizeLinear(b, each, bz) {axis=0}\ny = Gemm(d, wd, bd)\n"
                   "v = Gemm(d, wd2, bd)");
  const Graph after = reduced(before);
  expect_coarser(before, after);
  const std::vector<double> was = {500, -500, 300, 80};
  for (const NodeId id : after.nodes()) {
    const Node& gemm = after.node(id);
    if (!gemm.is("Gemm")) continue;
    const Tensor& weights = *after.constant(after.producer(gemm.input(1))->input(1));
    const Node& bias = *after.producer(gemm.input(2));
    const Tensor &codes = *after.constant(bias.input(0)), &scale = *after.constant(bias.input(1));
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(scale.at(i), weights.at(i)) << gemm.name << " " << i; // the activation's scale is 1
      EXPECT_NEAR(codes.at(i) * scale.at(i), was[static_cast<size_t>(i)], scale.at(i) * 0.5001);
    }
  }
}

TEST(CertifyShared, ScalesAlongAnotherAxisAreRefused) {
  const Graph graph =
      shared_graph("wd = DequantizeLinear(w, each, zz) {axis=0}\ny = MatMul(d, wd)\n"
                   "v = MatMul(e, wd)");
  const auto out = Certification::create(graph).value().reduced();
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().text().find("another axis"), std::string::npos);
}

} // namespace
} // namespace octet
