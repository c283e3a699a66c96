// SPDX-License-Identifier: Apache-2.0
// Weights of fewer than 8 bits in int8: their steps count the lowest code, whatever takes their
// range or chooses among their codes, and in every form of a file.
#include <cmath>

#include "ops/evaluate.h"
#include "quant/qdq_writer.h"
#include "quant/rounding_learner.h"
#include "quant/scheme.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/export.h"
#include "octet/target.h"

namespace octet {
namespace {

using test::calibration;
using test::FlippingLearner;
using test::planned;
using test::random_tensor;
using test::run_reference;
using test::with_weights;

const Scheme kWeightsOf8Bits{DType::kInt8, true, true};

double highest_of(int bits) {
  return std::exp2(bits - 1) - 1;
}

TEST(FewBits, StepsHoldBothEndsOfTheRange) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> draw(-3, 3);
  for (int i = 0; i < 500; ++i) {
    double lo = draw(generator), hi = draw(generator);
    if (lo > hi) std::swap(lo, hi); // on one side of 0 too
    for (int bits = 2; bits <= 7; ++bits) {
      const double top = highest_of(bits);
      const auto wanted = static_cast<float>(std::max({hi / top, -lo / (top + 1), 0.0}));
      const Scheme few = with_bits(kWeightsOf8Bits, bits);
      EXPECT_EQ(parameters_for(few, Range{lo, hi}).scale, wanted) << bits << " " << lo << " " << hi;
      Scheme unsigned_codes = few;
      unsigned_codes.type = DType::kUint8;
      const QuantParameters p = parameters_for(unsigned_codes, Range{lo, hi});
      EXPECT_EQ(p.scale, wanted);
      EXPECT_EQ(p.zero_point, 1 << (bits - 1));
      // A plan that leaves the lowest code out says so.
      Scheme narrow = few;
      narrow.narrow = true;
      EXPECT_EQ(parameters_for(narrow, Range{lo, hi}).scale,
                static_cast<float>(std::max(std::fabs(lo), std::fabs(hi)) / top));
    }
    for (const bool narrow : {false, true}) {
      const Scheme all = with_bits(Scheme{DType::kInt8, true, narrow}, 8);
      EXPECT_EQ(all.narrow, narrow);
      EXPECT_EQ(parameters_for(all, Range{lo, hi}).scale,
                static_cast<float>(std::max(std::fabs(lo), std::fabs(hi)) / 127));
    }
  }
}

/// Scales of 16 bits: none is smaller, so nothing is clipped that was not, and codes stay.
TEST(FewBits, ScalesRoundedTo16BitsHoldTheRange) {
  std::mt19937 generator(8);
  std::uniform_real_distribution<double> draw(-3, 3);
  for (int i = 0; i < 300; ++i) {
    double lo = draw(generator), hi = draw(generator);
    if (lo > hi) std::swap(lo, hi);
    for (const Scheme& scheme :
         {with_bits(kWeightsOf8Bits, 4), with_bits(kWeightsOf8Bits, 2), kWeightsOf8Bits,
          scheme_of({DType::kInt4}, kWeightsOf8Bits), scheme_of({DType::kInt2}, kWeightsOf8Bits)})
      for (const DType type : {DType::kFloat16, DType::kBfloat16}) {
        QuantizationPlan plan;
        plan.tensors.push_back({.value = "w", .scheme = scheme, .ranges = {{lo, hi}}});
        const auto before = static_cast<double>(parameters_for(scheme, Range{lo, hi}).scale);
        round_scales(plan, type);
        const auto after =
            static_cast<double>(parameters_for(scheme, plan.tensors[0].ranges[0]).scale);
        EXPECT_EQ(Tensor::from_doubles(type, {}, std::vector<double>{after}).value().at(0), after);
        EXPECT_GE(after, before);
        EXPECT_LE(after, before * (type == DType::kFloat16 ? 1.001 : 1.01));
      }
  }
}

/// A channel of one weight has one number as its range, on either side of 0.
TEST(FewBits, RangesOfOneNumberAreRangesAfterScalesWereRounded) {
  std::mt19937 generator(9);
  std::uniform_real_distribution<float> draw(-3, 3);
  for (int i = 0; i < 300; ++i) {
    const auto value = static_cast<double>(draw(generator));
    for (const Scheme& scheme : {kWeightsOf8Bits, with_bits(kWeightsOf8Bits, 4),
                                 scheme_of({DType::kInt4}, kWeightsOf8Bits)})
      for (const DType type : {DType::kFloat16, DType::kBfloat16}) {
        QuantizationPlan plan;
        plan.tensors.push_back({.value = "w", .scheme = scheme, .ranges = {{value, value}}});
        round_scales(plan, type);
        const Range& range = plan.tensors[0].ranges[0];
        EXPECT_LE(range.lo, range.hi) << value;
        EXPECT_GT(std::min(range.lo / value, range.hi / value), 0.999) << value;
        const auto scale = static_cast<double>(parameters_for(scheme, range).scale);
        EXPECT_EQ(Tensor::from_doubles(type, {}, std::vector<double>{scale}).value().at(0), scale);
      }
  }
}

/// Weights of all sides: two with both signs, one above 0, one below, one without anything, one with
/// a single large number below.
Graph sided() {
  Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 4, 5, 5]
const k: f32[6, 4, 3, 3] = ?
const c: f32[6] = ?
const w: f32[6, 6] = ?
const b: f32[6] = ?
const v: f32[5, 6] = ?
const d: f32[5] = ?
p = Conv(x, k, c) {pads=[1, 1, 1, 1]} "conv"
r = Relu(p) "relu"
m = GlobalAveragePool(r) "pool"
f = Flatten(m) "flatten"
h = Gemm(f, w, b) "first"
s = Relu(h) "relu2"
y = Gemm(s, v, d) {transB=1} "second"
output y: f32[N, 5]
)");
  for (const auto& [name, inner, axis] :
       {std::tuple("k", int64_t{36}, int64_t{0}), std::tuple("w", int64_t{1}, int64_t{1}),
        std::tuple("v", int64_t{6}, int64_t{0})}) {
    const ValueId id = *graph.find_value(name);
    const Shape shape = graph.constant(id)->shape();
    std::vector<float> values = graph.constant(id)->to_floats().value();
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t channel = static_cast<int64_t>(i) / inner % shape[static_cast<size_t>(axis)];
      if (channel == 2) values[i] = std::fabs(values[i]);
      if (channel == 3) values[i] = -std::fabs(values[i]);
      if (channel == 4) values[i] = 0;
      if (channel == 1 && static_cast<int64_t>(i) % 5 == 0) values[i] = -4;
    }
    graph.set_constant(id, Tensor::of<float>(shape, std::span<const float>(values)));
  }
  return graph;
}

OpenCalibration sided_data() {
  return calibration({8, 4, 5, 5}, 4, 0, 1);
}

TEST(FewBits, EveryCalibratorAndStepTakesThem) {
  const Graph graph = sided();
  const Tensor x = random_tensor({6, 4, 5, 5}, 31, 0, 1);
  const std::vector<Calibrator> calibrators = {MinMax{}, MovingAverage{0.5}, Percentile{99.0},
                                               Mse{}};
  std::vector<std::string> steps = step_names();
  steps.emplace_back();
  for (const Calibrator& calibrator : calibrators)
    for (const int bits : {2, 4, 7})
      for (const bool per_channel : {true, false})
        for (const std::string& step : steps) {
          SCOPED_TRACE(fmt::format("{} {} bits {} {}", name(calibrator), bits,
                                   per_channel ? "channels" : "tensor", step));
          QuantizeOptions options{.calibrator = MinMax{},
                                  .weight_calibrator = calibrator,
                                  .weight_bits = bits,
                                  .per_channel = per_channel};
          if (!step.empty()) options.steps = {step};
          options.learn_rounding = FlippingLearner(4);
          const QuantizationPlan plan = planned(graph, sided_data(), options);
          const Graph file = quantize(graph, plan).value();
          EXPECT_EQ(quantize(graph, QuantizationPlan::from_json(plan.to_json()).value())
                        .value()
                        .content_hash(),
                    file.content_hash());
          for (const TensorPlan& tensor : plan.tensors) {
            for (const Range& range : tensor.ranges)
              EXPECT_TRUE(std::isfinite(range.lo) && range.lo <= range.hi) << tensor.value;
            if (tensor.value == "x" || !file.find_value(tensor.value + "_quantized")) continue;
            const Tensor* codes = file.constant(*file.find_value(tensor.value + "_quantized"));
            if (codes == nullptr) continue;
            EXPECT_FALSE(tensor.scheme.narrow);
            for (int64_t i = 0; i < codes->count(); ++i) {
              EXPECT_LE(codes->at(i), highest_of(bits));
              EXPECT_GE(codes->at(i), -highest_of(bits) - 1);
            }
          }
          const Tensor y = run_reference(file, x);
          for (int64_t i = 0; i < y.count(); ++i)
            EXPECT_TRUE(std::isfinite(y.at(i)));
        }
}

TEST(FewBits, TargetsHaveTheLowestCodeAndNoZeroPoints) {
  const Graph graph = sided();
  const Tensor x = random_tensor({16, 4, 5, 5}, 32, 0, 1);
  for (const char* target : {"tensorrt-8.6", "tensorrt-10", "onnxruntime", "octet"})
    for (const Calibrator& calibrator : {Calibrator{MinMax{}}, Calibrator{Mse{}}}) {
      SCOPED_TRACE(std::string(target) + " " + name(calibrator));
      const QuantizationPlan plan = planned(graph, sided_data(),
                                            {.target = target,
                                             .calibrator = MinMax{},
                                             .weight_calibrator = calibrator,
                                             .weight_bits = 4});
      const Graph file = quantize(graph, plan).value();
      EXPECT_TRUE(check(file, target).value().empty());
      int lowest = 0;
      for (const char* node : {"conv", "first", "second"}) {
        const Node& dequantize = *file.producer(file.node(*file.find_node(node)).input(1));
        ASSERT_TRUE(dequantize.is("DequantizeLinear"));
        const Tensor& zeros = *file.constant(dequantize.input(2));
        for (int64_t i = 0; i < zeros.count(); ++i)
          EXPECT_EQ(zeros.at(i), 0);
        const Tensor codes = constant_value(file, dequantize.input(0)).value();
        const Tensor real = constant_value(file, dequantize.output(0)).value();
        const Node& in_float = graph.node(*graph.find_node(node));
        const Tensor& weight = *graph.constant(in_float.input(1));
        const std::vector<double> scales = file.constant(dequantize.input(1))->to_doubles().value();
        const TensorPlan& tensor = *plan.tensor(graph.value(in_float.input(1)).name);
        const int64_t axis = *tensor.axis;
        int64_t inner = 1;
        for (int64_t d = axis + 1; d < weight.rank(); ++d)
          inner *= weight.dim(d);
        for (int64_t i = 0; i < codes.count(); ++i) {
          EXPECT_LE(codes.at(i), 7);
          EXPECT_GE(codes.at(i), -8);
          lowest += codes.at(i) == -8 ? 1 : 0;
          const double scale = scales[static_cast<size_t>(i / inner % weight.dim(axis))];
          const double nearest = std::clamp(weight.at(i) / scale, -8.0, 7.0);
          EXPECT_LE(std::fabs(codes.at(i) - nearest), 0.500001);
          EXPECT_NEAR(real.at(i), codes.at(i) * scale, 1e-6 * std::fabs(real.at(i)));
        }
      }
      EXPECT_GT(lowest, 0);
      EXPECT_GT(test::sqnr(run_reference(graph, x), run_reference(file, x)), 10);
    }
}

} // namespace
} // namespace octet
