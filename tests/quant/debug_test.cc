// SPDX-License-Identifier: Apache-2.0
// The lowered graph against the literal one: every difference has a reason, and a broken lowering
// has none.
#include "passes/lower/lower.h"
#include "quant/debug.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/export.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

using test::cnn;
using test::cnn_data;
using test::random_tensor;

Graph quantized(const CnnOptions& shape, const QuantizeOptions& options) {
  const Graph graph = cnn(shape);
  return quantize(graph, plan_quantization(graph, cnn_data(), options).value()).value();
}

TEST(Debug, EveryDifferenceOfTheLoweredGraphIsExplained) {
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10", "tensorrt-8.6"})
    for (const bool softmax : {false, true}) {
      const Graph q = quantized({.hidden_relu = softmax}, {.target = target, .softmax = softmax});
      LoweringComparison comparison = LoweringComparison::create(q).value();
      int64_t elements = 0;
      int64_t differing = 0;
      for (uint32_t batch = 0; batch < 4; ++batch) {
        const Status added =
            comparison.add(std::vector<Tensor>{random_tensor({32, 1, 28, 28}, batch, -0.8F, 2.0F)});
        ASSERT_TRUE(added.ok()) << added.error().text();
      }
      for (const CodeDifferences& layer : comparison.report()) {
        EXPECT_EQ(layer.unexplained, 0) << target << " " << layer.value << ": " << layer.example;
        EXPECT_EQ(layer.differing,
                  layer.ties + layer.saturation + layer.reassociation + layer.unexplained);
        EXPECT_GT(layer.elements, 0) << layer.value;
        elements += layer.elements;
        differing += layer.differing;
      }
      EXPECT_LT(differing, elements / 1000) << target;
    }
}

TEST(Debug, OperatorsOnCodesAreComparedAsQdq) {
  Graph q = quantized({}, {.target = "onnxruntime"});
  ASSERT_TRUE(convert_form(q, FileForm::kQOperator).ok());
  ASSERT_FALSE(test::nodes_of(q, "QLinearConv").empty());
  LoweringComparison comparison = LoweringComparison::create(q).value();
  ASSERT_TRUE(
      comparison.add(std::vector<Tensor>{random_tensor({32, 1, 28, 28}, 9, -0.8F, 2.0F)}).ok());
  EXPECT_GT(comparison.report().size(), 3U); // some only move codes
  EXPECT_EQ(comparison.unexplained(), 0);
}

TEST(Debug, TakesOutputsThatAreLeftOut) {
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[5, 2, 4]
const s: f32[] = [0.05]
const z: i8[] = [0]
const w: f32[1, 3, 4] = ?
const r: f32[1, 3, 3] = ?
q = QuantizeLinear(x, s, z)
d = DequantizeLinear(q, s, z)
_, h = RNN(d, w, r) {hidden_size=3}
output h: f32[1, 2, 3]
)");
  LoweringComparison comparison = LoweringComparison::create(graph).value();
  const Status added = comparison.add(std::vector<Tensor>{random_tensor({5, 2, 4}, 3)});
  ASSERT_TRUE(added.ok()) << added.error().text();
  EXPECT_EQ(comparison.unexplained(), 0);
}

TEST(Debug, TakesWhatQuantizesWithinItself) {
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[5, 2, 4]
const w: f32[1, 24, 4] = ?
const r: f32[1, 24, 6] = ?
const v: f32[6, 4] = ?
const u: f32[4, 3] = ?
_, h, c = LSTM(x, w, r) {hidden_size=6} "recurrent"
s = Add(h, c)
a = MatMul(s, v) {} "before"
y = MatMul(a, u) {} "behind"
output y: f32[1, 2, 3]
)");
  QuantizeOptions options{.target = "octet"};
  options.layers = {{.pattern = "recurrent", .dynamic = true}};
  const auto plan = plan_quantization(graph, test::random_source({5, 2, 4}, 4), options);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const Graph codes = quantize(graph, *plan).value();
  ASSERT_EQ(test::nodes_of(codes, "DynamicQuantizeLSTM").size(), 1U);
  LoweringComparison comparison = LoweringComparison::create(codes).value();
  const Status added = comparison.add(std::vector<Tensor>{random_tensor({5, 2, 4}, 3)});
  ASSERT_TRUE(added.ok()) << added.error().text();
  EXPECT_GT(comparison.report().size(), 1U);
  EXPECT_EQ(comparison.unexplained(), 0);
}

TEST(Debug, FollowsCastsOfWholeNumbers) {
  // As a BERT makes its attention mask.
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput mask: i64[N, 4]\nconst one: f32[] = [1]\n"
                  "const s: f32[] = [0.5]\nconst z: i8[] = [0]\nreal = Cast(mask) {to=1}\n"
                  "absent = Sub(one, real)\nq = QuantizeLinear(absent, s, z)\n"
                  "d = DequantizeLinear(q, s, z)\noutput d: f32[N, 4]\n")
          .value();
  LoweringComparison comparison = LoweringComparison::create(graph).value();
  const Status added =
      comparison.add(std::vector<Tensor>{Tensor::of<int64_t>({1, 4}, {1, 1, 0, 0})});
  ASSERT_TRUE(added.ok()) << added.error().text();
  ASSERT_EQ(comparison.report().size(), 1U);
  EXPECT_EQ(comparison.report()[0].elements, 4);
  EXPECT_EQ(comparison.report()[0].differing, 0);
}

TEST(Debug, ABrokenLoweringIsNotExplained) {
  const Graph q = quantized({}, {.target = "octet"});
  const ExecutorFactory broken = [](const Graph& graph) -> Result<std::unique_ptr<Executor>> {
    Graph changed = graph;
    const ValueId bias = *changed.find_value("conv2.bias");
    std::vector<float> values = changed.constant(bias)->to_floats().value();
    values[5] += 0.02F;
    changed.set_constant(bias, Tensor::of<float>({64}, std::span<const float>(values)));
    const Lowered lowered = OCTET_TRY(lower(changed));
    return make_reference_executor(lowered.graph);
  };
  LoweringComparison comparison = LoweringComparison::create(q, broken).value();
  ASSERT_TRUE(
      comparison.add(std::vector<Tensor>{random_tensor({4, 1, 28, 28}, 1, -0.8F, 2.0F)}).ok());
  EXPECT_GT(comparison.unexplained(), 0);
  for (const CodeDifferences& layer : comparison.report())
    EXPECT_EQ(layer.unexplained > 0, layer.value == "relu2_quantized") << layer.value;
}

} // namespace
} // namespace octet
