// SPDX-License-Identifier: Apache-2.0
// Batch normalization estimated again behind rounding: mean and variance against sums of the test,
// codes that stay, plans, and what else is in them.
#include <cmath>
#include <functional>

#include "ops/evaluate.h"
#include "quant/apply.h"
#include "quant/prepare.h"
#include "quant/rounding_learner.h"
#include "quant/statistics/channel_moments.h"
#include "quant/steps/step.h"
#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::calibration;
using test::FlippingLearner;
using test::planned;
using test::random_tensor;
using test::run_reference;
using test::with_weights;

/// Normalizations behind a window, a depthwise one, groups and a product, and a Conv without one.
Graph normalized() {
  Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 3, 6, 6]
const k1: f32[8, 3, 3, 3] = ?
const g1: f32[8] = ?
const b1: f32[8] = ?
const m1: f32[8] = ?
const v1: f32[8] = ?
const k2: f32[8, 1, 3, 3] = ?
const c2: f32[8] = ?
const g2: f32[8] = ?
const b2: f32[8] = ?
const m2: f32[8] = ?
const v2: f32[8] = ?
const k3: f32[6, 4, 1, 1] = ?
const k4: f32[10, 6] = ?
const c4: f32[10] = ?
const g4: f32[10] = ?
const b4: f32[10] = ?
const m4: f32[10] = ?
const v4: f32[10] = ?
const k5: f32[10, 4] = ?
z1 = Conv(x, k1) {pads=[1, 1, 1, 1]} "window"
n1 = BatchNormalization(z1, g1, b1, m1, v1) "norm1"
r1 = Relu(n1) "relu1"
z2 = Conv(r1, k2, c2) {group=8, pads=[1, 1, 1, 1]} "depthwise"
n2 = BatchNormalization(z2, g2, b2, m2, v2) {epsilon=0.01} "norm2"
r2 = Relu(n2) "relu2"
z3 = Conv(r2, k3) {group=2} "groups"
r3 = Relu(z3) "relu3"
p = GlobalAveragePool(r3) "pool"
f = Flatten(p) "flatten"
z4 = Gemm(f, k4, c4) {transB=1} "hidden"
n4 = BatchNormalization(z4, g4, b4, m4, v4) "norm4"
r4 = Relu(n4) "relu4"
y = MatMul(r4, k5) "last"
output y: f32[N, 4]
)");
  for (const char* name : {"v1", "v2", "v4", "g1", "g2", "g4"}) {
    const ValueId id = *graph.find_value(name);
    std::vector<float> values = graph.constant(id)->to_floats().value();
    for (float& v : values)
      v = 0.5F + std::fabs(v);
    graph.set_constant(
        id, Tensor::of<float>(graph.constant(id)->shape(), std::span<const float>(values)));
  }
  return graph;
}

constexpr int kBatches = 6, kBatch = 16;

OpenCalibration bn_data() {
  return calibration({kBatch, 3, 6, 6}, kBatches, -1, 1);
}

QuantizeOptions with_steps(int bits, std::vector<std::string> steps) {
  QuantizeOptions out{.calibrator = MinMax{}, .weight_bits = bits};
  out.steps = std::move(steps);
  return out;
}

struct Moments {
  std::vector<double> mean, variance;
};

/// Of a node's output over the calibration data, channel by channel: two passes in double.
Moments moments_of(Graph graph, const std::string& node) {
  graph.set_outputs({graph.node(*graph.find_node(node)).output(0)});
  graph.remove_dead();
  std::vector<Tensor> all;
  all.reserve(kBatches);
  for (int b = 0; b < kBatches; ++b)
    all.push_back(run_reference(
        graph, random_tensor({kBatch, 3, 6, 6}, 100 + static_cast<uint32_t>(b), -1, 1)));
  const int64_t channels = all[0].dim(1);
  const int64_t inner = all[0].count() / all[0].dim(0) / channels;
  Moments out{std::vector<double>(static_cast<size_t>(channels)),
              std::vector<double>(static_cast<size_t>(channels))};
  for (const bool second : {false, true})
    for (int64_t c = 0; c < channels; ++c) {
      const auto at = static_cast<size_t>(c);
      double sum = 0, count = 0;
      for (const Tensor& t : all)
        for (int64_t i = 0; i < t.count(); ++i) {
          if (i / inner % channels != c) continue;
          const double d = t.at(i) - (second ? out.mean[at] : 0);
          sum += second ? d * d : d;
          count += 1;
        }
      (second ? out.variance : out.mean)[at] = sum / count;
    }
  return out;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double out = 0;
  for (size_t c = 0; c < a.size(); ++c)
    out = std::max(out, std::fabs(a[c] - b[c]));
  return out;
}

TEST(ReestimatedBatchNorm, StatisticsAreThoseOfTheFloatNetworkAgain) {
  const Graph graph = normalized();
  const Graph prepared = prepare_for_quantization(graph).value();
  EXPECT_TRUE(test::nodes_of(prepared, "BatchNormalization").empty());
  for (const int bits : {2, 3, 8}) {
    SCOPED_TRACE(bits);
    const QuantizationPlan plan = planned(graph, bn_data(), with_steps(bits, {"reestimate-bn"}));
    ASSERT_EQ(plan.steps.size(), 3U);
    const Graph plain = quantize(graph, planned(graph, bn_data(), with_steps(bits, {}))).value();
    const Graph with = quantize(graph, plan).value();
    for (const PlanStep& step : plan.steps) {
      SCOPED_TRACE(step.id);
      const auto& norm = std::get<ReestimateBatchNorm>(step.kind);
      const Moments wanted = moments_of(prepared, norm.node), before = moments_of(plain, norm.node),
                    now = moments_of(with, norm.node);
      // The bias lies on the grid of sums, and the values before it moved a little once more.
      const double scale = std::sqrt(*std::ranges::max_element(wanted.variance));
      EXPECT_LT(largest_difference(now.mean, wanted.mean), (bits == 2 ? 0.06 : 0.02) * scale);
      EXPECT_LT(largest_difference(now.mean, wanted.mean),
                0.5 * largest_difference(before.mean, wanted.mean) + 1e-3 * scale);
      if (bits == 8) continue;
      for (size_t c = 0; c < now.variance.size(); ++c) {
        if (norm.factor.at(static_cast<int64_t>(c)) == 1) continue; // beyond what a factor may be
        EXPECT_NEAR(now.variance[c], wanted.variance[c], 0.05 * wanted.variance[c] + 0.03) << c;
      }
      EXPECT_LT(step.after, 0.5 * step.before);
    }
    const Tensor x = random_tensor({64, 3, 6, 6}, 4711, -1, 1);
    const Tensor y = run_reference(graph, x);
    if (bits == 3) { // in 2 bits outputs with the same moments need not be nearer
      EXPECT_GT(test::sqnr(y, run_reference(with, x)), test::sqnr(y, run_reference(plain, x)));
    }
  }
}

/// What a product multiplies with in a file: codes, and a scale for each output.
struct Stored {
  Tensor codes;
  std::vector<double> scales;
};
Stored stored(const Graph& file, const std::string& node) {
  const Node& dequantize = *file.producer(file.node(*file.find_node(node)).input(1));
  return {constant_value(file, dequantize.input(0)).value(),
          file.constant(dequantize.input(1))->to_doubles().value()};
}

TEST(ReestimatedBatchNorm, CodesStayAndScalesTakeTheFactors) {
  const Graph graph = normalized();
  for (const char* format : {"", "int4/16", "fp8-e4m3fn", "fp8-e5m2"})
    for (const char* target : {"octet", "tensorrt-10", "onnxruntime"})
      for (const char* codes : {"", "seq-mse", "gptq", "adaround"}) {
        SCOPED_TRACE(std::string(format) + " " + target + " " + codes);
        QuantizeOptions options = with_steps(*format != 0 ? 8 : 3, {});
        options.target = target;
        if (*format != 0) options.weights = parse_number_format(format).value();
        if (*codes != 0) options.steps.emplace_back(codes);
        const auto placement = find_placement(target).value();
        if (!make_plan(graph, *placement, bn_data(), options, 0).ok())
          continue; // not a format of it
        const Graph plain = quantize(graph, planned(graph, bn_data(), options)).value();
        options.steps.emplace_back("reestimate-bn");
        const QuantizationPlan plan = planned(graph, bn_data(), options);
        const Graph with = quantize(graph, plan).value();
        int found = 0;
        for (const PlanStep& step : plan.steps) {
          const auto* norm = std::get_if<ReestimateBatchNorm>(&step.kind);
          if (norm == nullptr) continue;
          ++found;
          const Stored before = stored(plain, norm->node), now = stored(with, norm->node);
          ASSERT_EQ(before.codes.count(), now.codes.count());
          for (int64_t i = 0; i < now.codes.count(); ++i)
            ASSERT_EQ(now.codes.at(i), before.codes.at(i)) << step.id << " " << i;
          // Scales in the order of outputs, or of outputs and then blocks, or (direct) none before.
          const auto outputs = static_cast<size_t>(norm->factor.count());
          ASSERT_EQ(now.scales.size() % outputs, 0U);
          const size_t parts = now.scales.size() / outputs;
          for (size_t s = 0; s < now.scales.size(); ++s) {
            const double scale = before.scales.size() == 1 ? before.scales[0] : before.scales[s];
            EXPECT_NEAR(now.scales[s], scale * norm->factor.at(static_cast<int64_t>(s / parts)),
                        1e-6 * now.scales[s]);
          }
          EXPECT_LT(step.after, step.before) << step.id;
        }
        EXPECT_EQ(found, 3);
      }
}

TEST(ReestimatedBatchNorm, OneScaleTakesNoFactors) {
  const Graph graph = normalized();
  QuantizeOptions options = with_steps(4, {"reestimate-bn"});
  options.per_channel = false;
  const QuantizationPlan plan = planned(graph, bn_data(), options);
  ASSERT_EQ(plan.steps.size(), 3U);
  for (const PlanStep& step : plan.steps) {
    const Tensor& factors = std::get<ReestimateBatchNorm>(step.kind).factor;
    for (int64_t c = 0; c < factors.count(); ++c)
      EXPECT_EQ(factors.at(c), 1);
    EXPECT_LT(step.after, step.before);
  }
  options.steps.clear();
  const QuantizationPlan plain = planned(graph, bn_data(), options);
  EXPECT_EQ(stored(quantize(graph, plan).value(), "window").scales,
            stored(quantize(graph, plain).value(), "window").scales);
}

TEST(ReestimatedBatchNorm, IsForNormalizationsThatWereFolded) {
  // No normalization; one whose product somebody else reads.
  const Graph read_twice = with_weights(R"(graph g opset(""=17)
input x: f32[N, 3, 6, 6]
const k: f32[4, 3, 3, 3] = ?
const g: f32[4] = [1, 2, 1, 2]
const b: f32[4] = ?
const m: f32[4] = ?
const v: f32[4] = [1, 2, 3, 4]
z = Conv(x, k) "window"
n = BatchNormalization(z, g, b, m, v) "norm"
y = Add(n, z) "sum"
output y: f32[N, 4, 4, 4]
)");
  EXPECT_TRUE(planned(read_twice, bn_data(), with_steps(4, {"reestimate-bn"})).steps.empty());
  // Left out by name.
  QuantizeOptions options = with_steps(4, {"reestimate-bn"});
  options.exclude_steps = {"reestimate-bn/depth*"};
  const QuantizationPlan plan = planned(normalized(), bn_data(), options);
  ASSERT_EQ(plan.steps.size(), 2U);
  for (const PlanStep& step : plan.steps)
    EXPECT_NE(step.id, "reestimate-bn/depthwise");
}

TEST(ReestimatedBatchNorm, StandsBesideAllOtherSteps) {
  const Graph graph = normalized();
  const Tensor x = random_tensor({64, 3, 6, 6}, 4711, -1, 1);
  const Tensor y = run_reference(graph, x);
  for (const std::string& other : step_names()) {
    if (other == "reestimate-bn") continue;
    SCOPED_TRACE(other);
    QuantizeOptions options = with_steps(3, {other});
    options.learn_rounding = FlippingLearner(4);
    const Graph without = quantize(graph, planned(graph, bn_data(), options)).value();
    options.steps.emplace_back("reestimate-bn");
    const QuantizationPlan plan = planned(graph, bn_data(), options);
    const Graph with = quantize(graph, plan).value();
    // Which sets the means alone, behind it; whose errors make up for one another within a block.
    if (other != "correct-bias" && other != "reconstruct") {
      EXPECT_GT(test::sqnr(y, run_reference(with, x)), test::sqnr(y, run_reference(without, x)));
    }
    options.threads = 3;
    options.batch_size = 5;
    EXPECT_EQ(planned(graph, bn_data(), options).to_json(), plan.to_json());
    const QuantizationPlan back = QuantizationPlan::from_json(plan.to_json()).value();
    EXPECT_EQ(back.to_json(), plan.to_json());
    EXPECT_EQ(quantize(graph, back).value().content_hash(), with.content_hash());
    // What training starts from computes the same.
    const Graph training = quantize(graph, plan, WeightStorage::kFloat).value();
    const Graph trained = finalize_quantization(training, plan).value();
    EXPECT_TRUE(run_reference(trained, x).identical(run_reference(with, x)));
  }
}

TEST(ReestimatedBatchNorm, IsChecked) {
  const Graph graph = normalized();
  const QuantizationPlan plan = planned(graph, bn_data(), with_steps(4, {"reestimate-bn"}));
  const auto refused = [&](const std::function<void(ReestimateBatchNorm&)>& edit) {
    QuantizationPlan edited = plan;
    edit(std::get<ReestimateBatchNorm>(edited.steps[0].kind));
    const auto result = quantize(graph, edited);
    return result.ok() ? std::string() : result.error().text();
  };
  EXPECT_EQ(refused([](ReestimateBatchNorm&) {}), "");
  EXPECT_NE(refused([](auto& s) { s.node = "nobody"; }).find("nobody"), std::string::npos);
  EXPECT_NE(refused([](auto& s) { s.node = "relu1"; }).find("no Conv or Gemm"), std::string::npos);
  EXPECT_NE(refused([](auto& s) {
              s.factor = Tensor::of<float>({2}, {1, 1});
            }).find("8 channels"),
            std::string::npos);
  EXPECT_NE(refused([](auto& s) {
              s.factor = Tensor::of<float>({8}, std::vector<float>{1, 1, 1, 0, 1, 1, 1, 1});
            }).find("factors hold 0"),
            std::string::npos);
  QuantizationPlan one_scale = plan;
  QuantizeOptions options = with_steps(4, {});
  options.per_channel = false;
  one_scale.tensors = planned(graph, bn_data(), options).tensors;
  EXPECT_NE(quantize(graph, one_scale).error().text().find("take no factor"), std::string::npos);
}

} // namespace
} // namespace octet
