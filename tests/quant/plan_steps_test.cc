// SPDX-License-Identifier: Apache-2.0
// Steps of plans: what they do to the numbers of a network, by arithmetic of this file; that plans
// keep them, and what is refused.
#include <cmath>
#include <filesystem>
#include <functional>

#include "core/atomic_file.h"
#include "data/npz.h"
#include "quant/plan.h"
#include "quant/prepare.h"
#include "quant/steps/step.h"
#include "quant/support.h"
#include "targets/tables.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace octet {
namespace {

using test::random_tensor;
using test::run_reference;
using test::with_weights;

/// A pre-norm block, whose product alone reads the norm, and one that a sum reads too.
Graph block(bool shared) {
  Graph g = with_weights(R"(graph g opset(""=17)
input x: f32[N, 8]
const gain: f32[8] = [1, 1, 100, 1, 1, 0.5, 1, 1]
const shift: f32[8] = [0, 0.5, 0, 0, -0.5, 0, 0, 1]
const w: f32[8, 8] = ?
const b: f32[8] = [0, 0, 0, 0, 0, 0, 0, 0]
const v: f32[8, 4] = ?
const c: f32[4] = [0.1, 0.2, 0.3, 0.4]
n = LayerNormalization(x, gain, shift) "norm"
p = Gemm(n, w, b) "first"
r = Relu(p) "relu"
q = Gemm(r, v, c) "second"
output q: f32[N, 4]
)");
  // An outlier as encoders have them: a channel of large numbers whose weights are small.
  const ValueId w = *g.find_value("w");
  std::vector<float> weights = g.constant(w)->to_floats().value();
  for (size_t i = 16; i < 24; ++i)
    weights[i] /= 100;
  g.set_constant(w, Tensor::of<float>({8, 8}, std::span<const float>(weights)));
  if (shared) g.mark_output(*g.find_value("n"));
  return g;
}

OpenCalibration data(const Shape& shape) {
  return test::calibration(shape, 6);
}

QuantizationPlan planned(const Graph& graph, const Shape& shape, const QuantizeOptions& options) {
  return test::planned(graph, data(shape), options);
}

/// Means of each channel (the last axis) of a graph's first output over the calibration data.
std::vector<double> output_means(const Graph& graph, const Shape& shape) {
  std::vector<double> sums;
  double rows = 0;
  const CalibrationSource source = data(shape)().value();
  for (auto batch = source().value(); batch; batch = source().value()) {
    const Tensor y = run_reference(graph, batch->front());
    const int64_t channels = y.dim(y.rank() - 1);
    sums.resize(static_cast<size_t>(channels));
    for (int64_t i = 0; i < y.count(); ++i)
      sums[static_cast<size_t>(i % channels)] += y.at(i);
    rows += static_cast<double>(y.count()) / static_cast<double>(channels);
  }
  for (double& s : sums)
    s /= rows;
  return sums;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.count(); ++i)
    EXPECT_NEAR(a.at(i), b.at(i), 2e-5 * std::max(1.0, std::fabs(a.at(i)))) << i;
}

const Smooth& smooth_of(const QuantizationPlan& plan, const std::string& id) {
  for (const PlanStep& step : plan.steps)
    if (step.id == id) return std::get<Smooth>(step.kind);
  ADD_FAILURE() << id;
  static const Smooth none;
  return none;
}

TEST(PlanSteps, SmoothKeepsTheFloatNetworkAndHelpsTheQuantizedOne) {
  for (const bool shared : {false, true}) {
    SCOPED_TRACE(shared);
    const Graph graph = block(shared);
    const Shape shape = {16, 8};
    const QuantizationPlan plan = planned(graph, shape, {.steps = {"smooth"}});
    const Smooth& step = smooth_of(plan, "smooth/n");
    EXPECT_EQ(step.into, shared ? "" : "norm"); // what else reads n must see it as it was
    const Graph prepared = prepare_for_quantization(graph).value();
    Graph stepped = prepared;
    ASSERT_TRUE(apply_steps(stepped, plan.steps, StepStage::kFloat).ok());
    EXPECT_NE(stepped.content_hash(), prepared.content_hash());
    EXPECT_EQ(stepped.content_hash(), plan.stepped_hash);
    EXPECT_EQ(test::nodes_of(stepped, "Mul").size(), shared ? 1U : 0U);
    const Tensor x = random_tensor({32, 8}, 77);
    expect_close(run_reference(prepared, x), run_reference(stepped, x));
    const Tensor y = run_reference(graph, x);
    const QuantizationPlan without = planned(graph, shape, {});
    EXPECT_GT(test::sqnr(y, run_reference(quantize(graph, plan).value(), x)),
              test::sqnr(y, run_reference(quantize(graph, without).value(), x)) + 3);
  }
}

TEST(PlanSteps, SmoothGoesThroughReluIntoAConvolution) {
  Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 2, 5, 5]
const w: f32[4, 2, 3, 3] = ?
const b: f32[4] = [0.1, -0.1, 0, 3]
const d: f32[4, 1, 3, 3] = ?
a = Conv(x, w, b) {pads=[1, 1, 1, 1]} "first"
r = Relu(a) "relu"
y = Conv(r, d) {group=4} "depthwise"
output y: f32[N, 4, 3, 3]
)");
  std::vector<float> w = random_tensor({4, 2, 3, 3}, 3).to_floats().value();
  for (size_t i = 0; i < 18; ++i)
    w[i] *= 40; // the first channel is far larger than the others
  graph.set_constant(*graph.find_value("w"),
                     Tensor::of<float>({4, 2, 3, 3}, std::span<const float>(w)));
  const QuantizationPlan plan = planned(graph, {4, 2, 5, 5}, {.steps = {"smooth"}});
  EXPECT_EQ(smooth_of(plan, "smooth/r").into, "first");
  Graph stepped = prepare_for_quantization(graph).value();
  ASSERT_TRUE(apply_steps(stepped, plan.steps, StepStage::kFloat).ok());
  const Tensor x = random_tensor({3, 2, 5, 5}, 78);
  expect_close(run_reference(graph, x), run_reference(stepped, x));
}

TEST(PlanSteps, CorrectBiasTakesTheShiftOfMeansBack) {
  const Graph graph = block(false);
  const Shape shape = {16, 8};
  const QuantizeOptions coarse = {.weight_bits = 3, .steps = {}};
  QuantizeOptions corrected = coarse;
  corrected.steps = {"correct-bias"};
  const QuantizationPlan before = planned(graph, shape, coarse);
  const QuantizationPlan after = planned(graph, shape, corrected);
  const std::vector<double> wanted = output_means(graph, shape);
  const double shift = distance(wanted, output_means(quantize(graph, before).value(), shape));
  const double left = distance(wanted, output_means(quantize(graph, after).value(), shape));
  EXPECT_GT(shift, 0.01);
  EXPECT_LT(left, shift / 10);
  ASSERT_EQ(after.steps.size(), 2U);
  EXPECT_EQ(after.steps[0].id, "correct-bias/first");
  EXPECT_EQ(after.steps[1].id, "correct-bias/second");
  EXPECT_EQ(after.steps[1].needs, std::vector<std::string>{"correct-bias/first"});
  EXPECT_NEAR(after.steps[1].after, left, 1e-6);
}

TEST(PlanSteps, CorrectBiasIsFittedLayerByLayer) {
  // Without the first layer's correction, the last one's shift would be another.
  const Graph graph = block(false);
  const Shape shape = {16, 8};
  QuantizationPlan plan = planned(graph, shape, {.weight_bits = 3, .steps = {"correct-bias"}});
  const PlanStep last = plan.steps.back();
  plan.steps.pop_back();
  const std::vector<double> wanted = output_means(graph, shape);
  const std::vector<double> means = output_means(quantize(graph, plan).value(), shape);
  const Tensor& delta = std::get<CorrectBias>(last.kind).delta;
  for (int64_t c = 0; c < delta.count(); ++c)
    EXPECT_NEAR(delta.at(c), wanted[static_cast<size_t>(c)] - means[static_cast<size_t>(c)], 1e-6);
}

TEST(PlanSteps, CorrectBiasLeavesANumberForAllOutputsAsItIs) {
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[N, 8]
const w: f32[8, 6] = ?
const b: f32[1] = ?
y = Gemm(x, w, b) "all"
const v: f32[6, 4] = ?
const c: f32[4] = ?
z = Gemm(y, v, c) "each"
output z: f32[N, 4]
)");
  const QuantizationPlan plan =
      planned(graph, {16, 8}, {.weight_bits = 3, .steps = {"correct-bias"}});
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_EQ(plan.steps[0].id, "correct-bias/each");
}

TEST(PlanSteps, JsonKeepsThemAndPlansWithoutAreAsBefore) {
  const Graph graph = block(true);
  const QuantizationPlan plan = planned(graph, {16, 8}, {.steps = {"correct-bias", "smooth"}});
  ASSERT_GE(plan.steps.size(), 3U);
  EXPECT_EQ(stage(plan.steps.front().kind), StepStage::kFloat); // whatever order they are asked in
  const std::string json = plan.to_json();
  EXPECT_NE(json.find("\"octet_plan\": 2"), std::string::npos);
  const QuantizationPlan back = QuantizationPlan::from_json(json).value();
  EXPECT_EQ(back.to_json(), json);
  EXPECT_EQ(quantize(graph, back).value().content_hash(),
            quantize(graph, plan).value().content_hash());
  EXPECT_NE(plan.text().find("smooth/n"), std::string::npos);
  const std::string plain = planned(graph, {16, 8}, {}).to_json();
  EXPECT_NE(plain.find("\"octet_plan\": 1"), std::string::npos);
  EXPECT_EQ(plain.find("step"), std::string::npos);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string out = json;
    out.replace(out.find(from), from.size(), to);
    const auto read = QuantizationPlan::from_json(out);
    return read.ok() ? std::string() : read.error().text();
  };
  EXPECT_NE(replaced("\"kind\": \"smooth\"", "\"kind\": \"smoth\"").find("there are equalize, "),
            std::string::npos);
  EXPECT_NE(replaced("\"stage\": \"float\"", "\"stage\": \"bias\"").find("stage"),
            std::string::npos);
  EXPECT_NE(replaced("\"alpha\"", "\"alfa\"").find("alpha"), std::string::npos);
  EXPECT_NE(replaced("\"s\": [", "\"s\": [\"1\", ").find("\"s\""), std::string::npos);
  EXPECT_NE(replaced("\"s\": [", "\"s\": [1e39, ").find("\"s\""), std::string::npos);
  EXPECT_NE(replaced("\"needs\": []", "\"needs\": [\"later\"]").find("later"), std::string::npos);
  EXPECT_NE(replaced("\"stepped\"", "\"steped\"").find("stepped"), std::string::npos);
}

TEST(PlanSteps, FilesKeepLongVectorsBesideTheJson) {
  const Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[N, 4]
const w: f32[4, 100] = ?
const v: f32[100, 3] = ?
const c: f32[3] = [0, 0, 0]
p = MatMul(x, w) "first"
q = Gemm(p, v, c) "second"
output q: f32[N, 3]
)");
  const QuantizationPlan plan =
      planned(graph, {16, 4}, {.weight_bits = 4, .steps = {"smooth", "correct-bias"}});
  const std::string folder = testing::TempDir() + "octet-plan-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/plan.json", beside = folder + "/plan.npz";
  ASSERT_EQ(plan_numbers_path(path), beside);
  ASSERT_TRUE(save_plan(plan, path, false).ok());
  EXPECT_EQ(load_plan(path).value().to_json(), plan.to_json());
  const std::string json = read_file(path, 1 << 20).value();
  EXPECT_NE(json.find("{\n    \"npz\": \"step000/s\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"delta\": ["), std::string::npos); // 3 elements
  const NamedTensors arrays = read_npz(beside).value();
  ASSERT_EQ(arrays.size(), 1U);
  EXPECT_TRUE(arrays[0].second.identical(smooth_of(plan, "smooth/p").s));
  const auto refused = [&] {
    const auto read = load_plan(path);
    return read.ok() ? std::string() : read.error().text();
  };
  EXPECT_NE(QuantizationPlan::from_json(json).error().text().find("load_plan"), std::string::npos);
  EXPECT_FALSE(save_plan(plan, path, false).ok());
  std::vector<float> values = arrays[0].second.to_floats().value();
  values[3] *= 2;
  const Tensor other = Tensor::of<float>({100}, std::span<const float>(values));
  ASSERT_TRUE(write_npz(beside, {{"step000/s", other}}, Overwrite::kYes).ok());
  EXPECT_NE(refused().find("of another plan"), std::string::npos);
  const Tensor shorter = Tensor::of<float>({2}, {1.0F, 2.0F});
  ASSERT_TRUE(write_npz(beside, {{"step000/s", shorter}}, Overwrite::kYes).ok());
  EXPECT_NE(refused().find("f32[100] expected"), std::string::npos) << refused();
  ASSERT_TRUE(write_npz(beside, {{"step001/s", arrays[0].second}}, Overwrite::kYes).ok());
  EXPECT_NE(refused().find("no array \"step000/s\""), std::string::npos);
  std::filesystem::remove(beside);
  EXPECT_NE(refused().find(beside), std::string::npos);
  // A plan without long vectors is one file, which an .npz beside it says nothing about.
  const QuantizationPlan plain = planned(graph, {16, 4}, {});
  ASSERT_TRUE(save_plan(plain, path, true).ok());
  EXPECT_EQ(load_plan(path).value().to_json(), plain.to_json());
  EXPECT_FALSE(std::filesystem::exists(beside));
  std::filesystem::remove_all(folder);
}

TEST(PlanSteps, EditedStepsAreCheckedWhenApplied) {
  const Graph graph = block(false);
  const QuantizationPlan plan =
      planned(graph, {16, 8}, {.weight_bits = 4, .steps = {"smooth", "correct-bias"}});
  const auto refused = [&](const std::function<void(QuantizationPlan&)>& edit) {
    QuantizationPlan edited = plan;
    edit(edited);
    const auto result = quantize(graph, edited);
    return result.ok() ? std::string() : result.error().text();
  };
  const auto smooth = [](QuantizationPlan& p) -> Smooth& {
    return std::get<Smooth>(p.steps.front().kind);
  };
  EXPECT_EQ(refused([](QuantizationPlan&) {}), "");
  EXPECT_NE(refused([&](auto& p) { smooth(p).value = "nobody"; }).find("nobody"),
            std::string::npos);
  EXPECT_NE(refused([&](auto& p) { smooth(p).s = Tensor::of<float>({1}, {2.0F}); }).find('8'),
            std::string::npos);
  EXPECT_NE(refused([&](auto& p) {
              smooth(p).s = Tensor::of<float>({8}, {1, 1, 1, 1, 0, 1, 1, 1});
            }).find("not above 0"),
            std::string::npos);
  EXPECT_NE(refused([&](auto& p) { smooth(p).into = "second"; }).find("cannot go into"),
            std::string::npos);
  EXPECT_NE(refused([&](auto& p) {
              smooth(p).consumers.push_back(smooth(p).consumers.front());
            }).find("twice"),
            std::string::npos);
  EXPECT_NE(refused([&](auto& p) { p.steps.erase(p.steps.begin()); }).find("needs \"smooth/"),
            std::string::npos);
  EXPECT_NE(refused([&](auto& p) {
              smooth(p).s = Tensor::of<float>({8}, {1, 1, 1, 1, 1, 1, 1, 1});
            }).find("for another graph"),
            std::string::npos); // ranges were taken behind other numbers
  EXPECT_NE(refused([&](auto& p) {
              std::get<CorrectBias>(p.steps.back().kind).bias.input = 1;
            }).find("no bias at input 1"),
            std::string::npos);
  const auto other = quantize(block(true), plan);
  EXPECT_FALSE(other.ok());
}

TEST(PlanSteps, LeavingOneOutTakesWhatNeedsItToo) {
  const Graph graph = block(false);
  QuantizationPlan plan =
      planned(graph, {16, 8}, {.weight_bits = 4, .steps = {"smooth", "correct-bias"}});
  const size_t all = plan.steps.size();
  EXPECT_FALSE(exclude_steps(plan, {"smoth/*"}).ok());
  const auto refused = exclude_steps(plan, {"smooth/*"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("make the plan again"), std::string::npos);
  EXPECT_EQ(plan.steps.size(), all);
  EXPECT_EQ(exclude_steps(plan, {"correct-bias/fir*"}).value(),
            std::vector<std::string>{"correct-bias/second"});
  EXPECT_EQ(plan.steps.size(), all - 2);
  EXPECT_TRUE(quantize(graph, plan).ok());
  const QuantizationPlan fitted_without =
      planned(graph, {16, 8},
              {.steps = {"smooth", "correct-bias"}, .exclude_steps = {"smooth/*", "*/first"}});
  ASSERT_EQ(fitted_without.steps.size(), 1U);
  EXPECT_EQ(fitted_without.steps[0].id, "correct-bias/second");
}

TEST(PlanSteps, WhatCannotBePlannedIsRefused) {
  const Graph graph = block(false);
  const auto message = [&](const QuantizeOptions& options) {
    const auto placement = find_placement(options.target).value();
    const auto plan = make_plan(graph, *placement, data({16, 8}), options, 0);
    return plan.ok() ? std::string() : plan.error().text();
  };
  EXPECT_NE(message({.steps = {"smoth"}}).find("there are equalize, smooth"), std::string::npos);
  EXPECT_NE(message({.mode = QuantMode::kDynamic, .steps = {"smooth"}}).find("dynamic"),
            std::string::npos);
  EXPECT_NE(message({.steps = {"smooth"}, .exclude_steps = {"smooth/n", "smooth/nobody"}})
                .find("\"smooth/nobody\" matches no step"),
            std::string::npos);
  EXPECT_NE(message({.exclude_steps = {"*"}}).find("takes none"), std::string::npos);
  const auto once =
      plan_quantization(graph, test::random_source({16, 8}, 2), {.steps = {"smooth"}});
  ASSERT_FALSE(once.ok());
  EXPECT_NE(once.error().text().find("data set"), std::string::npos);
}

} // namespace
} // namespace octet
