// SPDX-License-Identifier: Apache-2.0
// Number formats: their names, and what plans and files make of them.
#include <cmath>
#include <set>

#include "core/codec.h"
#include "ops/qdq/site.h"
#include "quant/scheme.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/number_format.h"
#include "octet/session.h"
#include "octet/target.h"

namespace octet {
namespace {

using test::nodes_of;
using test::planned;
using test::random_tensor;
using test::with_weights;

NumberFormat format(const char* text) {
  return parse_number_format(text).value();
}

/// Two products with a bias, a function between them, and an addition.
Graph two_products() {
  return with_weights(R"(graph g opset(""=17)
input x: f32[N, 40]
const w1: f32[40, 24] = ?
const b1: f32[24] = ?
const w2: f32[8, 24] = ?
const b2: f32[8] = ?
h = MatMul(x, w1) "first"
hb = Add(h, b1) "bias"
r = Relu(hb) "relu"
y = Gemm(r, w2, b2) {transB=1} "second"
output y: f32[N, 8]
)");
}

OpenCalibration data() {
  return test::calibration({16, 40}, 4);
}

/// All that the file holds of one weight.
struct Weight {
  const Tensor* codes;
  qdq::Grid grid;
  std::vector<double> values; ///< what DQ makes of it
};
Weight weight_of(const Graph& graph, const char* product) {
  const Node& node = graph.node(*graph.find_node(product));
  constexpr qdq::Reading kAny{.most = qdq::Reading::Most::kAny};
  const auto site = qdq::read_dequantize(graph, node.input(1), kAny);
  EXPECT_TRUE(site) << product;
  const Tensor& codes = *graph.constant(site->codes);
  const QuantLayout at = site->grid.layout(codes.shape());
  Weight out{&codes, site->grid, {}};
  for (int64_t i = 0; i < codes.count(); ++i) {
    const int64_t o = i / (at.inner * at.axis_size), a = i / at.inner % at.axis_size;
    const int64_t s = at.scale_index(o, a, i % at.inner);
    out.values.push_back((codes.at(i) - site->grid.zero_at(s)) * site->grid.scale_at(s));
  }
  return out;
}

/// What octet makes of the file: bit for bit what the reference makes of its operators, and of the
/// file as it says but for the order of sums.
Tensor outputs_of(const Graph& graph, const Tensor& x) {
  auto session = Session::create(graph, {.keep_weights = true});
  EXPECT_TRUE(session.ok()) << session.error().text();
  Tensor native = session->run(std::vector<Tensor>{x}).value()[0];
  EXPECT_TRUE(native.identical(test::run_reference(session->lowered(), x)));
  EXPECT_GT(test::sqnr(test::run_reference(graph, x), native), 90); // sums in another order
  return native;
}

TEST(NumberFormat, NamesAreReadBack) {
  std::set<std::string> met;
  for (const std::string_view known : number_format_names()) {
    const NumberFormat parsed = format(std::string(known).c_str());
    EXPECT_EQ(name(parsed), known);
    EXPECT_TRUE(met.insert(name(parsed)).second);
  }
  for (const char* text : {"int4/32", "int2/64", "int8/128", "fp8-e4m3fn/128"})
    EXPECT_EQ(name(format(text)), text);
  EXPECT_EQ(format("mxfp4").block, 32);
  EXPECT_EQ(format("nvfp4").block, 16);
  EXPECT_EQ(first_opset(format("int8")), 13);
  EXPECT_EQ(first_opset(format("int8/32")), 21);
  EXPECT_EQ(first_opset(format("fp8-e4m3fn")), 19);
  EXPECT_EQ(first_opset(format("int4")), 21);
  EXPECT_EQ(first_opset(format("int2")), 25);
  const struct {
    const char *text, *part;
  } wrong[] = {{"int5", "there are int8"},       {"fp8-e4m3", "did you mean \"fp8-e4m3fn\"?"},
               {"int4/8", "16 to 1024"},         {"int4/", "16 to 1024"},
               {"int16/32", "has no blocks"},    {"mxfp4/32", "blocks of 32, and no others"},
               {"fp8-e3m4", "ONNX has no such"}, {"", "there are int8"}};
  for (const auto& w : wrong) {
    const auto parsed = parse_number_format(w.text);
    ASSERT_FALSE(parsed.ok()) << w.text;
    EXPECT_NE(parsed.error().text().find(w.part), std::string::npos) << parsed.error().text();
  }
}

TEST(NumberFormat, Fp8ScalesReachTheLargestFiniteNumber) {
  const Graph graph = two_products();
  const struct {
    const char* name;
    DType type;
    double max;
  } formats[] = {{"fp8-e4m3fn", DType::kFloat8E4M3FN, 448},
                 {"fp8-e4m3fnuz", DType::kFloat8E4M3FNUZ, 240},
                 {"fp8-e5m2", DType::kFloat8E5M2, 57344},
                 {"fp8-e5m2fnuz", DType::kFloat8E5M2FNUZ, 57344}};
  for (const auto& f : formats) {
    SCOPED_TRACE(f.name);
    QuantizeOptions options;
    options.weights = options.activations = format(f.name);
    options.direct_weights = options.direct_activations = false;
    const QuantizationPlan plan = planned(graph, data(), options);
    const Graph file = quantize(graph, plan).value();
    EXPECT_EQ(file.opset(), 19);
    EXPECT_GE(file.info.ir_version, 9);
    for (const char* product : {"first", "second"}) {
      const Weight w = weight_of(file, product);
      EXPECT_EQ(w.codes->type(), f.type);
      EXPECT_EQ(w.grid.count(), product == std::string("first") ? 24 : 8);
      const Node& node = file.node(*file.find_node(product));
      const auto x = qdq::read_dequantize(file, node.input(0));
      ASSERT_TRUE(x);
      EXPECT_EQ(x->grid.codes, f.type);
      EXPECT_TRUE(x->grid.per_tensor());
    }
    const TensorPlan& w1 = *plan.tensor("w1");
    const auto parameters = parameters_for(w1.scheme, w1.ranges);
    for (size_t c = 0; c < w1.ranges.size(); ++c)
      EXPECT_EQ(parameters[c].scale,
                static_cast<float>(std::max(-w1.ranges[c].lo, w1.ranges[c].hi) / f.max));
    const Tensor x = random_tensor({7, 40}, 9);
    const double rest = test::sqnr(test::run_reference(graph, x), outputs_of(file, x));
    EXPECT_GT(rest, f.max > 1000 ? 16 : 22); // two bits of mantissa, or three
    // The biases are what they were: no grid of sums is theirs.
    EXPECT_TRUE(
        file.constant(*file.find_value("b2"))->identical(*graph.constant(*graph.find_value("b2"))));
  }
}

TEST(NumberFormat, E5m2IsTakenAsItIsUnlessACalibratorIsNamed) {
  const Graph graph = two_products();
  QuantizeOptions options;
  options.weights = options.activations = format("fp8-e5m2");
  const QuantizationPlan direct = planned(graph, data(), options);
  for (const TensorPlan& tensor : direct.tensors) {
    EXPECT_EQ(tensor.algorithm, "direct");
    EXPECT_EQ(parameters_for(tensor.scheme, tensor.ranges)[0].scale, 1.0F);
    EXPECT_FALSE(tensor.axis);
  }
  const Graph file = quantize(graph, direct).value();
  const Tensor& codes = *weight_of(file, "first").codes;
  const Tensor& w1 = *graph.constant(*graph.find_value("w1"));
  for (int64_t i = 0; i < w1.count(); ++i)
    EXPECT_EQ(codes.at(i), decode(kE5M2, encode(kE5M2, w1.at(i))));
  options.layers = {{.pattern = "second", .calibrator = MinMax{}}};
  const QuantizationPlan named = planned(graph, data(), options);
  EXPECT_EQ(named.tensor("x")->algorithm, "direct");
  EXPECT_EQ(named.tensor("r")->algorithm, "min-max");
  EXPECT_NE(parameters_for(named.tensor("r")->scheme, named.tensor("r")->ranges)[0].scale, 1.0F);
}

TEST(NumberFormat, LayersMixFormats) {
  const Graph graph = two_products();
  QuantizeOptions options;
  options.layers = {
      {.pattern = "first", .weights = format("fp8-e5m2"), .activations = format("fp8-e4m3fn")},
      {.pattern = "second", .weights = format("int4/16"), .activations = format("float")}};
  const QuantizationPlan plan = planned(graph, data(), options);
  EXPECT_EQ(plan.tensor("x")->scheme.type, DType::kFloat8E4M3FN);
  EXPECT_EQ(plan.tensor("w1")->scheme.type, DType::kFloat8E5M2);
  EXPECT_EQ(plan.tensor("w2")->scheme.type, DType::kInt4);
  EXPECT_EQ(plan.tensor("r"), nullptr);
  EXPECT_EQ(plan.node("second")->rule, Placed::kWeightOnly);
  const Graph file = quantize(graph, plan).value();
  EXPECT_EQ(file.opset(), 21);
  const Tensor x = random_tensor({5, 40}, 4);
  EXPECT_GT(test::sqnr(test::run_reference(graph, x), outputs_of(file, x)), 12);
  const auto again = QuantizationPlan::from_json(plan.to_json());
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->to_json(), plan.to_json());
  EXPECT_EQ(quantize(graph, *again).value().content_hash(), file.content_hash());

  options.layers = {{.pattern = "first", .weights = format("float")}};
  EXPECT_EQ(planned(graph, data(), options).node("first")->rule, Placed::kExcluded);
}

TEST(NumberFormat, AValueHasOneFormat) {
  const Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 16]
const w1: f32[16, 8] = ?
const w2: f32[16, 8] = ?
a = MatMul(x, w1) "one"
b = MatMul(x, w2) "two"
y = Add(a, b) "sum"
output y: f32[N, 8]
)");
  QuantizeOptions options;
  options.layers = {{.pattern = "one", .activations = format("fp8-e4m3fn")}};
  const auto placement = find_placement("octet").value();
  const auto plan = make_plan(graph, *placement, test::calibration({4, 16}, 2), options, 0);
  ASSERT_FALSE(plan.ok());
  const std::string text = plan.error().text();
  EXPECT_NE(text.find("\"x\" is stored once"), std::string::npos) << text;
  EXPECT_NE(text.find("fp8-e4m3fn"), std::string::npos);
  EXPECT_NE(text.find("int8"), std::string::npos);
  options.layers.push_back({.pattern = "two", .activations = format("fp8-e4m3fn")});
  EXPECT_TRUE(make_plan(graph, *placement, test::calibration({4, 16}, 2), options, 0).ok());
}

TEST(NumberFormat, BlocksOfWeightsLieAlongTheSum) {
  const Graph graph = two_products();
  const struct {
    const char* name;
    DType type;
    int64_t block, opset;
    double most; ///< the largest code; of fewer than 8 bits the lowest is one further from 0, and
                 ///< the extreme may be half a step beyond either
  } formats[] = {{"int4/16", DType::kInt4, 16, 21, 7},
                 {"int4/32", DType::kInt4, 32, 21, 7}, // 40 = 32 + 8, and 24 < 32
                 {"int4", DType::kInt4, 0, 21, 7},
                 {"uint4/16", DType::kUint4, 16, 21, 7},
                 {"int8/16", DType::kInt8, 16, 21, 127},
                 {"int2/16", DType::kInt2, 16, 25, 1},
                 {"fp8-e4m3fn/16", DType::kFloat8E4M3FN, 16, 21, 448}};
  for (const auto& f : formats) {
    SCOPED_TRACE(f.name);
    QuantizeOptions options;
    options.mode = QuantMode::kWeightOnly;
    options.weights = format(f.name);
    const QuantizationPlan plan = planned(graph, data(), options);
    const Graph file = quantize(graph, plan).value();
    EXPECT_EQ(file.opset(), f.opset);
    const Weight first = weight_of(file, "first"), second = weight_of(file, "second");
    EXPECT_EQ(first.codes->type(), f.type);
    EXPECT_EQ(static_cast<int64_t>(first.codes->bytes().size()),
              bytes_for(f.type, int64_t{40} * 24));
    EXPECT_EQ(first.grid.block, f.block);
    if (f.block > 0) {
      EXPECT_EQ(first.grid.scale.shape(), (Shape{(40 + f.block - 1) / f.block, 24}));
      EXPECT_EQ(second.grid.scale.shape(), (Shape{8, (24 + f.block - 1) / f.block}));
    } else {
      EXPECT_EQ(first.grid.scale.shape(), (Shape{24}));
    }
    const Tensor& w = *graph.constant(*graph.find_value("w1"));
    const auto scale = first.grid.scale;
    const int64_t block = f.block > 0 ? f.block : 40;
    for (int64_t n = 0; n < 24; ++n)
      for (int64_t begin = 0; begin < 40; begin += block) {
        double top = 0, bottom = 0;
        for (int64_t k = begin; k < std::min<int64_t>(begin + block, 40); ++k) {
          top = std::max(top, w.at(k * 24 + n));
          bottom = std::max(bottom, -w.at(k * 24 + n));
        }
        const double s = scale.at(begin / block * 24 + n);
        const double lowest = bits(f.type) < 8 ? f.most + 1 : f.most;
        const auto step = [&](double beyond) {
          return std::max(top / (f.most + beyond), bottom / (lowest + beyond));
        };
        EXPECT_TRUE(s == static_cast<double>(static_cast<float>(step(0))) ||
                    (bits(f.type) < 8 && std::fabs(s / step(0.5) - 1) < 1e-6))
            << s << ", not " << step(0) << " or " << step(0.5);
        for (int64_t k = begin; k < std::min<int64_t>(begin + block, 40); ++k) {
          const double error =
              std::fabs(first.values[static_cast<size_t>(k * 24 + n)] - w.at(k * 24 + n));
          EXPECT_LE(error, (is_integer(f.type) ? 0.5001 : 16) * s) << k << " " << n;
        }
      }
    const Tensor x = random_tensor({3, 40}, 2);
    EXPECT_GT(test::sqnr(test::run_reference(graph, x), outputs_of(file, x)), f.most == 1 ? 0 : 14);
    const auto again = QuantizationPlan::from_json(plan.to_json());
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(quantize(graph, *again).value().content_hash(), file.content_hash());
  }
}

TEST(NumberFormat, MseOfNumbersOnOneSideOfZeroUsesTheCodesOfThatSide) {
  const Scheme scheme{.type = DType::kInt4, .symmetric = true, .bits = 4};
  for (const float sign : {-1.0F, 1.0F}) {
    Observer observer = Observer::create(Mse{}, scheme, std::nullopt).value();
    const std::vector<float> values = {sign * 0.5F, sign * 0.48F, sign * 0.47F, sign * 0.45F};
    ASSERT_TRUE(observer.observe(Tensor::of<float>({4}, std::span<const float>(values))).ok());
    const Range range = observer.ranges().value().at(0);
    EXPECT_LE(range.lo, range.hi) << sign;
    const double codes = sign < 0 ? 8 : 7;
    EXPECT_NEAR(static_cast<double>(parameters_for(scheme, range).scale) * codes, 0.475, 0.03)
        << sign;
  }
}

TEST(NumberFormat, ClippedBlocksErrLess) {
  const Graph graph = two_products();
  const auto squares = [&](const Calibrator& calibrator) {
    QuantizeOptions options;
    options.mode = QuantMode::kWeightOnly;
    options.weights = format("int4/32");
    options.weight_calibrator = calibrator;
    const Graph file = quantize(graph, planned(graph, data(), options)).value();
    const Weight stored = weight_of(file, "first");
    const Tensor& w = *graph.constant(*graph.find_value("w1"));
    double sum = 0;
    for (int64_t i = 0; i < w.count(); ++i)
      sum += std::pow(stored.values[static_cast<size_t>(i)] - w.at(i), 2);
    return sum;
  };
  EXPECT_LT(squares(Mse{}), squares(MinMax{}));
}

TEST(NumberFormat, ConvolutionsHaveBlocksOfChannels) {
  const Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 20, 5, 5]
const w: f32[6, 20, 3, 3] = ?
y = Conv(x, w) {kernel_shape=[3, 3]} "conv"
output y: f32[N, 6, 3, 3]
)");
  QuantizeOptions options;
  options.mode = QuantMode::kWeightOnly;
  options.weights = format("int4/16");
  const Graph file =
      quantize(graph, planned(graph, test::calibration({1, 20, 5, 5}, 1), options)).value();
  const Weight w = weight_of(file, "conv");
  EXPECT_EQ(w.grid.scale.shape(), (Shape{6, 2, 3, 3}));
  const Tensor x = random_tensor({2, 20, 5, 5}, 2);
  EXPECT_GT(test::sqnr(test::run_reference(graph, x), outputs_of(file, x)), 14);
}

TEST(NumberFormat, SixteenBitActivationsCostNothing) {
  const Graph graph = two_products();
  QuantizeOptions options;
  options.activations = format("int16");
  const Graph file = quantize(graph, planned(graph, data(), options)).value();
  EXPECT_EQ(file.opset(), 21);
  const Node& node = file.node(*file.find_node("first"));
  const auto codes = qdq::read_dequantize(file, node.input(0));
  ASSERT_TRUE(codes);
  EXPECT_EQ(codes->grid.codes, DType::kInt16);
  EXPECT_EQ(weight_of(file, "first").codes->type(), DType::kInt8);
  const Tensor x = random_tensor({16, 40}, 101);
  QuantizeOptions weights_only = options;
  weights_only.activations.reset();
  weights_only.mode = QuantMode::kWeightOnly;
  const Graph float_activations = quantize(graph, planned(graph, data(), weights_only)).value();
  // Beside the weights' error that of 16 bits is not to be seen.
  EXPECT_GT(test::sqnr(outputs_of(float_activations, x), outputs_of(file, x)), 80);
}

/// TensorRT takes blocks that divide one of the last two axes: a kernel's window is behind them, 40
/// are two and a half, and 81 numbers of 4 bits no whole bytes.
TEST(NumberFormat, BlocksGoWhereTheTargetTakesThem) {
  const Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 3, 8, 4]
const k: f32[3, 3, 3, 3] = ?
const l: f32[4, 3, 3, 3] = ?
const w: f32[64, 40] = ?
const v: f32[40, 6] = ?
a = Conv(x, k) {pads=[1, 1, 1, 1]} "odd"
c = Conv(a, l) {pads=[1, 0, 1, 0]} "even"
f = Flatten(c) "flatten"
m = MatMul(f, w) "whole"
y = MatMul(m, v) "rest"
output y: f32[N, 6]
)");
  QuantizeOptions options;
  options.mode = QuantMode::kWeightOnly;
  options.target = "tensorrt-10";
  options.weights = format("int4/32");
  const OpenCalibration data = test::calibration({2, 3, 8, 4}, 1);
  const QuantizationPlan plan = planned(graph, data, options);
  const Graph file = quantize(graph, plan).value();
  EXPECT_EQ(weight_of(file, "odd").codes->type(), DType::kInt8);
  EXPECT_EQ(weight_of(file, "odd").grid.scale.shape(), (Shape{3}));
  EXPECT_EQ(weight_of(file, "even").codes->type(), DType::kInt4);
  EXPECT_EQ(weight_of(file, "even").grid.scale.shape(), (Shape{4}));
  EXPECT_EQ(weight_of(file, "whole").grid.scale.shape(), (Shape{2, 40}));
  EXPECT_EQ(weight_of(file, "rest").codes->type(), DType::kInt4);
  EXPECT_EQ(weight_of(file, "rest").grid.scale.shape(), (Shape{6}));
  EXPECT_NE(plan.node("odd")->why.find("int8 without blocks"), std::string::npos);
  EXPECT_NE(plan.node("rest")->why.find("int4 without blocks"), std::string::npos);
  EXPECT_EQ(plan.node("whole")->why.find("without blocks"), std::string::npos);
  EXPECT_TRUE(accepted(check(file, "tensorrt-10").value()));
  options.target = "octet"; // cuts any axis, the last block short
  const Graph own = quantize(graph, planned(graph, data, options)).value();
  EXPECT_EQ(weight_of(own, "rest").grid.scale.shape(), (Shape{2, 6}));
  options.target = "tensorrt-10";
  options.layers = {{.pattern = "even", .weights = format("int4/32")}};
  const auto placement = find_placement(options.target).value();
  const auto refused = make_plan(graph, *placement, data, options, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("choose another size"), std::string::npos);
}

TEST(NumberFormat, TargetsModesAndStepsRefuseWhatTheyDoNotTake) {
  const Graph graph = two_products();
  const auto text = [&](const QuantizeOptions& options) {
    const auto placement = find_placement(options.target).value();
    const auto plan = make_plan(graph, *placement, data(), options, 0);
    return plan.ok() ? std::string() : plan.error().text();
  };
  const auto with = [&](const char* target, const char* weights, const char* activations) {
    QuantizeOptions options;
    options.target = target;
    if (*weights != 0) options.weights = format(weights);
    if (*activations != 0) options.activations = format(activations);
    return text(options);
  };
  EXPECT_EQ(with("octet", "fp8-e5m2", "fp8-e4m3fn"), "");
  EXPECT_EQ(with("onnxruntime", "fp8-e4m3fn", "fp8-e4m3fn"), "");
  EXPECT_EQ(with("tensorrt-10", "fp8-e4m3fn", "fp8-e4m3fn"), "");
  EXPECT_NE(with("tensorrt-8.6", "fp8-e4m3fn", "").find("it takes int8"), std::string::npos);
  EXPECT_NE(with("tensorrt-10", "fp8-e5m2", "").find("it takes int8, fp8-e4m3fn, int4"),
            std::string::npos);
  EXPECT_NE(with("tensorrt-10", "", "int4").find("takes no activations in int4"),
            std::string::npos);
  EXPECT_NE(with("tensorrt-10", "", "uint8").find("takes no activations in uint8"),
            std::string::npos);
  EXPECT_NE(with("onnxruntime-1.17", "int4/32", "").find("reads up to 20"), std::string::npos);
  EXPECT_NE(with("octet", "", "int4/32").find("blocks are for weights"), std::string::npos);
  QuantizeOptions options;
  options.mode = QuantMode::kWeightOnly;
  options.activations = format("fp8-e4m3fn");
  EXPECT_NE(text(options).find("not for the weight-only mode"), std::string::npos);
  options = {};
  options.weights = format("fp8-e4m3fn");
  options.steps = {"smooth"};
  EXPECT_NE(text(options).find("steps of one size"), std::string::npos);
  options.steps.clear();
  options.activations = format("fp8-e4m3fn");
  options.calibrator = Entropy{};
  EXPECT_NE(text(options).find("128 levels"), std::string::npos);
}

} // namespace
} // namespace octet
