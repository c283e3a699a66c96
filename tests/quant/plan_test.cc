// SPDX-License-Identifier: Apache-2.0
// Plans: what each target quantizes and why, ranges, JSON, patterns, mismatches.
#include <cmath>
#include <utility>

#include "core/string_util.h"
#include "quant/place.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/target.h"

namespace octet {
namespace {

using test::cnn;
using test::cnn_data;

QuantizationPlan plan_for(const std::string& target, QuantizeOptions options = {}) {
  options.target = target;
  return plan_quantization(cnn(), cnn_data(), options).value();
}

TEST(Plan, OnnxRuntimeQuantizesOutputsAndAbsorbsClamps) {
  const QuantizationPlan plan = plan_for("onnxruntime");
  const struct {
    const char* node;
    bool quantized, output;
    const char* rule;
  } expected[] = {{"conv1", true, false, "product"},   {"relu1", true, true, "absorbed"},
                  {"conv2", true, false, "product"},   {"relu2", true, true, "absorbed"},
                  {"pool", true, true, "around"},      {"flatten", true, true, "moves"},
                  {"fc1", true, true, "product"},      {"fc2", true, false, "product"},
                  {"softmax", false, false, "softmax"}};
  EXPECT_EQ(plan.nodes.size(), std::size(expected));
  for (const auto& e : expected) {
    const NodePlan* node = plan.node(e.node);
    ASSERT_NE(node, nullptr) << e.node;
    EXPECT_EQ(node->quantized, e.quantized) << e.node;
    EXPECT_EQ(node->output, e.output) << e.node;
    EXPECT_EQ(name(node->rule), e.rule) << e.node;
    EXPECT_FALSE(node->why.empty());
    EXPECT_FALSE(node->clause.empty()) << e.node;
  }
  EXPECT_TRUE(plan.node("fc2")->int32_bias);
  EXPECT_FALSE(plan.node("fc1")->int32_bias);
  EXPECT_EQ(plan.tensor("flatten")->ranges, plan.tensor("pool")->ranges);
  EXPECT_EQ(plan.tensor("relu1")->scheme.type, DType::kUint8);
  EXPECT_FALSE(plan.tensor("relu1")->scheme.symmetric);
  EXPECT_EQ(plan.tensor("conv2.weight")->ranges.size(), 64U);
  EXPECT_EQ(plan.tensor("conv2.weight")->axis, 0);
  EXPECT_EQ(plan.samples, 24);
}

TEST(Plan, TensorRtQuantizesInputsOnly) {
  const QuantizationPlan plan = plan_for("tensorrt-10");
  for (const NodePlan& node : plan.nodes) {
    EXPECT_FALSE(node.output) << node.node;
    EXPECT_FALSE(node.int32_bias) << node.node;
  }
  for (const char* name : {"conv1", "conv2", "pool", "fc1", "fc2"})
    EXPECT_EQ(plan.node(name)->inputs, std::vector<int64_t>{0}) << name;
  for (const char* name : {"relu1", "flatten", "softmax"})
    EXPECT_FALSE(plan.node(name)->quantized) << name;
  for (const TensorPlan& tensor : plan.tensors) {
    EXPECT_TRUE(tensor.scheme.symmetric) << tensor.value;
    EXPECT_EQ(tensor.scheme.type, DType::kInt8) << tensor.value;
  }
  EXPECT_EQ(plan.tensor("flatten")->algorithm, "min-max");
  EXPECT_EQ(plan.tensor("pool"), nullptr);
}

TEST(Plan, RangesAreThoseOfTheFloatGraph) {
  const QuantizationPlan plan = plan_for("onnxruntime");
  const CalibrationSource source = cnn_data();
  double hi = 0;
  Graph tapped = cnn();
  tapped.set_outputs({*tapped.find_value("relu2")});
  while (const auto inputs = source().value()) {
    const Tensor y = test::run_reference(tapped, inputs->at(0));
    for (int64_t i = 0; i < y.count(); ++i)
      hi = std::max(hi, y.at(i));
  }
  EXPECT_EQ(plan.tensor("relu2")->ranges.at(0), (Range{0, hi}));
}

TEST(Plan, SoftmaxHasAFixedRange) {
  for (const char* target : {"onnxruntime", "octet", "tensorrt-10"}) {
    const QuantizationPlan plan = plan_for(target, {.softmax = true});
    ASSERT_NE(plan.tensor("probabilities"), nullptr) << target;
    EXPECT_EQ(plan.tensor("probabilities")->ranges.at(0), (Range{0, 1}));
    EXPECT_EQ(plan.tensor("probabilities")->algorithm, "fixed");
    EXPECT_TRUE(plan.node("softmax")->output);
  }
}

TEST(Plan, PatternsChooseLayers) {
  const QuantizationPlan plan = plan_for("onnxruntime", {.exclude = {"conv1", "Gem?"}});
  EXPECT_FALSE(plan.node("conv1")->quantized);
  EXPECT_EQ(plan.node("conv1")->rule, Placed::kExcluded);
  EXPECT_FALSE(plan.node("fc1")->quantized);
  EXPECT_TRUE(plan.node("conv2")->quantized);
  const QuantizationPlan only = plan_for("onnxruntime", {.include = {"Gemm"}});
  EXPECT_EQ(only.node("conv1")->rule, Placed::kNotIncluded);
  EXPECT_TRUE(only.node("fc1")->quantized);
  const auto bad = plan_quantization(cnn(), cnn_data(), {.exclude = {"cnv1"}});
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("conv1"), std::string::npos);
}

TEST(Plan, LayersHaveWeightsOfTheirOwnFormat) {
  QuantizeOptions options;
  options.target = "octet";
  options.weight_bits = 7;
  options.layers = {{"Conv", 4, {}}, {"conv2", 3, false}, {"fc2", {}, false}};
  const QuantizationPlan plan = plan_quantization(cnn(), cnn_data(), options).value();
  const struct {
    const char* weight;
    int bits;
    bool per_channel;
  } expected[] = {{"conv1.weight", 4, true},
                  {"conv2.weight", 3, false}, // the last that matches wins
                  {"fc1.weight", 7, true},
                  {"fc2.weight", 7, false}};
  const Graph quantized = quantize(cnn(), plan).value();
  for (const auto& e : expected) {
    SCOPED_TRACE(e.weight);
    const TensorPlan& tensor = *plan.tensor(e.weight);
    EXPECT_EQ(tensor.scheme.bits, e.bits);
    EXPECT_EQ(tensor.axis.has_value(), e.per_channel);
    // The outermost codes of the file say the bits: one of each range is at its end, -8 or 7.
    const std::string stem = e.weight;
    double largest = 0;
    for (const NodeId id : quantized.nodes()) {
      const Node& node = quantized.node(id);
      const Tensor* codes = quantized.constant(node.input(0));
      if (codes == nullptr || !node.is("DequantizeLinear") || codes->rank() < 2 ||
          !quantized.value(node.input(0)).name.starts_with(stem))
        continue;
      for (int64_t i = 0; i < codes->count(); ++i)
        largest = std::max({largest, codes->at(i), -codes->at(i) - 1});
    }
    EXPECT_EQ(largest, (1 << (e.bits - 1)) - 1);
  }
  options.layers = {{"cnv1", 4, {}}};
  const auto unknown = plan_quantization(cnn(), cnn_data(), options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("\"cnv1\" matches no node"), std::string::npos);
  options.layers = {{"conv1", 9, {}}};
  EXPECT_FALSE(plan_quantization(cnn(), cnn_data(), options).ok());
}

TEST(Plan, LayersReadActivationsOfTheirOwnFormat) {
  QuantizeOptions options;
  options.target = "onnxruntime";
  options.activation_bits = 7;
  options.layers = {{.pattern = "Conv", .activation_bits = 5},
                    {.pattern = "fc1", .activation_bits = 4, .calibrator = Mse{}}};
  const QuantizationPlan plan = plan_quantization(cnn(), cnn_data(), options).value();
  const struct {
    const char* value;
    int bits;
    const char* algorithm;
  } expected[] = {{"x", 5, "min-max"},
                  {"relu1", 5, "min-max"}, // conv2 reads it
                  {"relu2", 7, "min-max"}, // the pool does
                  {"pool", 4, "mse"},      // fc1, behind what moves codes
                  {"flatten", 4, "same as pool"},
                  {"fc1", 7, "min-max"}};
  const Graph quantized = quantize(cnn(), plan).value();
  for (const auto& e : expected) {
    SCOPED_TRACE(e.value);
    EXPECT_EQ(plan.tensor(e.value)->scheme.bits, e.bits);
    EXPECT_EQ(plan.tensor(e.value)->algorithm, e.algorithm);
    const auto clip = quantized.find_value(std::string(e.value) + "_quantized_clip");
    ASSERT_TRUE(clip);
    const Node& node = *quantized.producer(*clip);
    EXPECT_EQ(quantized.constant(node.input(2))->at(0) - quantized.constant(node.input(1))->at(0),
              (1 << e.bits) - 1);
  }
  EXPECT_EQ(QuantizationPlan::from_json(plan.to_json()).value().to_json(), plan.to_json());

  // The range is the one of a plan whose layers all have this format.
  QuantizeOptions all;
  all.target = "onnxruntime";
  all.activation_bits = 4;
  all.calibrator = Mse{};
  EXPECT_EQ(plan.tensor("pool")->ranges,
            plan_quantization(cnn(), cnn_data(), all).value().tensor("pool")->ranges);
}

TEST(Plan, AnActivationThatSeveralLayersReadHasOneFormat) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[N, 2]
const v: f32[2, 2] = [1, 2, -3, 4]
const w: f32[2, 2] = [1, 2, -3, 4]
p = MatMul(x, v) "first"
q = MatMul(x, w) "second"
y = Add(p, q) "sum"
output y: f32[N, 2]
)")
                          .value();
  const auto plan = [&](std::vector<LayerFormat> layers, const char* target = "octet",
                        QuantMode mode = QuantMode::kStatic,
                        std::vector<std::string> exclude = {}) {
    QuantizeOptions options;
    options.target = target;
    options.mode = mode;
    options.layers = std::move(layers);
    options.exclude = std::move(exclude);
    return plan_quantization(graph, test::random_source({4, 2}, 3), options);
  };
  const auto bits = [&](std::vector<LayerFormat> layers) {
    return plan(std::move(layers)).value().tensor("x")->scheme.bits;
  };
  EXPECT_EQ(bits({{.pattern = "first", .activation_bits = 4}}), 8);
  EXPECT_EQ(bits({{.pattern = "first", .activation_bits = 4},
                  {.pattern = "second", .activation_bits = 5}}),
            5);
  EXPECT_EQ(plan({{.pattern = "first", .calibrator = Entropy{}}}).value().tensor("x")->algorithm,
            "entropy");

  const auto refusal = [](const Result<QuantizationPlan>& got) {
    return got.ok() ? std::string() : got.error().text();
  };
  const auto says = [&](const Result<QuantizationPlan>& got, const char* text) {
    EXPECT_NE(refusal(got).find(text), std::string::npos) << refusal(got);
  };
  says(plan({{.pattern = "first", .calibrator = Entropy{}},
             {.pattern = "second", .calibrator = Mse{}}}),
       "\"x\" has one range");
  says(plan({{.pattern = "first", .activation_bits = 4}}, "tensorrt-10"),
       "takes activations of 8 bits only");
  says(plan({{.pattern = "first", .activation_bits = 4}}, "octet", QuantMode::kDynamic),
       "not for the dynamic mode");
  says(plan_quantization(
           cnn(), cnn_data(),
           {.target = "onnxruntime", .layers = {{.pattern = "flatten", .activation_bits = 4}}}),
       "\"flatten\" decides on no activation");
  const NumberFormat int4 = {.type = DType::kInt4, .block = 32};
  says(plan({{.pattern = "first", .weights = int4}}, "octet", QuantMode::kWeightOnly, {"first"}),
       "pattern \"first\" stores no weights in int4/32: no layer that it matches");
  EXPECT_EQ(refusal(plan({{.pattern = "MatMul", .weights = int4}}, "octet", QuantMode::kWeightOnly,
                         {"first"})),
            "");
}

TEST(Plan, AWeightThatTwoLayersReadTakesTheMostBits) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[N, 2]
const w: f32[2, 2] = [1, 2, -3, 4]
p = MatMul(x, w) "first"
r = Relu(p) "relu"
y = MatMul(r, w) "second"
output y: f32[N, 2]
)")
                          .value();
  const auto bits = [&](std::vector<LayerFormat> layers) {
    QuantizeOptions options;
    options.layers = std::move(layers);
    return plan_quantization(graph, test::random_source({4, 2}, 1), options)
        .value()
        .tensor("w")
        ->scheme.bits;
  };
  EXPECT_EQ(bits({{"first", 4, {}}, {"second", 5, {}}}), 5);
  EXPECT_EQ(bits({{"first", 6, {}}, {"second", 5, {}}}), 6);
  EXPECT_EQ(bits({{"first", 4, {}}}), 8);
}

TEST(Plan, ErrorsSayWhatIsWrong) {
  const auto target = plan_quantization(cnn(), cnn_data(), {.target = "tensort-10"});
  ASSERT_FALSE(target.ok());
  EXPECT_NE(target.error().text().find("tensorrt-10"), std::string::npos);
  EXPECT_FALSE(
      plan_quantization(cnn(), cnn_data(), {.target = "tensorrt-10", .symmetric = false}).ok());
  EXPECT_FALSE(
      plan_quantization(cnn(), cnn_data(), {.target = "tensorrt-10", .mode = QuantMode::kDynamic})
          .ok());
  EXPECT_FALSE(plan_quantization(cnn(), test::random_source({1}, 0)).ok());
  const auto nan = plan_quantization(cnn(), test::random_source({1, 1, 28, 28}, 1, NAN, NAN));
  ASSERT_FALSE(nan.ok());
  EXPECT_NE(nan.error().text().find("value \"x\""), std::string::npos);
  QuantizeOptions stop;
  stop.progress = [](int64_t, int64_t) { return false; };
  const auto stopped = plan_quantization(cnn(), cnn_data(), stop);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
}

TEST(Plan, DeadChannelsAreReported) {
  Graph graph = cnn();
  const ValueId w = *graph.find_value("fc1.weight");
  std::vector<float> values = graph.constant(w)->to_floats().value();
  std::fill_n(values.begin(), 256, 0.0F);
  graph.set_constant(w, Tensor::of<float>({128, 256}, std::span<const float>(values)));
  const QuantizationPlan plan = plan_quantization(graph, cnn_data()).value();
  EXPECT_NE(plan.tensor("fc1.weight")->note.find("1 channels are all zero (0)"), std::string::npos)
      << plan.tensor("fc1.weight")->note;
}

TEST(Plan, JsonComesBackEqual) {
  for (const char* target : {"onnxruntime", "tensorrt-8.6"}) {
    const QuantizationPlan plan = plan_for(target, {.calibrator = Percentile{99.9}});
    const std::string json = plan.to_json();
    const QuantizationPlan back = QuantizationPlan::from_json(json).value();
    EXPECT_EQ(back.to_json(), json);
    EXPECT_EQ(back.graph_hash, cnn().content_hash());
    EXPECT_EQ(back.tensors.at(0).ranges, plan.tensors.at(0).ranges);
  }
}

TEST(Plan, JsonWithMistakesIsRefused) {
  const std::string json = plan_for("octet").to_json();
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string out = json;
    out.replace(out.find(from), from.size(), to);
    return QuantizationPlan::from_json(out);
  };
  EXPECT_TRUE(replaced("min-max", "by hand").ok());
  EXPECT_FALSE(replaced("\"target\"", "\"tarjet\"").ok());
  EXPECT_FALSE(replaced("\"static\"", "\"statik\"").ok());
  EXPECT_FALSE(replaced("\"octet_plan\": 1", "\"octet_plan\": 2").ok());
  EXPECT_FALSE(replaced("\"symmetric\": ", "\"symmetric\": 1, \"x\": ").ok());
  const auto rule = replaced("\"rule\": \"product\"", "\"rule\": \"produkt\"");
  ASSERT_FALSE(rule.ok());
  EXPECT_NE(rule.error().text().find("unknown rule \"produkt\"; there are product, "),
            std::string::npos)
      << rule.error().text();
  EXPECT_FALSE(QuantizationPlan::from_json("{").ok());
  EXPECT_FALSE(QuantizationPlan::from_json("[]").ok());
}

TEST(Plan, EditedPlansAreCheckedWhenApplied) {
  const QuantizationPlan plan = plan_for("octet");
  const auto applied = [&](auto edit) {
    QuantizationPlan edited = plan;
    edit(edited);
    return quantize(cnn(), edited).ok();
  };
  EXPECT_TRUE(applied([](QuantizationPlan& p) { p.tensors[4].ranges[0].hi = 9; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.tensors[4].ranges.clear(); }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.tensors[4].ranges[0].hi = INFINITY; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.tensors[0].ranges.pop_back(); }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.tensors[0].axis = 7; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.tensors[0].scheme.type = DType::kFloat32; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.tensors.clear(); }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.nodes[0].weight = 9; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.nodes[0].inputs = {5}; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.nodes[0].node = "nobody"; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) { p.target = "nothing"; }));
  EXPECT_FALSE(applied([](QuantizationPlan& p) {
    p.mode = QuantMode::kDynamic;
    p.nodes[0].rule = Placed::kDynamic;
    p.nodes[0].weight = 2;
  }));
}

TEST(Plan, AnotherGraphIsReported) {
  const QuantizationPlan plan = plan_for("octet");
  EXPECT_TRUE(compare_plan(cnn(), plan).value().same_graph);
  Graph other = cnn();
  other.rename(*other.find_value("fc1.weight"), "renamed");
  const PlanMismatch mismatch = compare_plan(other, plan).value();
  EXPECT_FALSE(mismatch.same_graph);
  EXPECT_EQ(mismatch.unmatched, std::vector<std::string>{"fc1.weight"});
  const auto applied = quantize(other, plan);
  ASSERT_FALSE(applied.ok());
  EXPECT_NE(applied.error().text().find("fc1.weight"), std::string::npos);
}

TEST(Plan, TextNamesEveryNodeWithItsReason) {
  const QuantizationPlan plan = plan_for("tensorrt-10");
  const std::string text = plan.text();
  for (const NodePlan& node : plan.nodes) {
    EXPECT_NE(text.find(node.node), std::string::npos);
    EXPECT_NE(text.find(node.why), std::string::npos);
  }
}

TEST(Plan, ResidualSumQuantizesTheShortcut) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[1, 2, 4, 4]
const w: f32[2, 2, 1, 1] = [1, 2, 3, 4]
a = Conv(x, w) {} "first"
r = Relu(a) {} "relu"
b = Conv(r, w) {} "second"
s = Add(b, r) {} "sum"
y = Relu(s) {} "last"
output y: f32[1, 2, 4, 4]
)")
                          .value();
  const auto source = [] { return test::random_source({1, 2, 4, 4}, 2); };
  const QuantizationPlan trt =
      plan_quantization(graph, source(), {.target = "tensorrt-10"}).value();
  EXPECT_EQ(trt.node("sum")->rule, Placed::kResidual);
  EXPECT_EQ(trt.node("sum")->inputs, std::vector<int64_t>{1}); // r, the shortcut
  EXPECT_TRUE(trt.tensor("r"));
}

/// The clamp belongs to the sum, so that the next block finds its shortcut in codes.
TEST(Plan, OctetQuantizesSumsBehindTheirClamps) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[1, 2, 4, 4]
const w: f32[2, 2, 1, 1] = [1, 2, 3, 4]
a = Conv(x, w) {} "first"
r = Relu(a) {} "relu"
b = Conv(r, w) {} "second"
s = Add(b, r) {} "sum"
t = Relu(s) {} "clamp"
c = Conv(t, w) {} "third"
u = Add(c, t) {} "next"
y = Conv(u, w) {} "last"
output y: f32[1, 2, 4, 4]
)")
                          .value();
  const auto source = [] { return test::random_source({1, 2, 4, 4}, 2); };
  const QuantizationPlan plan = plan_quantization(graph, source(), {.target = "octet"}).value();
  EXPECT_TRUE(plan.node("sum")->quantized);
  EXPECT_FALSE(plan.node("sum")->output);
  EXPECT_TRUE(plan.node("clamp")->output);
  EXPECT_TRUE(plan.node("next")->quantized) << plan.node("next")->why;
  EXPECT_TRUE(plan.node("next")->output);
}

/// A convolution adds codes that are there before it to its own sums, so that only these are rounded.
TEST(Plan, OctetAddsCodesToTheSumsOfTheProductBehindThem) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[1, 2, 4, 4]
const w: f32[2, 2, 1, 1] = [1, 2, 3, 4]
const half: f32[2, 2, 1, 1] = [0.5, 0.25, -0.25, 0.75]
a = Conv(x, w) {} "shortcut"
b = Conv(x, half) {} "branch"
s = Add(b, a) {} "sum"
c = Conv(s, half) {} "second"
t = Add(s, c) {} "next"
d = Conv(t, w) {} "third"
u = Add(d, t) {} "shown"
e = Conv(u, w) {} "fourth"
y = Add(u, d) {} "twice"
output e: f32[1, 2, 4, 4]
output y: f32[1, 2, 4, 4]
)")
                          .value();
  const auto source = [] { return test::random_source({1, 2, 4, 4}, 2); };
  const QuantizationPlan plan = plan_quantization(graph, source(), {.target = "octet"}).value();
  EXPECT_TRUE(plan.node("shortcut")->output);
  EXPECT_FALSE(plan.node("branch")->output);
  EXPECT_EQ(plan.node("sum")->inputs, std::vector<int64_t>{1});
  EXPECT_TRUE(plan.node("sum")->output);
  EXPECT_FALSE(plan.node("second")->output);
  EXPECT_EQ(plan.node("next")->inputs, std::vector<int64_t>{0});
  EXPECT_TRUE(plan.node("third")->output) << "another reads it too";
  EXPECT_EQ(plan.node("shown")->inputs, (std::vector<int64_t>{0, 1}));
}

TEST(Plan, OctetAddsCodesThatAProductReadsToo) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[1, 2, 4, 4]
const w: f32[2, 2, 1, 1] = [1, 2, 3, 4]
e = Elu(x) {} "made in float"
a = Conv(e, w) {} "branch"
s = Add(a, e) {} "sum"
r = Relu(s) {} "clamp"
b = Conv(r, w) {} "next"
f = Elu(b) {} "read in float"
t = Add(b, f) {} "float"
output t: f32[1, 2, 4, 4]
)")
                          .value();
  const auto source = [] { return test::random_source({1, 2, 4, 4}, 2); };
  const QuantizationPlan plan = plan_quantization(graph, source(), {.target = "octet"}).value();
  EXPECT_FALSE(plan.node("branch")->output);
  EXPECT_EQ(plan.node("sum")->inputs, std::vector<int64_t>{1});
  EXPECT_TRUE(plan.node("clamp")->output);
  EXPECT_FALSE(plan.node("float")->quantized) << "nothing makes codes of its shortcut";
}

TEST(Plan, AttentionIsLeftToTheFusedKernel) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[2, 4]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]
const b: f32[4] = [1, 2, 3, 4]
input m: f32[1, 2]
q = MatMul(x, w) {} "query"
s = Add(q, b) {} "bias"
k = Transpose(s) {perm=[1, 0]} "turn"
a = MatMul(s, k) {} "scores"
c = Add(a, m) {} "mask"
p = Softmax(c) {axis=-1} "softmax"
y = MatMul(p, s) {} "context"
output y: f32[2, 4]
)")
                          .value();
  const auto source = [] {
    auto done = std::make_shared<bool>(false);
    return [done]() -> Result<std::optional<std::vector<Tensor>>> {
      if (std::exchange(*done, true)) return std::optional<std::vector<Tensor>>();
      return std::optional(std::vector<Tensor>{test::random_tensor({2, 4}, 1),
                                               Tensor::of<float>({1, 2}, {0, -10000})});
    };
  };
  const QuantizationPlan trt =
      plan_quantization(graph, source(), {.target = "tensorrt-11"}).value();
  EXPECT_FALSE(trt.node("mask")->quantized);
  EXPECT_FALSE(trt.tensor("m"));
  EXPECT_EQ(trt.tensor("p")->algorithm, "fixed");
  for (const char* node : {"query", "scores", "context"})
    EXPECT_TRUE(trt.node(node)->quantized) << node;
}

TEST(Glob, MatchesRunsAndSingles) {
  EXPECT_TRUE(glob_match("encoder.*/attn/q?", "encoder.11/attn/qk"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "a_b__b_c"));
  EXPECT_FALSE(glob_match("a*b", "a_b_"));
  EXPECT_FALSE(glob_match("?", ""));
}

} // namespace
} // namespace octet
