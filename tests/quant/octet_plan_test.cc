// SPDX-License-Identifier: Apache-2.0
// What plans for octet's own runtime put into codes, and what they leave in float since it costs
// less there.
#include "passes/lower/lower.h"
#include "quant/place.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/target.h"

namespace octet {
namespace {

/// x [5, 2, `inputs`] through a layer of 4 units in both directions, of which the last state alone is
/// read.
Graph recurrent(const std::string& op, int64_t inputs) {
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  Graph graph;
  graph.opsets[""] = 17;
  Node node;
  node.op_type = op;
  node.name = "layer";
  node.set("hidden_size", int64_t{4});
  node.set("direction", std::string("bidirectional"));
  node.inputs = {graph.add_input("x", {DType::kFloat32, std::vector<Dim>{5, 2, inputs}, {}}),
                 graph.add_constant("w", test::random_tensor({2, gates * 4, inputs}, 1)),
                 graph.add_constant("r", test::random_tensor({2, gates * 4, 4}, 2)),
                 graph.add_constant("b", test::random_tensor({2, gates * 8}, 3))};
  node.outputs = {ValueId{}, graph.add_value("state")};
  graph.mark_output(node.outputs[1]);
  graph.add_node(std::move(node));
  return graph;
}

TEST(OctetPlan, RecurrentLayersReadCodesAndKeepStatesInFloat) {
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    SCOPED_TRACE(op);
    const Graph graph = recurrent(op, 16);
    const Shape shape = {5, 2, 16};
    const auto source = test::random_source(shape, 4);
    const auto plan = plan_quantization(graph, source, {.target = "octet"});
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const NodePlan& layer = *plan->node("layer");
    EXPECT_TRUE(layer.quantized) << layer.why;
    EXPECT_EQ(layer.inputs, std::vector<int64_t>{0});
    EXPECT_EQ(layer.weight, 1);
    EXPECT_FALSE(layer.output);
    const auto quantized = quantize(graph, *plan);
    ASSERT_TRUE(quantized.ok()) << quantized.error().text();
    EXPECT_EQ(test::nodes_of(*quantized, "DequantizeLinear").size(), 2U);
    const Tensor x = test::random_tensor(shape, 100);
    EXPECT_GT(test::sqnr(test::run_reference(graph, x), test::run_reference(*quantized, x)), 35);
    const auto layers = explain(*quantized, "octet").value();
    const auto form = std::find_if(layers.begin(), layers.end(),
                                   [](const LayerForm& l) { return l.node == "layer"; });
    ASSERT_NE(form, layers.end());
    EXPECT_EQ(form->form, "QGemm, " + op);
    EXPECT_EQ(form->precision, LayerPrecision::kInt8);
    EXPECT_NE(form->why.find("states are f32"), std::string::npos) << form->why;
  }
}

TEST(OctetPlan, RecurrentLayersHaveNoOtherForm) {
  const Graph graph = recurrent("GRU", 16);
  const auto why = [&](const QuantizeOptions& options) {
    const auto plan = plan_quantization(graph, test::random_source({5, 2, 16}, 2), options);
    EXPECT_TRUE(plan.ok()) << plan.error().text();
    EXPECT_FALSE(plan->node("layer")->quantized);
    return plan->node("layer")->why;
  };
  const std::string with_x = "its weights are in codes only where x is";
  EXPECT_EQ(why({.target = "octet", .mode = QuantMode::kWeightOnly}), with_x);
  EXPECT_EQ(why({.target = "octet", .mode = QuantMode::kDynamic}), with_x);
  QuantizeOptions floats{.target = "octet"};
  floats.activations = NumberFormat{DType::kFloat32};
  EXPECT_EQ(why(floats), with_x);
  QuantizeOptions dynamic{.target = "octet"};
  dynamic.layers = {{.pattern = "layer", .dynamic = true}};
  EXPECT_EQ(why(dynamic), "it has no dynamic form"); // of LSTM: dynamic_lstm_test.cc
  EXPECT_NE(why({.target = "onnxruntime"}), "");
}

/// MatMul of weights [terms, columns]; `behind` is what reads it.
Graph product(int64_t terms, int64_t columns, const std::string& behind) {
  const std::string k = std::to_string(terms), n = std::to_string(columns);
  return test::with_weights("graph g opset(\"\"=17)\ninput x: f32[3, " + k + "]\nconst w: f32[" +
                            k + ", " + n + "] = ?\nconst v: f32[" + n +
                            ", 5] = ?\nm = MatMul(x, w) {} \"first\"\n" + behind);
}

TEST(OctetPlan, SumsOfFewProductsComputeInFloat) {
  const std::string softmax = "y = Softmax(m) {} \"last\"\noutput y: f32[3, 256]\n";
  const std::string another = "y = MatMul(m, v) {} \"last\"\noutput y: f32[3, 5]\n";
  const auto first = [](const Graph& graph) {
    const int64_t terms = graph.constant(*graph.find_value("w"))->dim(0);
    const auto plan =
        plan_quantization(graph, test::random_source({3, terms}, 2), {.target = "octet"});
    EXPECT_TRUE(plan.ok()) << plan.error().text();
    return *plan->node("first");
  };
  const NodePlan few = first(product(4, 256, softmax));
  EXPECT_EQ(few.rule, Placed::kWeightOnly);
  EXPECT_TRUE(few.inputs.empty());
  EXPECT_NE(few.why.find("sums of 4 products cost less in float"), std::string::npos) << few.why;
  EXPECT_EQ(first(product(4, 256, another)).rule, Placed::kProduct) << "its output is in codes";
  EXPECT_EQ(first(product(8, 256, softmax)).rule, Placed::kWeightOnly);
  EXPECT_EQ(first(product(9, 256, softmax)).rule, Placed::kProduct);
  EXPECT_EQ(first(product(4, 255, "y = Softmax(m)\noutput y: f32[3, 255]\n")).rule,
            Placed::kProduct);
}

TEST(OctetPlan, RecurrentLayersOfFewInputsStayInFloat) {
  for (const int64_t inputs : {1, 8, 9}) {
    const auto plan = plan_quantization(
        recurrent("GRU", inputs), test::random_source({5, 2, inputs}, 2), {.target = "octet"});
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    EXPECT_EQ(plan->node("layer")->quantized, inputs > 8);
    EXPECT_EQ(plan->node("layer")->rule == Placed::kFloat, inputs <= 8);
  }
}

TEST(OctetPlan, AShortcutsProductAddsToItsSumsWhereverTheFileHasIt) {
  const std::string shortcut = "r = Conv(x, k) {kernel_shape=[1, 1]} \"shortcut\"\n";
  const std::string branch =
      "a = Conv(x, w) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}\nb = Relu(a)\n"
      "c = Conv(b, v) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} \"branch\"\n"
      "d = Relu(c)\n";
  for (const bool first : {true, false})
    for (const bool left : {true, false}) {
      const Graph graph = test::with_weights(
          "graph g opset(\"\"=17)\ninput x: f32[1, 8, 6, 6]\nconst k: f32[8, 8, 1, 1] = ?\n"
          "const w: f32[8, 8, 3, 3] = ?\nconst v: f32[8, 8, 3, 3] = ?\nconst u: f32[8, 8, 1, 1] = "
          "?\n" +
          (first ? shortcut + branch : branch + shortcut) + "s = Add(" + (left ? "r, d" : "d, r") +
          ")\nt = Relu(s)\ny = Conv(t, u) {kernel_shape=[1, 1]}\noutput y: f32[*]\n");
      const auto plan = plan_quantization(graph, test::random_source({1, 8, 6, 6}, 2),
                                          QuantizeOptions{.target = "octet"});
      ASSERT_TRUE(plan.ok()) << plan.error().text();
      EXPECT_TRUE(plan->node("branch")->quantized && plan->node("shortcut")->quantized);
      EXPECT_FALSE(plan->node("shortcut")->output) << first << left;
      const Lowered lowered = lower(quantize(graph, *plan).value()).value();
      for (const NodeId id : lowered.graph.nodes())
        EXPECT_EQ(lowered.graph.node(id).op_type.find("Add"), std::string::npos);
    }
}

TEST(OctetPlan, NothingIsPutIntoCodesForAConvolutionWithComputedWeights) {
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[1, 16]
const w: f32[16, 36] = ?
const image: f32[1, 4, 5, 5] = ?
const shape: i64[4] = [1, 4, 3, 3]
m = MatMul(x, w) {} "kernels"
k = Reshape(m, shape) {} "taps"
y = Conv(image, k) {} "convolution"
output y: f32[1, 1, 3, 3]
)");
  const auto plan = plan_quantization(graph, test::random_source({1, 16}, 2), {.target = "octet"});
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_TRUE(plan->node("kernels")->quantized);
  EXPECT_FALSE(plan->node("kernels")->output);
  EXPECT_FALSE(plan->node("taps")->quantized);
  EXPECT_EQ(plan->node("convolution")->rule, Placed::kWeightNotConstant);
}

} // namespace
} // namespace octet
