// SPDX-License-Identifier: Apache-2.0
// Q/DQ pairs in the torch executor: forward bit for bit as the reference's two operators, backward
// the published straight-through and LSQ formulas, computed here from scratch.
#include <bit>
#include <cmath>
#include <limits>

#include "core/philox.h"
#include "train/executor/torch_executor.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

Graph must_parse(const std::string& text) {
  Result<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

/// Values over many steps of the grid, ties, bounds, infinities and NaN among them.
Tensor hard_values(const Shape& shape, float scale) {
  Tensor t = Tensor::zeros(DType::kFloat32, shape).value();
  Philox random(3);
  const std::span<float> out = t.mutable_data<float>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = i % 3 == 0 ? (static_cast<float>(i % 600) - 300.5F) * scale
                        : static_cast<float>(random.uniform(-300, 300)) * scale;
  const float special[] = {std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           -0.0F,
                           0.0F,
                           1e-40F,
                           3.4e38F,
                           -3.4e38F};
  std::copy(std::begin(special), std::end(special), out.begin());
  return t;
}

struct Pair {
  std::string name, scale, zero, type, axis;
  float step;
  std::string lowest = "", highest = ""; ///< of a Clip on the codes; empty: none
};
class FakeQuant : public testing::TestWithParam<Pair> {};

TEST_P(FakeQuant, EqualsTheReferenceBitForBit) {
  const Pair& p = GetParam();
  const std::string clip = p.lowest.empty() ? ""
                                            : "\nconst lo: " + p.type + "[] = [" + p.lowest +
                                                  "]\nconst hi: " + p.type + "[] = [" + p.highest +
                                                  "]\nc = Clip(q, lo, hi)";
  const Graph graph =
      must_parse("graph g opset(\"\"=19)\ninput x: f32[N, 3, 700]\nconst s: f32" + p.scale +
                 "\nconst z: " + p.type + p.zero + "\nq = QuantizeLinear(x, s, z)" + p.axis + clip +
                 "\ny = DequantizeLinear(" + (p.lowest.empty() ? "q" : "c") + ", s, z)" + p.axis +
                 "\noutput y: f32[*]\n");
  const std::vector<Tensor> inputs = {hard_values({2, 3, 700}, p.step)};
  const auto reference = make_reference_executor(graph).value();
  const auto torch = train::make_torch_executor(graph, {}).value();
  const Tensor expected = reference->run(inputs).value()[0];
  const Result<std::vector<Tensor>> got = torch->run(inputs);
  ASSERT_TRUE(got.ok()) << got.error().text();
  ASSERT_EQ((*got)[0].shape(), expected.shape());
  const std::span<const float> a = expected.data<float>(), b = (*got)[0].data<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue; // payloads are not specified
    ASSERT_EQ(std::bit_cast<uint32_t>(a[i]), std::bit_cast<uint32_t>(b[i]))
        << "x " << inputs[0].at(static_cast<int64_t>(i)) << ": " << a[i] << " and " << b[i];
  }
}

const Pair kPairs[] = {
    {"Int8", "[] = [0.1]", "[] = [0]", "i8", "", 0.1F},
    {"Int8OddZero", "[] = [0.1]", "[] = [-3]", "i8", "", 0.1F},
    {"Uint8", "[] = [0.02]", "[] = [7]", "u8", "", 0.02F},
    {"Int8Channels", "[3] = [0.1, 0.02, 3]", "[3] = [0, 0, 0]", "i8", " {axis=1}", 0.1F},
    {"Uint8Channels", "[3] = [0.1, 0.02, 3]", "[3] = [0, 128, 255]", "u8", " {axis=-2}", 0.1F},
    {"Int16", "[] = [0.001]", "[] = [100]", "i16", "", 0.001F},
    {"Int8As4Bits", "[] = [0.1]", "[] = [0]", "i8", "", 0.1F, "-8", "7"},
    {"Int8As3BitsOddZero", "[] = [7]", "[] = [-3]", "i8", "", 0.1F, "-4", "3"},
    {"Uint8As6Bits", "[] = [0.02]", "[] = [20]", "u8", "", 0.02F, "0", "63"},
    {"Int8ChannelsAs2Bits", "[3] = [0.1, 2, 30]", "[3] = [0, 1, -2]", "i8", " {axis=1}", 0.1F, "-2",
     "1"},
    {"ZeroOutOfTheClip", "[] = [0.1]", "[] = [20]", "u8", "", 0.1F, "30", "63"},
    {"E4M3", "[] = [0.1]", "[] = [0]", "f8e4m3fn", "", 0.1F},
    {"E5M2", "[] = [0.1]", "[] = [0]", "f8e5m2", "", 1.0F},
};
INSTANTIATE_TEST_SUITE_P(All, FakeQuant, testing::ValuesIn(kPairs), [](const auto& row) {
  return row.param.name;
});

/// x / s from -200 to 200 through an i8 pair with zero point 0, the codes being of `bits`.
struct Learned {
  int lowest, highest;
  Graph graph;
  GradientRequest request;
  explicit Learned(int bits = 8)
      : lowest(-(1 << (bits - 1))), highest((1 << (bits - 1)) - 1),
        graph(must_parse("graph g opset(\"\"=19)\ninput x: f32[1, 401]\nconst s: f32[] = [0.5]\n"
                         "const z: i8[] = [0]\nconst lo: i8[] = [" +
                         std::to_string(lowest) + "]\nconst hi: i8[] = [" +
                         std::to_string(highest) + "]\nq = QuantizeLinear(x, s, z)\n" +
                         (bits < 8 ? "c = Clip(q, lo, hi)\n" : "") + "y = DequantizeLinear(" +
                         (bits < 8 ? "c" : "q") + ", s, z)\noutput y: f32[*]\n")) {
    std::vector<float> x, g;
    for (int i = -200; i <= 200; ++i) {
      x.push_back((static_cast<float>(i) + 0.3F) * 0.5F);
      g.push_back(static_cast<float>(i % 7) - 2.5F);
    }
    request.inputs = {Tensor::of<float>({1, 401}, x)};
    request.output_gradients = {Tensor::of<float>({1, 401}, g)};
    request.wrt = {"x"};
  }
};

TEST(StraightThrough, PassesTheGradientInRangeAndStopsItBeyond) {
  for (const int bits : {8, 6, 4, 3, 2}) {
    const Learned l(bits);
    const Result<std::vector<Tensor>> got = train::graph_gradients(l.graph, l.request);
    ASSERT_TRUE(got.ok()) << got.error().text();
    for (int64_t i = 0; i < 401; ++i) {
      const double r = l.request.inputs[0].at(i) / 0.5;
      const bool inside = std::nearbyint(r) >= l.lowest && std::nearbyint(r) <= l.highest;
      ASSERT_EQ((*got)[0].at(i), inside ? l.request.output_gradients[0].at(i) : 0.0)
          << r << " in " << bits << " bits";
    }
  }
}

TEST(LearnedStep, HasThePublishedGradient) {
  for (const int bits : {8, 6, 4, 3, 2}) {
    Learned l(bits);
    l.request.wrt = {"x", "s"};
    l.request.activation_scales = ActivationScales::kLearned;
    l.request.weight_scales = WeightScales::kLearned;
    const Result<std::vector<Tensor>> got = train::graph_gradients(l.graph, l.request);
    ASSERT_TRUE(got.ok()) << got.error().text();
    double expected = 0;
    for (int64_t i = 0; i < 401; ++i) {
      const double r = l.request.inputs[0].at(i) / 0.5, q = std::nearbyint(r);
      const double slope = q < l.lowest ? l.lowest : q > l.highest ? l.highest : q - r;
      expected += slope * l.request.output_gradients[0].at(i);
    }
    expected /= std::sqrt(401.0 * l.highest);
    EXPECT_NEAR((*got)[1].at(0), expected, 1e-4 * std::abs(expected)) << bits;
    EXPECT_EQ((*got)[0].at(0), 0.0);
    EXPECT_EQ((*got)[0].at(200), l.request.output_gradients[0].at(200));
  }
}

TEST(LearnedStep, IsFiniteWhereNoCodeIsAboveTheZeroPoint) {
  Learned l;
  l.graph.set_constant(*l.graph.find_value("z"), Tensor::of<int8_t>({}, {127}));
  l.request.wrt = {"s"};
  l.request.activation_scales = ActivationScales::kLearned;
  const Result<std::vector<Tensor>> got = train::graph_gradients(l.graph, l.request);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_TRUE(std::isfinite((*got)[0].at(0))) << (*got)[0].at(0);
}

TEST(FakeQuantPair, ServesSeveralDequantizersWithCopiesOfTheScale) {
  const Graph graph = must_parse(
      "graph g opset(\"\"=19)\ninput x: f32[4]\nconst s: f32[] = [0.5]\nconst s2: f32[] = [0.5]\n"
      "const z: i8[] = [0]\nq = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\n"
      "b = DequantizeLinear(q, s2, z)\ny = Add(a, b)\noutput y: f32[*]\n");
  GradientRequest request;
  request.inputs = {Tensor::of<float>({4}, {0.3F, -1.2F, 100.0F, 2.0F})};
  request.output_gradients = {Tensor::of<float>({4}, {1, 1, 1, 1})};
  request.wrt = {"x"};
  const Result<std::vector<Tensor>> got = train::graph_gradients(graph, request);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ((*got)[0].to_doubles().value(), (std::vector<double>{2, 2, 0, 2}));
}

TEST(StoredWeights, DequantizeAlone) {
  const Graph graph = must_parse(
      "graph g opset(\"\"=19)\ninput x: f32[N, 2]\nconst w: i8[2, 2] = [10, -20, 30, 127]\n"
      "const s: f32[2] = [0.5, 0.25]\nwf = DequantizeLinear(w, s) {axis=1}\ny = MatMul(x, "
      "wf)\noutput y: f32[*]\n");
  const auto torch = train::make_torch_executor(graph, {}).value();
  const std::vector<Tensor> inputs = {Tensor::of<float>({1, 2}, {1, 2})};
  EXPECT_EQ(torch->run(inputs).value()[0].to_doubles().value(), (std::vector<double>{35, 58.5}));
}

} // namespace
} // namespace octet
