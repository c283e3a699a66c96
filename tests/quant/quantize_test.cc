// SPDX-License-Identifier: Apache-2.0
// Applied plans: the written form against each target's rules, codes against the definition, and
// results against the float graph.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/format.h"
#include "ops/evaluate.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/target.h"

namespace octet {
namespace {

using test::cnn;
using test::cnn_data;
using test::nodes_of;
using test::random_tensor;
using test::run_reference;

Graph quantized(const Graph& graph,
                const QuantizeOptions& options,
                WeightStorage storage = WeightStorage::kTarget) {
  const QuantizationPlan plan = plan_quantization(graph, cnn_data(), options).value();
  return quantize(graph, plan, storage).value();
}

constexpr const char* kTargets[] = {"octet", "onnxruntime", "tensorrt-8.6", "tensorrt-10",
                                    "tensorrt-11"};

TEST(Quantize, EveryFormStaysCloseToTheFloatGraph) {
  const Graph graph = cnn({.hidden_relu = true, .batch_norm = true, .softmax = false});
  const Tensor x = random_tensor({16, 1, 28, 28}, 7, -0.8F, 2.0F);
  const Tensor y = run_reference(graph, x);
  for (const char* target : kTargets)
    for (const Calibrator& calibrator : {Calibrator(MinMax{}), Calibrator(Mse{})})
      for (const bool per_channel : {true, false}) {
        const Graph q = quantized(
            graph, {.target = target, .calibrator = calibrator, .per_channel = per_channel});
        EXPECT_GT(test::sqnr(y, run_reference(q, x)), 25) << target << " " << name(calibrator);
      }
}

TEST(Quantize, KeepsInputsAndOutputs) {
  for (const char* target : kTargets)
    for (const bool softmax : {false, true}) {
      const Graph q = quantized(cnn(), {.target = target, .softmax = softmax});
      ASSERT_EQ(q.inputs().size(), 1U);
      EXPECT_EQ(q.value(q.inputs()[0]).name, "x");
      ASSERT_EQ(q.outputs().size(), 1U);
      EXPECT_EQ(q.value(q.outputs()[0]).name, "probabilities");
      EXPECT_EQ(q.value(q.outputs()[0]).type.text(), "f32[N, 10]");
    }
}

/// Of a long chain: what is added to a graph moves the values whose names are read.
TEST(Quantize, NamesWhatItAddsAfterTheTensor) {
  std::string text = "graph g opset(\"\"=17)\ninput v0: f32[1, 4]\n";
  constexpr int kLayers = 100;
  for (int i = 0; i < kLayers; ++i)
    text += fmt::format("const w{0}: f32[4, 4] = [{1}, 0, 0, 0, 0, {1}, 0, 0, 0, 0, {1}, 0, 0, 0, "
                        "0, {1}]\nv{2} = MatMul(v{0}, w{0}) \"m{0}\"\n",
                        i, 1.01 + 0.01 * i, i + 1);
  text += fmt::format("output v{}: f32[1, 4]\n", kLayers);
  const Graph graph = parse_graph(text).value();
  const auto plan =
      plan_quantization(graph, test::random_source({1, 4}, 1), {.target = "onnxruntime"}).value();
  const Graph q = quantize(graph, plan).value();
  int pairs = 0;
  for (const Node* node : nodes_of(q, "QuantizeLinear")) {
    const std::string& of = q.value(node->input(0)).name;
    EXPECT_EQ(q.value(node->input(1)).name, of + "_scale");
    EXPECT_EQ(q.value(node->output(0)).name, of + "_quantized");
    ++pairs;
  }
  EXPECT_GE(pairs, kLayers);
}

TEST(Quantize, EveryTargetTakesItsOwnFile) {
  for (const char* target : kTargets)
    for (const bool softmax : {false, true}) {
      const Graph q = quantized(cnn(), {.target = target, .softmax = softmax});
      const std::vector<Finding> findings = check(q, target).value();
      for (const Finding& f : findings)
        ADD_FAILURE() << target << ": " << f.node << ": " << f.message;
    }
}

TEST(Quantize, PairsHaveThreeInputsAndAxisOnlyPerChannel) {
  for (const char* target : kTargets) {
    const Graph q = quantized(cnn(), {.target = target});
    for (const char* op : {"QuantizeLinear", "DequantizeLinear"})
      for (const Node* node : nodes_of(q, op)) {
        ASSERT_EQ(node->inputs.size(), 3U);
        const Tensor* scale = q.constant(node->inputs[1]);
        const Tensor* zero = q.constant(node->inputs[2]);
        ASSERT_NE(scale, nullptr);
        ASSERT_NE(zero, nullptr);
        EXPECT_EQ(scale->shape(), zero->shape());
        EXPECT_EQ(node->has_attr("axis"), scale->rank() == 1);
        EXPECT_EQ(node->domain, "");
      }
  }
}

TEST(Quantize, TensorRtEightGetsFloatWeightsBehindPairs) {
  const Graph old = quantized(cnn(), {.target = "tensorrt-8.6"});
  EXPECT_EQ(old.value(*old.find_value("fc1.weight")).type.type, DType::kFloat32);
  const Graph now = quantized(cnn(), {.target = "tensorrt-10"});
  EXPECT_FALSE(now.find_value("fc1.weight"));
  EXPECT_EQ(now.value(*now.find_value("fc1.weight_quantized")).type.type, DType::kInt8);
  const Tensor x = random_tensor({2, 1, 28, 28}, 8);
  EXPECT_TRUE(run_reference(old, x).identical(run_reference(now, x)));
}

TEST(Quantize, WeightsAreTheRoundedQuotients) {
  const Graph graph = cnn();
  const Graph q = quantized(graph, {.target = "octet"});
  const Tensor& w = *graph.constant(*graph.find_value("conv2.weight"));
  const Tensor& codes = *q.constant(*q.find_value("conv2.weight_quantized"));
  const int64_t inner = int64_t{8} * 3 * 3;
  for (int64_t c = 0; c < 64; ++c) {
    double amax = 0;
    for (int64_t i = 0; i < inner; ++i)
      amax = std::max(amax, std::fabs(w.at(c * inner + i)));
    const auto scale = static_cast<float>(amax / 127);
    for (int64_t i = 0; i < inner; ++i) {
      const float ratio = static_cast<float>(w.at(c * inner + i)) / scale;
      EXPECT_EQ(codes.at(c * inner + i), std::nearbyint(ratio));
      EXPECT_LE(std::fabs(codes.at(c * inner + i)), 127);
    }
  }
}

TEST(Quantize, OneDequantizeForEachReader) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[2, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
a = MatMul(x, w) {} "a"
b = Gemm(x, w) {} "b"
y = Add(a, b) {} "y"
output y: f32[2, 4]
)")
                          .value();
  const QuantizationPlan plan =
      plan_quantization(graph, test::random_source({2, 4}, 2), {.target = "onnxruntime"}).value();
  const Graph q = quantize(graph, plan).value();
  EXPECT_EQ(nodes_of(q, "QuantizeLinear").size(), 1U);
  EXPECT_EQ(nodes_of(q, "DequantizeLinear").size(), 4U); // x and w for each
  int stored = 0;
  for (const ValueId id : q.constants())
    stored += q.value(id).constant.count() == 16 ? 1 : 0;
  EXPECT_EQ(stored, 1); // the shared weight once
}

TEST(Quantize, FilesAreAtMost32PercentOfTheFloatFile) {
  const auto bytes = [](const Graph& g) { return serialize_onnx(g).value().size(); };
  const size_t before = bytes(cnn());
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"})
    for (const bool softmax : {false, true})
      EXPECT_LT(bytes(quantized(cnn(), {.target = target, .softmax = softmax})), before * 32 / 100)
          << target;
  for (const char* target : {"octet", "onnxruntime"})
    EXPECT_LT(bytes(quantized(cnn(), {.target = target, .mode = QuantMode::kDynamic})),
              before * 32 / 100);
}

TEST(Quantize, TrainingFormKeepsEveryParameter) {
  const Graph graph = cnn();
  for (const char* target : kTargets) {
    const Graph q = quantized(graph, {.target = target}, WeightStorage::kFloat);
    for (const char* name : {"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                             "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}) {
      const auto id = q.find_value(name);
      ASSERT_TRUE(id) << target << " " << name;
      EXPECT_TRUE(q.value(*id).constant.identical(*graph.constant(*graph.find_value(name))))
          << name;
    }
  }
}

/// What ONNX Runtime does to a float bias between codes (round(b / (s_x * s_w)) in int32) changes
/// nothing.
TEST(Quantize, FloatBiasesAreMultiplesOfTheScaleOfTheirSums) {
  const Graph graph = cnn();
  for (const char* target : {"octet", "tensorrt-10"}) {
    const Graph q = quantized(graph, {.target = target});
    for (const char* name : {"conv1", "conv2", "fc1", "fc2"}) {
      const Node& product = q.node(*q.find_node(name));
      const auto scales = [&](size_t input) {
        return q.constant(q.producer(product.input(input))->input(1))->to_floats().value();
      };
      const std::vector<float> w = scales(1);
      const auto bias = q.constant(product.input(2))->to_floats().value();
      const auto before =
          graph.constant(*graph.find_value(name + std::string(".bias")))->to_floats().value();
      ASSERT_EQ(w.size(), bias.size());
      for (size_t c = 0; c < w.size(); ++c) {
        const double scale = scales(0)[0] * w[c];
        const double code = bias[c] / scale;
        EXPECT_NEAR(code, std::nearbyint(code), 1e-7 * std::fabs(code)) << target << " " << name;
        EXPECT_NEAR(bias[c], before[c], 0.5001 * scale) << target << " " << name;
      }
    }
  }
}

TEST(Quantize, FinalizingTheTrainingFormIsTheTargetsForm) {
  const Graph graph = cnn();
  const Tensor x = random_tensor({2, 1, 28, 28}, 8);
  for (const char* target : kTargets) {
    const QuantizationPlan plan = plan_quantization(graph, cnn_data(), {.target = target}).value();
    const Graph training = quantize(graph, plan, WeightStorage::kFloat).value();
    const Graph final_form = finalize_quantization(training, plan).value();
    const Graph direct = quantized(graph, {.target = target});
    EXPECT_TRUE(run_reference(final_form, x).identical(run_reference(direct, x))) << target;
    EXPECT_EQ(test::constant_bytes(final_form), test::constant_bytes(direct)) << target;
    EXPECT_TRUE(check(final_form, target).value().empty()) << target;
  }
}

/// Fewer bits: the Clip between the float weight and its codes goes with training.
TEST(Quantize, FinalizingFewerBitsIsTheTargetsForm) {
  const Graph graph = cnn();
  const Tensor x = random_tensor({2, 1, 28, 28}, 8);
  for (const char* target : kTargets)
    for (const int bits : {2, 3, 6}) {
      SCOPED_TRACE(fmt::format("{} {} bits", target, bits));
      const int activations = std::string_view(target).starts_with("tensorrt") ? 8 : bits;
      const QuantizeOptions options = {
          .target = target, .weight_bits = bits, .activation_bits = activations};
      const QuantizationPlan plan = plan_quantization(graph, cnn_data(), options).value();
      const Graph training = quantize(graph, plan, WeightStorage::kFloat).value();
      const Graph final_form = finalize_quantization(training, plan).value();
      const Graph direct = quantize(graph, plan).value();
      EXPECT_EQ(nodes_of(training, "Clip").size(), nodes_of(direct, "Clip").size() + 4);
      EXPECT_EQ(nodes_of(final_form, "Clip").size(), nodes_of(direct, "Clip").size());
      EXPECT_TRUE(run_reference(final_form, x).identical(run_reference(direct, x)));
      EXPECT_EQ(test::constant_bytes(final_form), test::constant_bytes(direct));
      EXPECT_TRUE(final_form.find_value("conv1.weight_quantized"));
      EXPECT_TRUE(check(final_form, target).value().empty());
    }
}

/// A learned scale leaves weights beyond the codes: they are written as they were trained, clipped.
TEST(Quantize, WeightsBeyondTheirBitsAreClippedAsTheyWereTrained) {
  const Graph graph = cnn();
  const Tensor& weight = *graph.constant(*graph.find_value("conv1.weight"));
  for (const char* target : {"octet", "tensorrt-8.6"}) {
    const QuantizationPlan plan =
        plan_quantization(graph, cnn_data(),
                          {.target = target, .weight_bits = 4, .per_channel = false})
            .value();
    Graph training = quantize(graph, plan, WeightStorage::kFloat).value();
    const double lowest = plan.tensor("conv1.weight")->scheme.narrow ? -7 : -8;
    const Node& conv = training.node(*training.find_node("conv1"));
    const ValueId scale = training.producer(conv.input(1))->input(1);
    const auto halved = static_cast<float>(training.constant(scale)->at(0) / 2);
    training.set_constant(scale, Tensor::of<float>({}, {halved}));
    const Graph written = finalize_quantization(training, plan).value();
    const Node& dq = *written.producer(written.node(*written.find_node("conv1")).input(1));
    ASSERT_TRUE(dq.is("DequantizeLinear")) << target;
    const Tensor real = constant_value(written, dq.output(0)).value();
    int beyond = 0;
    for (int64_t i = 0; i < weight.count(); ++i) {
      const double code = std::nearbyint(static_cast<float>(weight.at(i)) / halved);
      beyond += code < lowest || code > 7 ? 1 : 0;
      const auto kept = static_cast<float>(std::clamp(code, lowest, 7.0));
      EXPECT_EQ(real.at(i), static_cast<double>(kept * halved)) << target;
    }
    EXPECT_GT(beyond, 0);
    EXPECT_TRUE(check(written, target).value().empty()) << target;
  }
}

TEST(Quantize, DynamicFormsStayClose) {
  const Graph graph = cnn({.softmax = false});
  const Tensor x = random_tensor({4, 1, 28, 28}, 9, -0.8F, 2.0F);
  const Tensor y = run_reference(graph, x);
  for (const char* target : {"onnxruntime", "octet"}) {
    const Graph q = quantized(graph, {.target = target, .mode = QuantMode::kDynamic});
    EXPECT_GT(test::sqnr(y, run_reference(q, x)), 30) << target;
    EXPECT_TRUE(check(q, target).value().empty());
  }
  const Graph ort = quantized(graph, {.target = "onnxruntime", .mode = QuantMode::kDynamic});
  EXPECT_EQ(nodes_of(ort, "MatMulInteger").size(), 2U);
  EXPECT_EQ(nodes_of(ort, "Conv").size(), 2U);
  const Graph own = quantized(graph, {.target = "octet", .mode = QuantMode::kDynamic});
  EXPECT_EQ(nodes_of(own, "QDynamicGemm").size(), 2U);
  const Graph convs = quantized(
      graph, {.target = "onnxruntime", .mode = QuantMode::kDynamic, .include = {"Conv", "Gemm"}});
  EXPECT_EQ(nodes_of(convs, "ConvInteger").size(), 2U);
  EXPECT_GT(test::sqnr(y, run_reference(convs, x)), 30);
}

// At some length the graph's values move to a larger array while the bias is read.
TEST(Quantize, DynamicConvsKeepTheirBiasesInGraphsOfAnyLength) {
  const Tensor x = random_tensor({1, 2, 4, 4}, 9, -1.0F, 1.0F);
  std::string waves;
  for (int length = 0; length < 70; ++length) {
    const std::string last = length == 0 ? "c" : fmt::format("r{}", length - 1);
    const Graph graph = parse_graph(fmt::format("graph g opset(\"\"=17)\ninput x: f32[1, 2, 4, 4]\n"
                                                "const w: f32[2, 1, 1, 1] = [1, -1]\n"
                                                "const b: f32[2] = [3, 5]\n"
                                                "c = Conv(x, w, b) {{group=2}} \"conv\"\n{}"
                                                "output {}: f32[1, 2, 4, 4]\n",
                                                waves, last))
                            .value();
    const Graph made = quantized(
        graph, {.target = "onnxruntime", .mode = QuantMode::kDynamic, .include = {"Conv"}});
    ASSERT_EQ(nodes_of(made, "ConvInteger").size(), 1U);
    EXPECT_GT(test::sqnr(run_reference(graph, x), run_reference(made, x)), 40) << length;
    waves += fmt::format("r{} = Sin({})\n", length, last);
  }
}

TEST(Quantize, EmbeddingsKeepTheirScalesInGraphsOfAnyLength) {
  const std::vector<Tensor> ids = {Tensor::of<int64_t>({2}, {2, 0})};
  std::string waves;
  for (int length = 0; length < 70; ++length) {
    const std::string last = length == 0 ? "e" : fmt::format("r{}", length - 1);
    const Graph graph =
        parse_graph(fmt::format("graph g opset(\"\"=17)\ninput x: i64[2]\n"
                                "const t: f32[3, 2] = [1, -1, 0.25, 0.5, 3, 2]\n"
                                "e = Gather(t, x) {{}} \"table\"\n{}output {}: f32[2, 2]\n",
                                waves, last))
            .value();
    const auto made = quantize(
        graph,
        plan_quantization(graph, CalibrationSource{}, {.mode = QuantMode::kWeightOnly}).value());
    ASSERT_TRUE(made.ok()) << made.error().text();
    const Tensor wanted = make_reference_executor(graph).value()->run(ids).value().front();
    const Tensor found = make_reference_executor(*made).value()->run(ids).value().front();
    EXPECT_GT(test::sqnr(wanted, found), 35) << length;
    waves += fmt::format("r{} = Sin({})\n", length, last);
  }
}

TEST(Quantize, WeightOnlyDequantizesBeforeProducts) {
  const Graph graph = cnn({.softmax = false});
  const Tensor x = random_tensor({4, 1, 28, 28}, 9, -0.8F, 2.0F);
  for (const char* target : kTargets) {
    const Graph q = quantized(graph, {.target = target, .mode = QuantMode::kWeightOnly});
    EXPECT_EQ(nodes_of(q, "DequantizeLinear").size(), 4U);
    EXPECT_GT(test::sqnr(run_reference(graph, x), run_reference(q, x)), 35) << target;
  }
}

TEST(Quantize, EmbeddingsGatherCodes) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: i64[3]
const table: f32[4, 2] = [1.0, 2.0, -3.0, 0.5, 100.0, 7.0, 0.0, 0.25]
y = Gather(table, x) {axis=0} "rows"
output y: f32[3, 2]
)")
                          .value();
  const QuantizationPlan plan =
      plan_quantization(graph, CalibrationSource{}, {.mode = QuantMode::kWeightOnly}).value();
  const Graph q = quantize(graph, plan).value();
  EXPECT_FALSE(q.find_value("table"));
  const Tensor x = Tensor::of<int64_t>({3}, {2, 0, 3});
  const Tensor y = run_reference(graph, x);
  const Tensor z = run_reference(q, x);
  for (int64_t row = 0; row < 3; ++row) {
    const double amax = std::max(std::fabs(y.at(2 * row)), std::fabs(y.at(2 * row + 1)));
    for (const int64_t i : {2 * row, 2 * row + 1})
      EXPECT_NEAR(z.at(i), y.at(i), amax / 254 + 1e-6);
  }
}

/// Two tables, their sum, and two linear layers.
Graph embedding_model() {
  Graph graph = parse_graph(R"(graph g opset(""=17)
input x: i64[N]
input w: f32[N, 4]
const table: f32[3, 4] = [1, 2, -3, 0.5, 10, 7, 0, 0.25, -1, 1, 0.5, 0.125]
const weight: f32[4, 4] = [1, -1, 0.5, 2, 0.25, 1, 1, -2, 3, 0.5, -0.5, 1, 1, 1, -1, 0.75]
e = Gather(table, x) {axis=0} "embeddings/words"
s = Add(e, w) "embeddings/sum"
h = MatMul(s, weight) "encoder.0/dense"
y = MatMul(h, weight) "head.classifier/dense"
output y: f32[N, 4]
)")
                    .value();
  return graph;
}

QuantizationPlan embedding_plan(const Graph& graph, const QuantizeOptions& options) {
  int calls = 0;
  const CalibrationSource source = [&]() -> Result<std::optional<std::vector<Tensor>>> {
    if (calls++ > 0) return std::optional<std::vector<Tensor>>();
    return std::optional(
        std::vector<Tensor>{Tensor::of<int64_t>({3}, {0, 1, 2}), random_tensor({3, 4}, 5, -1, 1)});
  };
  return plan_quantization(graph, source, options).value();
}

TEST(Quantize, EmbeddingsOfAStaticPlanAreStoredRowByRow) {
  const Graph graph = embedding_model();
  for (const char* target : {"octet", "onnxruntime"}) {
    const QuantizationPlan plan = embedding_plan(graph, {.target = target, .embeddings = true});
    ASSERT_NE(plan.node("embeddings/words"), nullptr);
    EXPECT_TRUE(plan.node("embeddings/words")->quantized);
    const Graph q = quantize(graph, plan).value();
    EXPECT_FALSE(q.find_value("table"));
    const Tensor* codes = q.constant(*q.find_value("table_quantized"));
    const std::vector<double> expected = {42, 85, -127, 21, 127, 89, 0, 3, -127, 127, 64, 16};
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(codes->at(static_cast<int64_t>(i)), expected[i]) << i;

    // Trained in float, stored with the range of the trained values.
    Graph training = quantize(graph, plan, WeightStorage::kFloat).value();
    ASSERT_TRUE(training.find_value("table"));
    std::vector<float> doubled;
    for (int64_t i = 0; i < 12; ++i)
      doubled.push_back(static_cast<float>(2 * graph.constant(*graph.find_value("table"))->at(i)));
    training.set_constant(*training.find_value("table"),
                          Tensor::of<float>({3, 4}, std::span<const float>(doubled)));
    const Graph trained = finalize_quantization(training, plan).value();
    const Tensor* trained_codes = trained.constant(*trained.find_value("table_quantized"));
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(trained_codes->at(static_cast<int64_t>(i)), expected[i]) << i;
    EXPECT_DOUBLE_EQ(trained.constant(*trained.find_value("table_scale"))->at(0),
                     static_cast<double>(6.0F / 127.0F));
  }
  const QuantizationPlan trt = embedding_plan(graph, {.target = "tensorrt-10", .embeddings = true});
  EXPECT_FALSE(trt.node("embeddings/words")->quantized);
  EXPECT_TRUE(check(quantize(graph, trt).value(), "tensorrt-10").value().empty());
}

TEST(Quantize, PatternsNamePartsOfPaths) {
  const Graph graph = embedding_model();
  const QuantizationPlan plan =
      embedding_plan(graph, {.include = {"encoder.*"}, .embeddings = true});
  EXPECT_TRUE(plan.node("encoder.0/dense")->quantized);
  EXPECT_FALSE(plan.node("head.classifier/dense")->quantized);
  EXPECT_TRUE(plan.node("embeddings/words")->quantized);
  const QuantizationPlan kept =
      embedding_plan(graph, {.exclude = {"classifier", "words"}, .embeddings = true});
  EXPECT_TRUE(kept.node("encoder.0/dense")->quantized);
  EXPECT_EQ(kept.node("head.classifier/dense")->rule, Placed::kExcluded);
  EXPECT_EQ(kept.node("embeddings/words")->rule, Placed::kExcluded);
  const auto unknown = plan_quantization(graph, CalibrationSource{}, {.exclude = {"class"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("\"class\" matches no node"), std::string::npos);
}

TEST(Quantize, OldOperatorSetsAreTakenTo13OrRefused) {
  Graph graph = parse_graph(R"(graph g opset(""=9)
input x: f32[1, 4]
const w: f32[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]
a = MatMul(x, w) "product"
y = Clip(a) {min=0.0}
output y: f32[1, 2]
)")
                    .value();
  const QuantizeOptions options = {.mode = QuantMode::kWeightOnly};
  const QuantizationPlan plan = plan_quantization(graph, CalibrationSource{}, options).value();
  const auto result = quantize(graph, plan);
  ASSERT_TRUE(result.ok()) << result.error().text();
  EXPECT_EQ(result->opset(), 13);
  graph.opsets[""] = 6;
  const auto refused = quantize(graph, plan);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("opset 6"), std::string::npos);
}

} // namespace
} // namespace octet
