// SPDX-License-Identifier: Apache-2.0
// Bodies in what is compared: they run as the reference runs them, with what they capture.
#include <algorithm>

#include "quant/debug.h"
#include "quant/debug_layers.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

using test::random_source;
using test::random_tensor;

/// Two products with a Loop between, which captures what the first product makes.
Graph with_a_loop() {
  return parse_graph(R"(graph g opset(""=17)
input x: f32[N, 4]
const n: i64[] = [3]
const yes: bool[] = [1]
const half: f32[] = [0.5]
const w: f32[4, 4] = [1, -2, 3, -4, 5, 6, -7, 8, 1, 1, 2, -3, 5, -8, 1, 3]
h = MatMul(x, w) "first"
start = Mul(x, half)
last, all = Loop(n, yes, start) {body={ graph step
  input i: i64[]
  input go: bool[]
  input v: f32[N, 4]
  capture h: f32[N, 4]
  capture half: f32[]
  a = Mul(v, half)
  s = Add(a, h)
  still = Identity(go)
  c = Neg(s)
  output still: bool[]
  output s: f32[N, 4]
  output c: f32[N, 4]
}} "loop"
y = MatMul(last, w) "second"
output y: f32[N, 4]
output all: f32[3, N, 4]
)")
      .value();
}

Graph quantized(const QuantizeOptions& options) {
  const Graph graph = with_a_loop();
  const bool ranges = options.mode == QuantMode::kStatic;
  const CalibrationSource data = ranges ? random_source({8, 4}, 4) : CalibrationSource{};
  return quantize(graph, plan_quantization(graph, data, options).value()).value();
}

TEST(DebugBodies, CodesBehindALoopAreCompared) {
  LoweringComparison comparison = LoweringComparison::create(quantized({})).value();
  for (uint32_t batch = 0; batch < 3; ++batch) {
    const Status added = comparison.add(std::vector<Tensor>{random_tensor({8, 4}, batch)});
    ASSERT_TRUE(added.ok()) << added.error().text();
  }
  const auto& report = comparison.report();
  EXPECT_TRUE(std::any_of(report.begin(), report.end(), [](const CodeDifferences& layer) {
    return layer.value.starts_with("last") && layer.elements == int64_t{3} * 8 * 4;
  }));
  EXPECT_EQ(comparison.unexplained(), 0);
}

TEST(DebugBodies, LayersBehindALoopAreCompared) {
  for (const QuantMode mode : {QuantMode::kDynamic, QuantMode::kWeightOnly}) {
    LayerComparison comparison = LayerComparison::create(quantized({.mode = mode})).value();
    for (uint32_t batch = 0; batch < 3; ++batch) {
      const Status added = comparison.add(std::vector<Tensor>{random_tensor({8, 4}, batch)});
      ASSERT_TRUE(added.ok()) << name(mode) << ": " << added.error().text();
    }
    EXPECT_GE(comparison.report().size(), 2U) << name(mode);
    for (const LayerDifference& layer : comparison.report())
      EXPECT_EQ(layer.elements, 3 * 8 * 4) << name(mode) << " " << layer.value;
    EXPECT_EQ(comparison.unexplained(), 0) << name(mode);
  }
}

} // namespace
} // namespace octet
