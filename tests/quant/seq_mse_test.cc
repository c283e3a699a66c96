// SPDX-License-Identifier: Apache-2.0
// Scales of weights that are chosen in the order of the network: against enumeration, against
// ranges of min-max on other data, in plans.
#include <cmath>
#include <functional>

#include "ops/evaluate.h"
#include "quant/apply.h"
#include "quant/prepare.h"
#include "quant/steps/step.h"
#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::calibration;
using test::planned;
using test::random_tensor;
using test::run_reference;
using test::with_weights;

/// Weights of which a few are large: ranges that hold them make all others coarse.
Graph layers_with_large_weights(std::ptrdiff_t draw = 0) {
  Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 6, 5, 5]
const a: f32[16, 3, 3, 3] = ?
const w1: f32[16, 40] = ?
const b1: f32[40] = ?
const w2: f32[12, 40] = ?
c = Conv(x, a) {group=2, pads=[1, 1, 1, 1]} "conv"
r = Relu(c) "relu"
m = GlobalAveragePool(r) "pool"
t = Flatten(m) "flatten"
h = MatMul(t, w1) "first"
hb = Add(h, b1) "bias"
e = Relu(hb) "relu2"
y = Gemm(e, w2) {transB=1} "second"
output y: f32[N, 12]
)");
  for (const char* name : {"a", "w1", "w2"}) {
    const ValueId id = *graph.find_value(name);
    std::vector<float> values = graph.constant(id)->to_floats().value();
    std::rotate(values.begin(), values.begin() + 7 * draw, values.end());
    for (float& v : values)
      v = v * v * v; // a heavier tail
    const Shape shape = graph.constant(id)->shape();
    graph.set_constant(id, Tensor::of<float>(shape, std::span<const float>(values)));
  }
  return graph;
}

OpenCalibration images() {
  return calibration({16, 6, 5, 5}, 6, 0, 1);
}

QuantizeOptions in_four_bits(std::vector<std::string> steps) {
  QuantizeOptions out;
  out.calibrator = MinMax{};
  out.weight_bits = 4;
  out.steps = std::move(steps);
  return out;
}

TEST(SequentialMseSteps, OutputsErrLessOnOtherData) {
  const Tensor x = random_tensor({80, 6, 5, 5}, 4711, 0, 1);
  constexpr int kNetworks = 5; // errors of layers make up for one another, or do not
  for (const bool per_channel : {true, false})
    for (const QuantMode mode : {QuantMode::kStatic, QuantMode::kDynamic, QuantMode::kWeightOnly})
      for (const char* format : {"", "int4/16", "int2/16"}) {
        SCOPED_TRACE(std::string(name(mode)) + " " + format + (per_channel ? "" : " per tensor"));
        if (*format != 0 && (!per_channel || mode == QuantMode::kDynamic)) continue;
        QuantizeOptions options = in_four_bits({});
        options.mode = mode;
        options.per_channel = per_channel;
        if (*format != 0) options.weights = parse_number_format(format).value();
        if (!per_channel) options.weight_bits = 3;
        double gain = 0;
        for (int draw = 0; draw < kNetworks; ++draw) {
          const Graph graph = layers_with_large_weights(draw);
          const Tensor wanted = run_reference(graph, x);
          options.steps = {};
          const Tensor plain =
              run_reference(quantize(graph, planned(graph, images(), options)).value(), x);
          options.steps = {"seq-mse"};
          const QuantizationPlan plan = planned(graph, images(), options);
          EXPECT_FALSE(plan.steps.empty());
          const Tensor chosen = run_reference(quantize(graph, plan).value(), x);
          gain += test::sqnr(wanted, chosen) - test::sqnr(wanted, plain);
          for (const PlanStep& step : plan.steps)
            EXPECT_LT(step.after, 0.99 * step.before) << step.id;
        }
        EXPECT_GT(gain / kNetworks, per_channel ? 3 : 0);
      }
}

/// With one layer, one scale and one input the error is that of the weights, and the best share can
/// be enumerated.
TEST(SequentialMseSteps, TakeTheBestOfAllShares) {
  int smaller = 0;
  for (const int bits : {2, 3, 4})
    for (int draw = 0; draw < 8; ++draw) {
      Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 1]
const w: f32[1, 64] = ?
y = MatMul(x, w) "layer"
output y: f32[N, 64]
)");
      std::vector<float> tailed =
          random_tensor({64}, static_cast<uint32_t>(draw)).to_floats().value();
      for (float& v : tailed)
        v = std::pow(v, static_cast<float>(draw % 4 + 1));
      const std::span<const float> w(tailed);
      graph.set_constant(*graph.find_value("w"), Tensor::of<float>({1, 64}, w));
      QuantizeOptions options = in_four_bits({"seq-mse"});
      options.mode = QuantMode::kWeightOnly;
      options.weight_bits = bits;
      options.per_channel = false;
      const QuantizationPlan plan = planned(graph, calibration({32, 1}, 2), options);
      const auto [lo, hi] = plan.tensor("w")->ranges.at(0);
      const double most = std::ldexp(1.0, bits - 1) - 1, top = std::max(hi, -lo);
      float best = 0;
      double least = INFINITY, all = 0;
      std::vector<float> shares = {1 + 0.5F / static_cast<float>(most)}; // min-max chose against it
      for (int share = 6; share <= 20; ++share)
        shares.push_back(static_cast<float>(share) / 20);
      for (const float share : shares) {
        const float largest = static_cast<float>(top) * share;
        const double part = static_cast<double>(largest) / top;
        const auto scale =
            static_cast<double>(static_cast<float>(part * std::max(hi / most, -lo / (most + 1))));
        all = 0; // of the planned range at last
        for (const float v : w) {
          const double q =
              std::clamp(std::nearbyint(static_cast<double>(v) / scale), -most - 1, most) * scale;
          all += (q - static_cast<double>(v)) * (q - static_cast<double>(v));
        }
        if (all < least) best = largest;
        least = std::min(least, all);
      }
      SCOPED_TRACE(fmt::format("{} bits, {}: {} for {}", bits, draw, least, all));
      if (plan.steps.empty()) {
        EXPECT_GT(least, 0.98 * 0.98 * all); // less than 1 % is not worth a step
        continue;
      }
      ASSERT_EQ(plan.steps.size(), 1U);
      const auto& step = std::get<SequentialMse>(plan.steps[0].kind);
      ASSERT_EQ(step.largest.count(), 1);
      EXPECT_FLOAT_EQ(static_cast<float>(step.largest.at(0)), best);
      ++smaller;
    }
  EXPECT_GT(smaller, 2);
}

TEST(SequentialMseSteps, TheFileHasTheirScalesAndCodesComeBehind) {
  const Graph graph = layers_with_large_weights();
  const QuantizationPlan plan =
      planned(graph, images(), in_four_bits({"seq-mse", "gptq", "correct-bias"}));
  const Graph file = quantize(graph, plan).value();
  int scales = 0, codes = 0;
  for (const PlanStep& step : plan.steps) {
    const std::string* node = changed_weights(step.kind);
    if (node == nullptr) continue;
    const Node& dequantize = *file.producer(file.node(*file.find_node(*node)).input(1));
    const Tensor& scale = *file.constant(dequantize.input(1));
    if (const auto* chosen = std::get_if<SequentialMse>(&step.kind)) {
      ++scales;
      ASSERT_EQ(scale.count(), chosen->largest.count());
      // The planned range in proportion: [lo, hi] with steps of max(hi / 7, -lo / 8).
      const TensorPlan& tensor =
          *plan.tensor(graph.value(graph.node(*graph.find_node(*node)).input(1)).name);
      for (int64_t i = 0; i < scale.count(); ++i) {
        const auto& [lo, hi] = tensor.ranges[static_cast<size_t>(i)];
        const double share = chosen->largest.at(i) / std::max(hi, -lo);
        EXPECT_NEAR(scale.at(i), share * std::max(hi / 7, -lo / 8), 1e-6 * scale.at(i));
        EXPECT_LE(share, 1.0000001 * 15 / 14); // half a step more
      }
      continue;
    }
    ++codes;
    EXPECT_NE(std::find(step.needs.begin(), step.needs.end(), "seq-mse/" + *node),
              step.needs.end());
    const Tensor& stored = *file.constant(dequantize.input(0));
    for (int64_t i = 0; i < stored.count(); ++i)
      ASSERT_EQ(stored.at(i), chosen_codes(step.kind)->codes.at(i)) << step.id << " " << i;
  }
  EXPECT_GE(scales, 2);
  EXPECT_GE(codes, 2);
}

TEST(SequentialMseSteps, ThePlanGivesTheSameFileAndIsChecked) {
  const Graph graph = layers_with_large_weights();
  QuantizeOptions options = in_four_bits({"seq-mse"});
  const QuantizationPlan plan = planned(graph, images(), options);
  options.threads = 3;
  EXPECT_EQ(planned(graph, images(), options).to_json(), plan.to_json());
  const QuantizationPlan back = QuantizationPlan::from_json(plan.to_json()).value();
  EXPECT_EQ(back.to_json(), plan.to_json());
  const uint64_t hash = quantize(graph, plan).value().content_hash();
  EXPECT_EQ(quantize(graph, back).value().content_hash(), hash);
  // Left out, the ranges are those that were observed.
  QuantizationPlan without = plan;
  ASSERT_TRUE(exclude_steps(without, {"seq-mse/*"}).ok());
  QuantizeOptions plain = in_four_bits({});
  EXPECT_EQ(quantize(graph, without).value().content_hash(),
            quantize(graph, planned(graph, images(), plain)).value().content_hash());
  const auto refused = [&](const std::function<void(SequentialMse&)>& edit) {
    QuantizationPlan edited = plan;
    edit(std::get<SequentialMse>(edited.steps[0].kind));
    const auto result = quantize(graph, edited);
    return result.ok() ? std::string() : result.error().text();
  };
  EXPECT_EQ(refused([](SequentialMse&) {}), "");
  EXPECT_NE(refused([](SequentialMse& s) { s.weight.node = "nobody"; }).find("nobody"),
            std::string::npos);
  EXPECT_NE(refused([](SequentialMse& s) { s.weight.input = 0; }).find("at input 0"),
            std::string::npos);
  EXPECT_NE(refused([](SequentialMse& s) {
              s.largest = Tensor::of<float>({2}, {1, 1});
            }).find("has 2 scales"),
            std::string::npos);
  EXPECT_NE(refused([](SequentialMse& s) {
              std::vector<float> all(static_cast<size_t>(s.largest.count()), -1.0F);
              s.largest = Tensor::of<float>(s.largest.shape(), std::span<const float>(all));
            }).find("hold -1"),
            std::string::npos);
}

} // namespace
} // namespace octet
