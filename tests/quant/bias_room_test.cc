// SPDX-License-Identifier: Apache-2.0
// Biases beside channels of tiny weights, as batch norm leaves dead ones: in files that ONNX Runtime
// loads they have to fit int32 codes at s_x s_w, which it makes of them by itself.
#include <algorithm>
#include <cmath>

#include "quant/support.h"

#include "octet/session.h"

namespace octet {
namespace {

/// A Conv, a ConvTranspose, a Gemm and a MatMul with an Add behind it, of whose channels one is dead
/// but for its bias, which is 1 to 3.
Graph biased_network() {
  Graph graph = test::with_weights(
      "graph g opset(\"\"=17)\ninput x: f32[2, 3, 6, 6]\nconst a: f32[4, 3, 3, 3] = ?\n"
      "const ab: f32[4] = [1, 2, 3, 2]\nconst b: f32[4, 2, 2, 2] = ?\nconst bb: f32[2] = [1, 2]\n"
      "const c: f32[128, 9] = ?\nconst cb: f32[9] = [1, 2, 3, 1, 2, 3, 1, 2, 3]\n"
      "const d: f32[9, 5] = ?\nconst db: f32[5] = [3, 2, 1, 2, 3]\n"
      "c1 = Conv(x, a, ab) {} \"conv\"\nr1 = Relu(c1)\n"
      "c2 = ConvTranspose(r1, b, bb) {strides=[2, 2]} \"transposed\"\nf = Flatten(c2)\n"
      "g = Gemm(f, c, cb) {} \"gemm\"\nr2 = Relu(g)\nm = MatMul(r2, d) {} \"matmul\"\n"
      "y = Add(m, db) {} \"add\"\noutput y: f32[2, 5]\n");
  const auto shrink = [&](const char* name, size_t channel, size_t inner, size_t count) {
    const ValueId id = *graph.find_value(name);
    std::vector<float> values = graph.constant(id)->to_floats().value();
    for (size_t i = 0; i < values.size(); ++i)
      if (i / inner % count == channel) values[i] *= 1e-10F;
    graph.set_constant(
        id, Tensor::of<float>(graph.constant(id)->shape(), std::span<const float>(values)));
  };
  shrink("a", 1, 27, 4);
  shrink("b", 1, 4, 2);
  shrink("c", 2, 1, 9);
  shrink("d", 0, 1, 5);
  return graph;
}

QuantizationPlan biased_plan(const Graph& graph, const QuantizeOptions& options) {
  auto plan = plan_quantization(graph, test::random_source({2, 3, 6, 6}, 4), options);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  return plan.value();
}

/// All biases between Q and DQ fit int32, or are stored so.
void expect_room(const Graph& made) {
  int products = 0;
  for (const char* op : {"Conv", "ConvTranspose", "Gemm"})
    for (const Node* node : test::nodes_of(made, op)) {
      const Node *x = made.producer(node->input(0)), *w = made.producer(node->input(1));
      if (x == nullptr || w == nullptr || !w->is("DequantizeLinear")) continue;
      ++products;
      if (const Node* stored = made.producer(node->input(2)); stored != nullptr) {
        EXPECT_EQ(made.value(stored->input(0)).type.type, DType::kInt32);
        continue;
      }
      const Tensor *x_scale = made.constant(x->input(1)), *w_scale = made.constant(w->input(1));
      const Tensor* bias = made.constant(node->input(2));
      ASSERT_TRUE(x_scale != nullptr && w_scale != nullptr && bias != nullptr) << op;
      for (int64_t c = 0; c < bias->count(); ++c)
        EXPECT_LT(std::fabs(bias->at(c)) /
                      (x_scale->at(0) * w_scale->at(w_scale->count() == 1 ? 0 : c)),
                  0x1p31)
            << op << " channel " << c;
    }
  EXPECT_GE(products, 2);
}

TEST(BiasRoom, BiasesFitInt32BesideTinyWeights) {
  const Graph graph = biased_network();
  const Tensor x = test::random_tensor({2, 3, 6, 6}, 100);
  for (const char* target : {"onnxruntime", "octet"})
    for (const DType activations : {DType::kUint8, DType::kUint16})
      for (const bool per_channel : {true, false}) {
        SCOPED_TRACE(target);
        QuantizeOptions options{.target = target};
        options.per_channel = per_channel;
        if (activations == DType::kUint16) {
          options.activations = NumberFormat{DType::kUint16};
          options.weights = NumberFormat{DType::kInt16};
        }
        const Graph made = quantize(graph, biased_plan(graph, options)).value();
        expect_room(made);
        EXPECT_GT(test::sqnr(test::run_reference(graph, x), test::run_reference(made, x)), 28);
      }
}

// Training takes scales from the extremes of weights again.
TEST(BiasRoom, TrainedWeightsMakeRoomToo) {
  const Graph graph = biased_network();
  const Tensor x = test::random_tensor({2, 3, 6, 6}, 100);
  for (const char* target : {"onnxruntime", "octet"}) {
    SCOPED_TRACE(target);
    const QuantizationPlan plan = biased_plan(graph, {.target = target});
    Graph trained = quantize(graph, plan, WeightStorage::kFloat).value();
    for (const Node* node : test::nodes_of(trained, "QuantizeLinear")) {
      if (trained.constant(node->input(0)) == nullptr) continue;
      const ValueId scale = node->input(1);
      std::vector<float> values = trained.constant(scale)->to_floats().value();
      *std::min_element(values.begin(), values.end()) = 1e-12F;
      trained.set_constant(scale, Tensor::of<float>(trained.constant(scale)->shape(),
                                                    std::span<const float>(values)));
    }
    const auto made = finalize_quantization(trained, plan);
    ASSERT_TRUE(made.ok()) << made.error().text();
    expect_room(*made);
    EXPECT_GT(test::sqnr(test::run_reference(graph, x), test::run_reference(*made, x)), 28);
  }
}

TEST(BiasRoom, OtherChannelsAndTargetsKeepTheirRanges) {
  const Graph graph = biased_network();
  const QuantizationPlan wide = biased_plan(graph, {.target = "onnxruntime"});
  const QuantizationPlan strict = biased_plan(graph, {.target = "tensorrt-10"});
  const TensorPlan *with = wide.tensor("a"), *without = strict.tensor("a");
  ASSERT_TRUE(with != nullptr && without != nullptr);
  ASSERT_EQ(with->ranges.size(), 4U);
  for (const size_t c : {0, 2, 3}) {
    EXPECT_EQ(with->ranges[c].lo, without->ranges[c].lo);
    EXPECT_EQ(with->ranges[c].hi, without->ranges[c].hi);
  }
  EXPECT_GT(with->ranges[1].hi, 100 * without->ranges[1].hi);
  EXPECT_EQ(with->note,
            "1 channel is wider for a bias too large for int32 beside so small weights");
  EXPECT_EQ(without->note, "");
}

} // namespace
} // namespace octet
