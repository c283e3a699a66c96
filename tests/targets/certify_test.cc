// SPDX-License-Identifier: Apache-2.0
// certify against the instruction that it is about, against every pair of codes, and on models
// whose damage is worked out by hand.
#include "certify/saturation.h"
#include "core/philox.h"
#include "ops/qdq/int16_pairs.h"
#include <gtest/gtest.h>
#include <tmmintrin.h>

#include "octet/certify.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

/// The sum as the instruction adds it up.
__attribute__((target("ssse3"))) int64_t by_instruction(std::span<const uint8_t> a,
                                                        std::span<const int8_t> w) {
  int64_t sum = 0;
  for (size_t k = 0; k < w.size(); k += 16) {
    alignas(16) uint8_t activations[16] = {};
    alignas(16) int8_t weights[16] = {};
    alignas(16) int16_t pairs[8];
    for (size_t i = k; i < std::min(k + 16, w.size()); ++i) {
      activations[i - k] = a[i];
      weights[i - k] = w[i];
    }
    const __m128i out = _mm_maddubs_epi16(_mm_load_si128(reinterpret_cast<__m128i*>(activations)),
                                          _mm_load_si128(reinterpret_cast<__m128i*>(weights)));
    _mm_store_si128(reinterpret_cast<__m128i*>(pairs), out);
    for (const int16_t pair : pairs)
      sum += pair;
  }
  return sum;
}

TEST(Saturation, AddsUpAsTheInstructionDoes) {
  Philox random(1, 2);
  int different = 0;
  for (int run = 0; run < 2000; ++run) {
    std::vector<uint8_t> a(static_cast<size_t>(1 + run % 67));
    std::vector<int8_t> w(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<uint8_t>(random.uniform(0, 256));
      w[i] = static_cast<int8_t>(random.uniform(-128, 128));
    }
    const TwoSums sums = add_up(a, w);
    EXPECT_EQ(sums.saturated, by_instruction(a, w));
    different += sums.saturated != sums.exact ? 1 : 0;
  }
  EXPECT_GT(different, 100);
}

/// Every pair of weights: the bounds are reached and not exceeded over all activations of a range.
TEST(Saturation, BoundsAreThoseOfAllCodes) {
  for (const auto& [lowest, highest] : {std::pair{0, 255}, {128, 255}, {0, 127}, {37, 41}})
    for (int v = -128; v <= 127; v += 5)
      for (int w = -128; w <= 127; w += 3) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (const int a : {lowest, highest}) // linear in a and in b: the extremes are at the ends
          for (int b = lowest; b <= highest; ++b) {
            low = std::min<int64_t>(low, a * v + b * w);
            high = std::max<int64_t>(high, a * v + b * w);
          }
        const PairBounds bounds = pair_bounds(v, w, {lowest, highest});
        ASSERT_EQ(bounds.low, low);
        ASSERT_EQ(bounds.high, high);
      }
}

std::string gemm(const std::string& weights, const std::string& scales, const char* before = "x") {
  return "graph g opset(\"\"=17)\ninput x: f32[N, 4]\nconst s: f32[] = [1]\nconst z: i8[] = [0]\n"
         "r = Relu(x)\nconst w: i8[4, 2] = " +
         weights + "\nconst ws: f32[2] = " + scales +
         "\nconst wz: i8[2] = [0, 0]\nq = QuantizeLinear(" + before +
         ", s, z)\nd = DequantizeLinear(q, s, z)\nwd = DequantizeLinear(w, ws, wz) {axis=1}\n"
         "y = MatMul(d, wd)\noutput y: f32[*]\n";
}

Certification certify(const std::string& text) {
  return Certification::create(parse_graph(text).value()).value();
}

TEST(Certify, FindsThePairsThatCanSaturate) {
  // Channel 0: 100 + 100 at 255 each is 51000; channel 1: 64 + 64 is 32640, just inside.
  const Certification c = certify(gemm("[100, 64, 100, 64, 1, 64, 1, 64]", "[1, 1]"));
  ASSERT_EQ(c.layers().size(), 1U);
  const CertifiedLayer& l = c.layers()[0];
  EXPECT_EQ(l.node, "y");
  EXPECT_EQ(l.channels, 2);
  EXPECT_EQ(l.terms, 4);
  EXPECT_EQ(l.pairs, 4);
  EXPECT_EQ(l.saturating_pairs, 1);
  EXPECT_EQ(l.largest_pair, 51000);
  EXPECT_FALSE(c.safe());
  EXPECT_TRUE(certify(gemm("[64, 64, 64, 64, 64, 64, 64, 64]", "[1, 1]")).safe());
  EXPECT_FALSE(certify(gemm("[65, 0, 64, 0, 0, 0, 0, 0]", "[1, 1]")).safe());
}

TEST(Certify, AReluBoundsTheCodes) {
  const Certification plain = certify(gemm("[0, 0, 0, 0, 0, 0, 0, 0]", "[1, 1]"));
  EXPECT_EQ(plain.layers()[0].lowest, 0);
  const Certification relu = certify(gemm("[0, 0, 0, 0, 0, 0, 0, 0]", "[1, 1]", "r"));
  EXPECT_EQ(relu.layers()[0].lowest, 128); // int8 zero point 0 is uint8 128
  EXPECT_EQ(relu.layers()[0].highest, 255);
}

TEST(Certify, CountsTheDamageOnData) {
  Certification c = certify(gemm("[100, 64, 100, 64, 1, 64, 1, 64]", "[1, 1]"));
  // As uint8: 255 255 255 255 saturates channel 0 by 51000 - 32767; 128 everywhere does not.
  const Tensor x = Tensor::of<float>({2, 4}, {127, 127, 127, 127, 0, 0, 0, 0});
  ASSERT_TRUE(c.simulate(std::vector<Tensor>{x}).ok());
  EXPECT_EQ(c.layers()[0].sums, 4);
  EXPECT_EQ(c.layers()[0].wrong_sums, 1);
  EXPECT_EQ(c.layers()[0].largest_error, 51000 - 32767);
}

TEST(Certify, ReducesOnlyTheChannelsThatCanSaturate) {
  const Certification c = certify(gemm("[100, 64, 100, 63, 1, 62, 1, 61]", "[0.5, 0.25]"));
  const Graph reduced = c.reduced().value();
  const Certification after = Certification::create(reduced).value();
  EXPECT_TRUE(after.safe());
  EXPECT_EQ(after.layers()[0].saturating_pairs, 0);
  const Node& dq = *reduced.producer(reduced.node(reduced.nodes().back()).input(1));
  const Tensor& codes = *reduced.constant(dq.input(0));
  const Tensor& scales = *reduced.constant(dq.input(1));
  EXPECT_EQ(scales.at(1), 0.25);
  for (int64_t k = 0; k < 4; ++k)
    EXPECT_EQ(codes.at(k * 2 + 1), 64 - k);
  EXPECT_GT(scales.at(0), 0.5);
  EXPECT_EQ(codes.at(0), 64); // the least reduction: 64 + 64 fits, 65 + 65 does not
  EXPECT_NEAR(codes.at(0) * scales.at(0), 100 * 0.5, 0.5 * scales.at(0));
}

TEST(Certify, ConvolutionsPairChannelsOfOneTap) {
  // [1, 2, 1, 2]: channels of a tap are neighbours, taps are not: 100 + 100 at tap 0.
  const std::string text =
      "graph g opset(\"\"=17)\ninput x: f32[1, 2, 1, 3]\nconst s: f32[] = [1]\n"
      "const z: i8[] = [0]\nconst w: i8[1, 2, 1, 2] = [100, 20, 100, 20]\nconst ws: f32[] = [1]\n"
      "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
      "wd = DequantizeLinear(w, ws, z)\ny = Conv(d, wd)\noutput y: f32[*]\n";
  Certification c = certify(text);
  ASSERT_EQ(c.layers().size(), 1U);
  EXPECT_EQ(c.layers()[0].pairs, 2);
  EXPECT_EQ(c.layers()[0].saturating_pairs, 1);
  EXPECT_EQ(c.layers()[0].largest_pair, 51000);
  // Positions 0 and 1; only the first has both channels at 255 under tap 0.
  const Tensor x = Tensor::of<float>({1, 2, 1, 3}, {127, 0, 127, 127, 0, 127});
  ASSERT_TRUE(c.simulate(std::vector<Tensor>{x}).ok());
  EXPECT_EQ(c.layers()[0].sums, 2);
  EXPECT_EQ(c.layers()[0].wrong_sums, 1);
  EXPECT_EQ(c.layers()[0].largest_error, 51000 - 32767);
  EXPECT_TRUE(Certification::create(c.reduced().value()).value().safe());
}

/// One product with weights [[100, 1], [100, 1], [1, 90], [2, 90]] in every form of a file: at
/// uint8 codes up to 255 one pair of each channel saturates.
constexpr const char* kMatrixHeader =
    "graph g opset(\"\"=17, \"com.microsoft\"=1, \"octet.native\"=1)\ninput x: f32[N, 4]\n"
    "const s: f32[] = [1]\nconst u: u8[] = [120]\nconst z: i8[] = [0]\n"
    "const w: i8[4, 2] = [100, 1, 100, 1, 1, 90, 2, 90]\n"
    "const wt: i8[2, 4] = [100, 100, 1, 2, 1, 1, 90, 90]\nconst lo: u8[] = [0]\n"
    "const hi: u8[] = [255]\nconst low: i8[] = [-127]\nconst high: i8[] = [127]\n"
    "const v: f32[4, 2] = [100, 1, 100, 1, 1, 90, 2, 90]\n"
    "const zw: i8[] = [5]\nconst bias: f32[6] = [0, 0, 0, 0, 0, 0]\nconst a3: i64[3] = [1, -1, 4]\n"
    "const wa: i8[4, 6] = [100, 1, 100, 1, 100, 1, 100, 1, 100, 1, 100, 1, 1, 90, 1, 90, 1, 90, "
    "2, 90, 2, 90, 2, 90]\nq = QuantizeLinear(x, s, u)\n";
const std::pair<const char*, const char*> kMatrixForms[] = {
    {"qdq", "d = DequantizeLinear(q, s, u)\nwd = DequantizeLinear(w, s, z)\ny = MatMul(d, wd)"},
    {"qdq_gemm",
     "d = DequantizeLinear(q, s, u)\nwd = DequantizeLinear(wt, s, z)\ny = Gemm(d, wd) {transB=1}"},
    {"qdq_float_weights", "d = DequantizeLinear(q, s, u)\nvq = QuantizeLinear(v, s, z)\n"
                          "wd = DequantizeLinear(vq, s, z)\ny = MatMul(d, wd)"},
    {"qdq_weights_with_zero_point",
     "d = DequantizeLinear(q, s, u)\nwd = DequantizeLinear(w, s, zw)\ny = MatMul(d, wd)"},
    {"qdq_moved", "d = DequantizeLinear(q, s, u)\nm = Identity(d)\nwd = DequantizeLinear(w, s, z)\n"
                  "y = MatMul(m, wd)"},
    {"qcdq", "c = Clip(q, lo, hi)\nd = DequantizeLinear(c, s, u)\nwc = Clip(w, low, high)\n"
             "wd = DequantizeLinear(wc, s, z)\ny = MatMul(d, wd)"},
    {"qlinear", "o = QLinearMatMul(q, s, u, w, s, z, s, u)\ny = DequantizeLinear(o, s, u)"},
    {"qgemm", "y = com.microsoft.QGemm(q, s, u, wt, s, z) {transB=1}"},
    {"to_float", "y = com.microsoft.MatMulIntegerToFloat(q, w, s, s, u, z)"},
    {"integer", "i = MatMulInteger(q, w, u, z)\ny = Cast(i) {to=1}"},
    {"dynamic", "k, ks, kz = DynamicQuantizeLinear(x)\ni = MatMulInteger(k, w, kz)\n"
                "y = Cast(i) {to=1}"},
    {"dynamic_matmul", "y = com.microsoft.DynamicQuantizeMatMul(x, w, s, z)"},
    {"native", "y = octet.native.QDynamicGemm(x, wt, s)"},
    {"attention", "r = Reshape(q, a3)\n"
                  "y = com.microsoft.QAttention(r, wa, bias, s, s, _, u, z) {num_heads=1}"},
};

/// octet's own quantizer makes codes of floats and multiplies none.
TEST(Certify, KnowsItsOwnQuantizer) {
  Certification c = certify(std::string(kMatrixHeader) +
                            "y = octet.native.Quantize(x) {scale=0.5, to=3}\noutput y: i8[*]\n");
  EXPECT_TRUE(c.layers().empty());
  EXPECT_TRUE(c.unexamined().empty());
}

TEST(Certify, SaysTheSameOfALayerInEveryForm) {
  for (const auto& [name, body] : kMatrixForms) {
    SCOPED_TRACE(name);
    Certification c = certify(std::string(kMatrixHeader) + body + "\noutput y: f32[*]\n");
    ASSERT_EQ(c.layers().size(), 1U);
    EXPECT_TRUE(c.unexamined().empty());
    EXPECT_FALSE(c.safe());
    const CertifiedLayer& l = c.layers()[0];
    const int64_t matrices = l.channels / 2; // QAttention holds three
    EXPECT_EQ(l.pairs, 4 * matrices);
    EXPECT_EQ(l.saturating_pairs, 2 * matrices);
    EXPECT_EQ(l.largest_pair, 51000);
    EXPECT_EQ(l.lowest, 0);
    EXPECT_EQ(l.highest, 255);
    // Largest codes everywhere, and a 0 for the range of those that are quantized at run time.
    const Tensor x = Tensor::of<float>({2, 4}, {135, 135, 135, 135, 0, 0, 0, 0});
    ASSERT_TRUE(c.simulate(std::vector<Tensor>{x}).ok());
    EXPECT_EQ(l.sums, 4 * matrices);
    EXPECT_EQ(l.wrong_sums, 2 * matrices);
    EXPECT_EQ(l.largest_error, 51000 - 32767);
  }
}

/// What octet.native does with codes without multiplying them needs no look.
TEST(Certify, NativeOperatorsThatMultiplyNothingAreExamined) {
  const Certification c =
      certify(std::string(kMatrixHeader) +
              "k = octet.native.Quantize(x) {scale=0.5, zero_point=0, to=3}\n"
              "a = octet.native.QAdd(k, k) {to=3}\n"
              "y = octet.native.Dequantize(a) {scale=0.5, zero_point=0}\noutput y: f32[*]\n");
  EXPECT_TRUE(c.layers().empty());
  EXPECT_TRUE(c.unexamined().empty());
}

TEST(Certify, ReducesWhereTheScaleIsKnownAndRefusesElsewhere) {
  for (const auto& [name, body] : kMatrixForms) {
    SCOPED_TRACE(name);
    const std::string form = name;
    const Certification c = certify(std::string(kMatrixHeader) + body + "\noutput y: f32[*]\n");
    const auto reduced = c.reduced();
    const bool elsewhere = form == "integer" || form == "dynamic";
    ASSERT_EQ(reduced.ok(), !elsewhere && form != "qdq_weights_with_zero_point");
    if (!reduced.ok()) {
      EXPECT_NE(reduced.error().text().find("octet repair"), std::string::npos);
      continue;
    }
    EXPECT_TRUE(Certification::create(*reduced).value().safe());
  }
}

TEST(Certify, BiasCodesFollowTheWeights) {
  const Certification c = certify(
      "graph g opset(\"\"=17)\ninput x: f32[1, 2, 1, 3]\nconst s: f32[] = [1]\n"
      "const u: u8[] = [0]\nconst w: i8[1, 2, 1, 2] = [100, 20, 100, 20]\nconst z: i8[] = [0]\n"
      "const b: i32[1] = [3000]\nq = QuantizeLinear(x, s, u)\n"
      "o = QLinearConv(q, s, u, w, s, z, s, u, b)\ny = DequantizeLinear(o, s, u)\n"
      "output y: f32[*]\n");
  ASSERT_EQ(c.layers().size(), 1U);
  EXPECT_EQ(c.layers()[0].saturating_pairs, 1);
  const Graph reduced = c.reduced().value();
  EXPECT_TRUE(Certification::create(reduced).value().safe());
  for (const NodeId id : reduced.nodes()) {
    const Node& node = reduced.node(id);
    if (!node.is("QLinearConv")) continue;
    const double scale = reduced.constant(node.input(4))->at(0);
    EXPECT_GT(scale, 1.5);
    EXPECT_NEAR(reduced.constant(node.input(8))->at(0) * scale, 3000, scale / 2);
  }
}

/// A bias behind DQ keeps its value, and its codes stay those that a runtime may add to the sum.
TEST(Certify, BiasesBehindDequantizeFollowTheWeights) {
  const std::pair<const char*, const char*> biases[] = {
      {"const bs: f32[] = [0.5]\nconst bz: i32[] = [1700]\n", "{}"},
      {"const bs: f32[2] = [0.5, 0.5]\nconst bz: i32[2] = [1700, 1700]\n", "{axis=0}"}};
  for (const auto& [parameters, axis] : biases) {
    SCOPED_TRACE(parameters);
    const Certification c = certify(
        "graph g opset(\"\"=17)\ninput x: f32[N, 4]\nconst s: f32[] = [1]\nconst u: u8[] = [0]\n"
        "const w: i8[2, 4] = [100, 100, 1, 2, 1, 1, 90, 90]\nconst ws: f32[2] = [0.5, 0.5]\n"
        "const wz: i8[2] = [0, 0]\nconst b: i32[2] = [3000, -1001]\n" +
        std::string(parameters) +
        "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
        "wd = DequantizeLinear(w, ws, wz) {axis=0}\nbd = DequantizeLinear(b, bs, bz) " +
        axis + "\ny = Gemm(d, wd, bd) {transB=1}\noutput y: f32[*]\n");
    ASSERT_EQ(c.layers().size(), 1U);
    const Graph reduced = c.reduced().value();
    const Node& gemm = *reduced.producer(reduced.outputs()[0]);
    const Node &w = *reduced.producer(gemm.input(1)), &bias = *reduced.producer(gemm.input(2));
    const double values[] = {650, -1350.5};
    for (int64_t i = 0; i < 2; ++i) {
      const double step = reduced.constant(w.input(1))->at(i);
      EXPECT_GT(step, 0.6);
      EXPECT_EQ(reduced.constant(bias.input(1))->at(i), step);
      EXPECT_EQ(reduced.constant(bias.input(2))->at(i), 0);
      EXPECT_NEAR(reduced.constant(bias.input(0))->at(i) * step, values[i], step / 2);
    }
  }
}

TEST(Certify, AClipOfTheCodesBoundsThem) {
  const Certification c = certify(std::string(kMatrixHeader) +
                                  "const top: u8[] = [127]\nc = Clip(q, lo, top)\n"
                                  "d = DequantizeLinear(c, s, u)\nwd = DequantizeLinear(w, s, z)\n"
                                  "y = MatMul(d, wd)\noutput y: f32[*]\n");
  ASSERT_EQ(c.layers().size(), 1U);
  EXPECT_EQ(c.layers()[0].highest, 127);
  EXPECT_TRUE(c.safe());
}

TEST(Certify, WhatIsNotExaminedIsSaidAndIsNoAllClear) {
  const std::pair<const char*, const char*> files[] = {
      {"d = DequantizeLinear(q, s, u)\nconst w3: i8[1, 4, 2] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
       "wd = DequantizeLinear(w3, s, z)\ny = MatMul(d, wd)",
       "3 axes"},
      {"d = DequantizeLinear(q, s, u)\nk = QuantizeLinear(x, s, z)\n"
       "t = Transpose(k) {perm=[1, 0]}\ne = DequantizeLinear(t, s, z)\ny = MatMul(d, e)",
       "uint8 and int8"},
      {"y = com.microsoft.QMoE(q)", "not known"},
      // x and its transpose: Q of both becomes one, which stays int8 for two readers.
      {"k = QuantizeLinear(x, s, z)\ne = DequantizeLinear(k, s, z)\n"
       "t = Transpose(x) {perm=[1, 0]}\nm = QuantizeLinear(t, s, z)\n"
       "f = DequantizeLinear(m, s, z)\ny = MatMul(f, e)",
       "only the first's uint8"},
      // Left in float by the file, and not by ONNX Runtime.
      {"d = DequantizeLinear(q, s, u)\nconst f: f32[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
       "g = Gemm(d, f)\no = QuantizeLinear(g, s, u)\ny = DequantizeLinear(o, s, u)",
       "rounds it to int8"},
  };
  for (const auto& [body, why] : files) {
    SCOPED_TRACE(why);
    const Graph graph =
        parse_graph(std::string(kMatrixHeader) + body + "\noutput y: f32[*]\n").value();
    const auto c = Certification::create(graph);
    ASSERT_TRUE(c.ok()) << c.error().text();
    EXPECT_TRUE(c->layers().empty());
    EXPECT_FALSE(c->safe());
    ASSERT_EQ(c->unexamined().size(), 1U);
    EXPECT_NE(c->unexamined()[0].why.find(why), std::string::npos) << c->unexamined()[0].why;
  }
}

TEST(Certify, Uint8WeightsAreExact) {
  const Certification c = certify(std::string(kMatrixHeader) +
                                  "const wu: u8[4, 2] = [255, 255, 255, 255, 255, 255, 255, 255]\n"
                                  "i = MatMulInteger(q, wu, u, u)\ny = Cast(i) {to=1}\n"
                                  "output y: f32[*]\n");
  EXPECT_TRUE(c.layers().empty());
  EXPECT_TRUE(c.safe());
}

/// A body: what stands in it is not looked at.
TEST(Certify, BodiesAreNotExamined) {
  const Certification c = certify(R"(graph g opset(""=17)
input pick: bool[]
input x: f32[2, 4]
y = If(pick) {then_branch={ graph a
  capture x: f32[2, 4]
  const s: f32[] = [1]
  const z: i8[] = [0]
  const w: i8[4, 2] = [100, 1, 100, 1, 1, 90, 2, 90]
  q = QuantizeLinear(x, s, z)
  d = DequantizeLinear(q, s, z)
  wd = DequantizeLinear(w, s, z)
  t = MatMul(d, wd)
  output t: f32[2, 2]
}, else_branch={ graph b
  const e: f32[2, 2] = [0, 0, 0, 0]
  u = Identity(e)
  output u: f32[2, 2]
}} "choice"
output y: f32[2, 2]
)");
  EXPECT_TRUE(c.layers().empty());
  EXPECT_FALSE(c.safe());
  ASSERT_EQ(c.unexamined().size(), 1U);
  EXPECT_EQ(c.unexamined()[0].op, "If");
  EXPECT_NE(c.unexamined()[0].why.find("then_branch"), std::string::npos);
}

} // namespace
} // namespace octet
