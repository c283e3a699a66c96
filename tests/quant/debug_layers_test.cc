// SPDX-License-Identifier: Apache-2.0
// Dynamic layers and weights in 8 bits: the lowered graph against the literal one by layers, and a
// broken lowering that is seen.
#include "passes/lower/lower.h"
#include "quant/debug.h"
#include "quant/debug_layers.h"
#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::cnn;
using test::cnn_data;
using test::random_tensor;

Graph quantized(const char* target, QuantMode mode) {
  const Graph graph = cnn({.hidden_relu = true});
  QuantizeOptions options;
  options.target = target;
  options.mode = mode;
  return quantize(graph, plan_quantization(graph, cnn_data(), options).value()).value();
}

std::vector<Tensor> images(uint32_t seed) {
  return {random_tensor({8, 1, 28, 28}, seed, -0.8F, 2.0F)};
}

TEST(DebugLayers, EveryLayerOfTheLoweredGraphIsExplained) {
  for (const char* target : {"octet", "onnxruntime"})
    for (const QuantMode mode : {QuantMode::kDynamic, QuantMode::kWeightOnly}) {
      const Graph q = quantized(target, mode);
      const auto codes = LoweringComparison::create(q);
      ASSERT_FALSE(codes.ok());
      EXPECT_EQ(codes.error().code(), ErrorCode::kRefused);
      LayerComparison comparison = LayerComparison::create(q).value();
      for (uint32_t batch = 0; batch < 3; ++batch) {
        const Status added = comparison.add(images(batch));
        ASSERT_TRUE(added.ok()) << added.error().text();
      }
      EXPECT_GE(comparison.report().size(), 4U) << "two convolutions, two products";
      for (const LayerDifference& layer : comparison.report()) {
        EXPECT_TRUE(layer.explained()) << target << " " << name(mode) << " " << layer.value << ": "
                                       << layer.sqnr_db() << " dB";
        EXPECT_GT(layer.elements, 0) << layer.value;
        EXPECT_GT(layer.signal, 0) << layer.value;
      }
      EXPECT_EQ(comparison.unexplained(), 0);
    }
}

TEST(DebugLayers, ABrokenLoweringIsSeenWhereItIs) {
  const Graph q = quantized("octet", QuantMode::kWeightOnly);
  const ExecutorFactory broken = [](const Graph& graph) -> Result<std::unique_ptr<Executor>> {
    Graph changed = graph;
    const ValueId bias = *changed.find_value("conv2.bias");
    std::vector<float> values = changed.constant(bias)->to_floats().value();
    values[5] += 0.02F;
    changed.set_constant(bias, Tensor::of<float>({64}, std::span<const float>(values)));
    return make_reference_executor(OCTET_TRY(lower(changed)).graph);
  };
  LayerComparison comparison = LayerComparison::create(q, broken).value();
  ASSERT_TRUE(comparison.add(images(1)).ok());
  EXPECT_EQ(comparison.unexplained(), 1);
  for (const LayerDifference& layer : comparison.report())
    EXPECT_EQ(layer.explained(), layer.value.find("conv2") == std::string::npos) << layer.value;
}

TEST(DebugLayers, AFloatGraphHasNothingToCompare) {
  const auto none = LayerComparison::create(cnn());
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("no quantized layer"), std::string::npos);
}

} // namespace
} // namespace octet
