// SPDX-License-Identifier: Apache-2.0
// Formats without a type of ONNX, against their codecs.
#include <cmath>

#include "quant/simulate.h"
#include "quant/support.h"

namespace octet::test {
namespace {

/// Every number of 9 significant bits in the reach of the format and twice beyond it, their
/// neighbours, and what is too small: ties and near ties of all its codes among them.
std::vector<float> probes(const FloatFormat& format) {
  std::vector<float> out = {0.0F, -0.0F};
  const int lowest = std::ilogb(min_subnormal(format)) - 2;
  const int highest = std::ilogb(max_finite(format)) + 1;
  for (int e = lowest; e <= highest; ++e)
    for (int i = 256; i < 512; ++i) {
      const auto v = static_cast<float>(std::ldexp(i, e - 8));
      for (const float near : {v, std::nextafter(v, 0.0F), std::nextafter(v, 1e9F)})
        for (const float signed_one : {near, -near})
          out.push_back(signed_one);
    }
  return out;
}

TEST(SimulatedFormats, RoundAsTheirCodecs) {
  for (const FloatFormat* format :
       {&kE3M4Paper, &kE3M4IEEE, &kE4M3FN, &kE4M3IEEE, &kE5M2, &kE2M3}) {
    const std::vector<float> x = probes(*format);
    const auto n = static_cast<int64_t>(x.size());
    // Scales that become 1 and, for the second row, 0.75.
    const auto one = static_cast<float>(max_finite(*format) / 448);
    Graph graph = parse_graph(fmt::format(R"(graph g opset(""=19)
input x: f32[2, N]
const s: f32[2] = [{}, {}]
const z: f8e4m3fn[2] = [0, 0]
q = QuantizeLinear(x, s, z) {{axis=0}} "q"
y = DequantizeLinear(q, s, z) {{axis=0}} "dq"
output y: f32[2, N]
)",
                                          one, 0.75F * one))
                      .value();
    const Graph simulated = simulate_formats(graph, {.activations = format}).value();
    std::vector<float> rows = x;
    rows.insert(rows.end(), x.begin(), x.end());
    const Tensor y =
        run_reference(simulated, Tensor::of<float>({2, n}, std::span<const float>(rows)));
    for (int64_t row = 0; row < 2; ++row) {
      const auto scale = static_cast<float>(static_cast<double>(row == 0 ? one : 0.75F * one) *
                                            (448 / max_finite(*format)));
      int64_t wrong = 0;
      for (int64_t i = 0; i < n; ++i) {
        const float r = x[static_cast<size_t>(i)] / scale;
        const double want = decode(*format, encode(*format, static_cast<double>(r)));
        if (y.at(row * n + i) != static_cast<double>(static_cast<float>(want) * scale)) ++wrong;
      }
      EXPECT_EQ(wrong, 0) << format->name << " row " << row;
    }
  }
}

TEST(SimulatedFormats, TakeWeightsAndActivationsApart) {
  const Graph graph = parse_graph(R"(graph g opset(""=19)
input x: f32[N, 2]
const w: f32[2, 2] = [1, 2.1, -3.3, 4]
const sw: f32[2] = [0.01, 0.02]
const zw: f8e4m3fn[2] = [0, 0]
const sx: f32[] = [0.5]
const z: f8e4m3fn[] = [0]
wq = QuantizeLinear(w, sw, zw) {axis=1} "wq"
wd = DequantizeLinear(wq, sw, zw) {axis=1} "wd"
xq = QuantizeLinear(x, sx, z) "xq"
xd = DequantizeLinear(xq, sx, z) "xd"
y = MatMul(xd, wd) "product"
output y: f32[N, 2]
)")
                          .value();
  const auto count = [](const Graph& g, const char* op) {
    int n = 0;
    for (const NodeId id : g.nodes())
      n += g.node(id).is(op) ? 1 : 0;
    return n;
  };
  const Graph weights = simulate_formats(graph, {.weights = &kE3M4Paper}).value();
  EXPECT_EQ(count(weights, "QuantizeLinear"), 1);
  EXPECT_EQ(weights.node(*weights.find_node("xd")).op_type, "DequantizeLinear");
  const Graph both =
      simulate_formats(graph, {.weights = &kE3M4Paper, .activations = &kE3M4Paper}).value();
  EXPECT_EQ(count(both, "QuantizeLinear"), 0);
  const auto round = [](double v, float s) {
    const auto step = static_cast<float>(static_cast<double>(s) * (448 / 30.0));
    return decode(kE3M4Paper,
                  encode(kE3M4Paper, static_cast<double>(static_cast<float>(v) / step))) *
           static_cast<double>(step);
  };
  const Tensor x = Tensor::of<float>({1, 2}, {1.23F, -0.77F});
  const double want =
      round(1.23F, 0.5F) * round(1, 0.01F) + round(-0.77F, 0.5F) * round(-3.3F, 0.01F);
  EXPECT_NEAR(run_reference(both, x).at(0), want, 1e-6);
}

TEST(SimulatedFormats, SayWhatCannotBe) {
  const Graph stored = parse_graph(R"(graph g opset(""=19)
input x: f32[N, 1]
const c: f8e4m3fn[1, 1] = [1]
const s: f32[] = [0.5]
w = DequantizeLinear(c, s) "dq"
y = MatMul(x, w) "product"
output y: f32[N, 1]
)")
                           .value();
  const auto result =
      simulate_formats(stored, {.weights = &kE3M4Paper, .activations = &kE3M4Paper});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("not made by a Q"), std::string::npos);
}

} // namespace
} // namespace octet::test
