// SPDX-License-Identifier: Apache-2.0
// LSTM in dynamic plans: DynamicQuantizeLSTM with the codes that its rows' extremes give, in its
// place beside layers that it has nothing to do with.
#include <algorithm>
#include <cmath>

#include "graph/domains.h"
#include "quant/support.h"

#include "octet/session.h"
#include "octet/target.h"

namespace octet {
namespace {

constexpr int64_t kUnits = 6, kInputSize = 5, kGateRows = 4 * kUnits;

/// An LSTM of two directions whose states alone are read beside y, then a product.
Graph lstm_network(const std::string& attributes = "", const std::string& inputs = "x, w, r, b") {
  return test::with_weights(
      "graph g opset(\"\"=17)\ninput x: f32[7, 3, 5]\nconst w: f32[2, 24, 5] = ?\n"
      "const r: f32[2, 24, 6] = ?\nconst b: f32[2, 48] = ?\nconst h: f32[2, 3, 6] = ?\n"
      "const p: f32[2, 18] = ?\nconst v: f32[6, 4] = ?\nconst n: i32[3] = [7, 2, 5]\n"
      "y, last, cell = LSTM(" +
      inputs + ") {direction=\"bidirectional\", hidden_size=6" + attributes +
      "} \"layer\"\nz = MatMul(last, v) {} \"behind\"\n"
      "output y: f32[*]\noutput z: f32[*]\noutput cell: f32[*]\n");
}

Result<std::vector<Tensor>> run(const Graph& graph) {
  auto executor = OCTET_TRY(make_native_executor(graph));
  return executor->run(std::vector<Tensor>{test::random_tensor({7, 3, kInputSize}, 5)});
}

QuantizationPlan lstm_plan(const Graph& graph, const QuantizeOptions& options) {
  auto plan = plan_quantization(graph, test::random_source({7, 3, kInputSize}, 2), options);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  return plan.value();
}

TEST(DynamicLstm, TakesThePlaceOfLstmWithCodesOfItsRows) {
  for (const char* target : {"octet", "onnxruntime"})
    for (const bool per_channel : {true, false}) {
      const Graph graph = lstm_network();
      QuantizeOptions options{.target = target, .mode = QuantMode::kDynamic};
      options.per_channel = per_channel;
      const QuantizationPlan plan = lstm_plan(graph, options);
      EXPECT_EQ(plan.node("layer")->rule, Placed::kDynamic) << plan.node("layer")->why;
      const auto made = quantize(graph, plan);
      ASSERT_TRUE(made.ok()) << made.error().text();
      const auto nodes = test::nodes_of(*made, "DynamicQuantizeLSTM");
      ASSERT_EQ(nodes.size(), 1U);
      EXPECT_EQ(nodes[0]->domain, kMicrosoft);
      EXPECT_TRUE(test::nodes_of(*made, "LSTM").empty());
      for (const size_t i : {1, 2}) {
        const Tensor& w = *graph.constant(graph.node(*graph.find_node("layer")).input(i));
        const Tensor& codes = *made->constant(nodes[0]->input(i));
        const Tensor& scales = *made->constant(nodes[0]->input(6 + 2 * i));
        ASSERT_EQ(codes.shape(), (Shape{2, w.dim(2), kGateRows}));
        ASSERT_EQ(scales.shape(), per_channel ? (Shape{2, kGateRows}) : Shape{2});
        for (int64_t row = 0; row < kGateRows; ++row) {
          double most = 0; // of a row in both directions, or of all
          for (int64_t at = 0; at < w.count(); ++at)
            if (!per_channel || at / w.dim(2) % kGateRows == row)
              most = std::max(most, std::fabs(w.at(at)));
          for (int64_t d = 0; d < 2; ++d) {
            EXPECT_NEAR(scales.at(per_channel ? d * kGateRows + row : d), most / 127, most * 1e-6);
            for (int64_t k = 0; k < w.dim(2); ++k)
              EXPECT_NEAR(codes.at((d * w.dim(2) + k) * kGateRows + row),
                          w.at((d * kGateRows + row) * w.dim(2) + k) / (most / 127), 0.5001);
          }
        }
      }
      const auto floats = run(graph), integers = run(*made);
      ASSERT_TRUE(floats.ok() && integers.ok());
      for (size_t i = 0; i < floats->size(); ++i) {
        ASSERT_EQ((*floats)[i].shape(), (*integers)[i].shape());
        EXPECT_GT(test::sqnr((*floats)[i], (*integers)[i]), 28) << target << " output " << i;
      }
      const auto layers = explain(*made, target).value();
      const auto form = std::find_if(layers.begin(), layers.end(),
                                     [](const LayerForm& l) { return l.node == "layer"; });
      ASSERT_NE(form, layers.end());
      EXPECT_EQ(form->precision, LayerPrecision::kInt8) << form->why;
    }
}

TEST(DynamicLstm, OneLayerOfAStaticPlanTakesIt) {
  for (const auto& [target, calibrator] :
       {std::pair("octet", Calibrator{Auto{}}), std::pair("onnxruntime", Calibrator{MinMax{}})}) {
    const Graph graph = lstm_network("", "x, w, r, b, _, h, h, p");
    QuantizeOptions options{.target = target};
    options.calibrator = calibrator;
    options.layers = {{.pattern = "layer", .dynamic = true}};
    const QuantizationPlan plan = lstm_plan(graph, options);
    const auto again = QuantizationPlan::from_json(plan.to_json());
    ASSERT_TRUE(again.ok()) << again.error().text();
    const auto made = quantize(graph, *again);
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_EQ(test::nodes_of(*made, "DynamicQuantizeLSTM").size(), 1U);
    EXPECT_FALSE(test::nodes_of(*made, "QuantizeLinear").empty()) << "the product is static";
    const auto floats = run(graph), integers = run(*made);
    ASSERT_TRUE(floats.ok() && integers.ok());
    EXPECT_GT(test::sqnr(floats->at(0), integers->at(0)), 28);
  }
}

TEST(DynamicLstm, WhatHasNoStepsOfCodesStaysFloat) {
  struct Case {
    std::string attributes, inputs, why;
  };
  const Case cases[] = {
      {"", "x, w, r, b, n", "lengths of their own"},
      {", clip=0.5", "x, w, r, b", "clips"},
      {", activations=[\"Softsign\", \"Tanh\", \"Tanh\", \"Softsign\", \"Tanh\", \"Tanh\"]",
       "x, w, r, b", "softsign"},
  };
  for (const Case& one : cases) {
    const Graph graph = lstm_network(one.attributes, one.inputs);
    const QuantizationPlan plan =
        lstm_plan(graph, {.target = "onnxruntime", .mode = QuantMode::kDynamic});
    EXPECT_FALSE(plan.node("layer")->quantized);
    EXPECT_NE(plan.node("layer")->why.find(one.why), std::string::npos) << plan.node("layer")->why;
    EXPECT_TRUE(quantize(graph, plan).ok());
  }
  QuantizeOptions fp8{.target = "octet", .mode = QuantMode::kDynamic};
  fp8.layers = {{.pattern = "layer", .weights = NumberFormat{DType::kFloat8E4M3FN}}};
  const auto refused =
      plan_quantization(lstm_network(), test::random_source({7, 3, kInputSize}, 2), fp8);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("have no dynamic form"), std::string::npos)
      << refused.error().text();
}

} // namespace
} // namespace octet
