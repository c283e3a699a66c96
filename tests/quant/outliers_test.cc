// SPDX-License-Identifier: Apache-2.0
// Outlier channels in products of their own: the float network stays, the right channels are found,
// and files of every target err less on other data.
#include <cmath>
#include <functional>

#include "quant/prepare.h"
#include "quant/statistics/row_sample.h"
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

/// A norm whose gain is large in two channels, read by two products and a sum, of which one ends in
/// an output of the network and one in a product of rows.
Graph encoder_with_outliers(float gain_of_two = 60) {
  Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, L, 48]
const gain: f32[48] = ?
const shift: f32[48] = ?
const wq: f32[48, 20] = ?
const wu: f32[48, 64] = ?
const bu: f32[64] = ?
const wd: f32[64, 48] = ?
n = LayerNormalization(x, gain, shift) "norm"
q = MatMul(n, wq) "query"
u = MatMul(n, wu) "up"
ub = Add(u, bu) "up_bias"
r = Relu(ub) "relu"
d = MatMul(r, wd) "down"
y = Add(d, n) "residual"
output q: f32[N, L, 20]
output y: f32[N, L, 48]
)");
  std::vector<float> gain(48, 1.0F);
  gain[5] = gain_of_two;
  gain[31] = -gain_of_two;
  graph.set_constant(*graph.find_value("gain"),
                     Tensor::of<float>({48}, std::span<const float>(gain)));
  return graph;
}

OpenCalibration encoder_data() {
  return calibration({8, 6, 48}, 6);
}

QuantizeOptions split_options(const char* target = "octet") {
  QuantizeOptions out;
  out.target = target;
  out.calibrator = MinMax{};
  out.steps = {"outliers"};
  return out;
}

std::vector<Tensor> all_outputs(const Graph& graph, const Tensor& x) {
  return make_reference_executor(graph).value()->run(std::vector<Tensor>{x}).value();
}

const Outliers& split_of(const QuantizationPlan& plan) {
  return std::get<Outliers>(plan.steps.at(0).kind);
}

TEST(RowSample, TakesTheSameRowsOfAnyBatches) {
  const Tensor x = random_tensor({1000, 3, 4}, 7);
  RowSample whole(4), parts(4);
  ASSERT_TRUE(whole.observe(x, nullptr).ok());
  const auto values = x.data<float>();
  for (size_t begin = 0; begin < 1000; begin += 125) {
    const Tensor part =
        Tensor::of<float>({125, 3, 4}, values.subspan(begin * 12, size_t{125} * 12));
    ASSERT_TRUE(parts.observe(part, nullptr).ok());
  }
  EXPECT_EQ(whole.rows(), parts.rows());
  const size_t rows = whole.rows().size() / 4;
  EXPECT_LE(rows, static_cast<size_t>(RowSample::kMostRows));
  EXPECT_GE(rows, static_cast<size_t>(RowSample::kMostRows / 2));
  for (size_t r = 0; r < rows; ++r) // every 16th of 3000
    for (size_t c = 0; c < 4; ++c)
      EXPECT_EQ(whole.rows()[r * 4 + c], values[r * 16 * 4 + c]) << r;
  const Tensor mask = Tensor::of<int64_t>({1, 3}, {1, 0, 1});
  RowSample masked(2);
  const Tensor padded = Tensor::of<float>({1, 3, 2}, {1, 2, NAN, 5, 3, 4});
  ASSERT_TRUE(masked.observe(padded, &mask).ok());
  EXPECT_EQ(masked.rows(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_FALSE(masked.observe(padded, nullptr).ok());
  EXPECT_FALSE(masked.merge(masked).ok());
}

TEST(OutlierSteps, KeepTheFloatNetworkAndFindTheChannels) {
  const Graph graph = encoder_with_outliers();
  const QuantizationPlan plan = planned(graph, encoder_data(), split_options());
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(plan.steps[0].id, "outliers/n");
  EXPECT_LT(plan.steps[0].after, 0.3 * plan.steps[0].before);
  const Outliers& step = split_of(plan);
  EXPECT_EQ(step.channels, (std::vector<int64_t>{5, 31}));
  EXPECT_EQ(step.consumers, (std::vector<InputOf>{{"query", 1}, {"up", 1}}));
  // s is the largest magnitude that calibration saw, by a run of the test.
  const Graph prepared = prepare_for_quantization(graph).value();
  Graph tapped = prepared;
  tapped.set_outputs({*tapped.find_value("n")});
  tapped.remove_dead();
  std::vector<double> largest(2);
  for (uint32_t batch = 0; batch < 6; ++batch) {
    const Tensor n = run_reference(tapped, random_tensor({8, 6, 48}, 100 + batch));
    for (int64_t row = 0; row < 48; ++row) {
      largest[0] = std::max(largest[0], std::fabs(n.at(row * 48 + 5)));
      largest[1] = std::max(largest[1], std::fabs(n.at(row * 48 + 31)));
    }
  }
  EXPECT_NEAR(step.s.at(0), largest[0], 1e-4);
  EXPECT_NEAR(step.s.at(1), largest[1], 1e-4);
  Graph split = prepared;
  ASSERT_TRUE(apply_steps(split, plan.steps, StepStage::kFloat).ok());
  EXPECT_TRUE(split.find_node("query_outliers").has_value());
  EXPECT_EQ(split.value(split.outputs()[0]).name, "q");
  const Tensor x = random_tensor({3, 11, 48}, 5);
  const std::vector<Tensor> wanted = all_outputs(prepared, x), got = all_outputs(split, x);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_GT(test::sqnr(wanted[i], got[i]), 110);
}

TEST(OutlierSteps, EveryTargetErrsLessOnOtherData) {
  const Graph graph = encoder_with_outliers();
  const Tensor x = random_tensor({16, 9, 48}, 4711);
  const std::vector<Tensor> wanted = all_outputs(graph, x);
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10", "tensorrt-11"}) {
    SCOPED_TRACE(target);
    QuantizeOptions plain = split_options(target);
    plain.steps.clear();
    const Graph without = quantize(graph, planned(graph, encoder_data(), plain)).value();
    for (const char* others : {"", "gptq", "correct-bias", "smooth"}) {
      SCOPED_TRACE(others);
      QuantizeOptions options = split_options(target);
      if (*others != 0) options.steps.emplace_back(others);
      const Graph with = quantize(graph, planned(graph, encoder_data(), options)).value();
      const std::vector<Tensor> before = all_outputs(without, x), after = all_outputs(with, x);
      EXPECT_GT(test::sqnr(wanted[0], after[0]), test::sqnr(wanted[0], before[0]) + 6);
    }
  }
}

TEST(OutlierSteps, StandWhereTheyHelpAlone) {
  EXPECT_TRUE(planned(encoder_with_outliers(1), encoder_data(), split_options()).steps.empty());
  QuantizeOptions wide = split_options();
  wide.activations = parse_number_format("int16").value();
  EXPECT_TRUE(planned(encoder_with_outliers(), encoder_data(), wide).steps.empty());
  QuantizeOptions excluded = split_options();
  excluded.exclude_steps = {"outliers/n"};
  EXPECT_TRUE(planned(encoder_with_outliers(), encoder_data(), excluded).steps.empty());
}

/// Rows of outputs, a scale of the product, and a weight that another product reads too.
TEST(OutlierSteps, TakeGemmAndSharedWeights) {
  Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 32]
const big: f32[32] = ?
const w: f32[7, 32] = ?
const b: f32[7] = ?
m = Mul(x, big) "enlarged"
y = Gemm(m, w, b) {transB=1, alpha=0.5} "first"
z = Gemm(x, w) {transB=1} "second"
output y: f32[N, 7]
output z: f32[N, 7]
)");
  std::vector<float> big(32, 1.0F);
  big[9] = 100;
  graph.set_constant(*graph.find_value("big"),
                     Tensor::of<float>({32}, std::span<const float>(big)));
  const QuantizationPlan plan = planned(graph, calibration({32, 32}, 4), split_options());
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(split_of(plan).channels, (std::vector<int64_t>{9}));
  Graph split = prepare_for_quantization(graph).value();
  ASSERT_TRUE(apply_steps(split, plan.steps, StepStage::kFloat).ok());
  const Tensor x = random_tensor({20, 32}, 5);
  const std::vector<Tensor> wanted = all_outputs(graph, x), got = all_outputs(split, x),
                            file = all_outputs(quantize(graph, plan).value(), x);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_GT(test::sqnr(wanted[i], got[i]), 110);
    EXPECT_GT(test::sqnr(wanted[i], file[i]), 35);
  }
}

TEST(OutlierSteps, ThePlanGivesTheSameFileAndIsChecked) {
  const Graph graph = encoder_with_outliers();
  QuantizeOptions options = split_options();
  options.steps = {"outliers", "correct-bias"};
  const QuantizationPlan plan = planned(graph, encoder_data(), options);
  options.threads = 3;
  EXPECT_EQ(planned(graph, encoder_data(), options).to_json(), plan.to_json());
  const QuantizationPlan back = QuantizationPlan::from_json(plan.to_json()).value();
  EXPECT_EQ(back.to_json(), plan.to_json());
  EXPECT_EQ(quantize(graph, back).value().content_hash(),
            quantize(graph, plan).value().content_hash());
  const auto refused = [&](const std::function<void(Outliers&)>& edit) {
    QuantizationPlan edited = plan;
    edit(std::get<Outliers>(edited.steps[0].kind));
    const auto result = quantize(graph, edited);
    return result.ok() ? std::string() : result.error().text();
  };
  EXPECT_EQ(refused([](Outliers&) {}), "");
  EXPECT_NE(refused([](Outliers& s) { s.value = "nobody"; }).find("nobody"), std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.channels = {31, 5}; }).find("ascend"), std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.channels = {5, 48}; }).find("has 48"), std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.channels = {-1, 5}; }).find("hold -1"), std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.channels = {}; }).find("0 channels"), std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.channels = {5}; }).find("s has the shape"),
            std::string::npos);
  EXPECT_NE(refused([](Outliers& s) {
              s.s = Tensor::of<float>({2}, {1, 0});
            }).find("no scale"),
            std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.consumers.pop_back(); }).find("another graph"),
            std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.consumers[0].input = 0; }).find("input 1"),
            std::string::npos);
  EXPECT_NE(refused([](Outliers& s) { s.consumers[0].node = "down"; }).find("does not read"),
            std::string::npos);
}

} // namespace
} // namespace octet
