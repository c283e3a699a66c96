// SPDX-License-Identifier: Apache-2.0
// Blocks, examples and steps of `reconstruct`; what is learned comes of a learner of the tests.
#include "core/format.h"
#include "quant/rounding_learner.h"
#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet::test {
namespace {

/// A convolution, a residual block behind it and a product.
Graph residual_network() {
  return with_weights(R"(graph g opset(""=17)
input x: f32[N, 2, 5, 5]
const w0: f32[3, 2, 3, 3] = ?
const w1: f32[3, 3, 3, 3] = ?
const w2: f32[3, 3, 1, 1] = ?
const w3: f32[75, 4] = ?
a = Conv(x, w0) {pads=[1, 1, 1, 1]} "first"
r = Relu(a) "relu"
b = Conv(r, w1) {pads=[1, 1, 1, 1]} "second"
c = Relu(b) "relu2"
d = Conv(c, w2) "third"
e = Add(d, r) "sum"
f = Flatten(e) {axis=1} "flatten"
y = MatMul(f, w3) "fourth"
output y: f32[N, 4]
)");
}

QuantizeOptions learned_options() {
  QuantizeOptions out;
  out.weight_bits = 3;
  out.steps = {"reconstruct"};
  out.learn_rounding = FlippingLearner(60);
  return out;
}

TEST(Reconstruct, ErrsLessOnOtherData) {
  const Graph graph = residual_network();
  const OpenCalibration data = calibration({8, 2, 5, 5}, 4, 0, 1);
  QuantizeOptions options = learned_options();
  const QuantizationPlan plan = planned(graph, data, options);
  std::vector<std::string> ids;
  for (const PlanStep& step : plan.steps) {
    ids.push_back(step.id);
    EXPECT_LT(step.after, step.before) << step.id;
    EXPECT_EQ(step.needs.size(), ids.size() - 1) << step.id;
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"reconstruct/first", "reconstruct/second",
                                           "reconstruct/third", "reconstruct/fourth"}));
  const Tensor x = random_tensor({64, 2, 5, 5}, 4711, 0, 1);
  const Tensor y = run_reference(graph, x);
  const Graph with = quantize(graph, plan).value();
  options.steps.clear();
  const Graph without = quantize(graph, planned(graph, data, options)).value();
  EXPECT_GT(test::sqnr(y, run_reference(with, x)), test::sqnr(y, run_reference(without, x)) + 1);
  // Again without data.
  const QuantizationPlan back = QuantizationPlan::from_json(plan.to_json()).value();
  EXPECT_EQ(back.to_json(), plan.to_json());
  EXPECT_EQ(quantize(graph, back).value().content_hash(), with.content_hash());
}

/// What the learner is asked for.
TEST(Reconstruct, AsksForBlocksWithWhatTheNetworksMake) {
  const Graph graph = residual_network();
  std::vector<std::string> seen;
  QuantizeOptions options = learned_options();
  options.learn_rounding = [&](const RoundingRequest& request) -> Result<LearnedRounding> {
    std::string line;
    for (const RoundingRequest::Weight& weight : request.weights)
      line += weight.constant + " ";
    int64_t fitted = 0, judged = 0;
    for (const RoundingExamples& e : request.fitted)
      fitted += e.rows;
    for (const RoundingExamples& e : request.judged)
      judged += e.rows;
    seen.push_back(fmt::format("{}{} {}", line, fitted, judged));
    // With the float weights the part makes what is wanted, up to what quantizers do, and weights
    // before it.
    const RoundingExamples& first = request.fitted.front();
    const Tensor made =
        make_reference_executor(request.part).value()->run(first.given).value().front();
    const bool from_the_start = request.weights.front().constant == "w0_learned";
    EXPECT_GT(test::sqnr(first.wanted.front(), made), from_the_start ? 30 : 15);
    return FlippingLearner(0)(request); // nothing is better than the nearest
  };
  EXPECT_TRUE(planned(graph, calibration({8, 2, 5, 5}, 20, 0, 1), options).steps.empty());
  EXPECT_EQ(seen, (std::vector<std::string>{"w0_learned w1_learned w2_learned w3_learned 120 40"}));
  // 24 examples of 4 numbers are fewer than 444 weights: each part of the block by what it makes.
  seen.clear();
  EXPECT_TRUE(planned(graph, calibration({8, 2, 5, 5}, 4, 0, 1), options).steps.empty());
  EXPECT_EQ(seen, (std::vector<std::string>{"w0_learned 24 8", "w1_learned w2_learned 24 8",
                                            "w3_learned 24 8"}));
}

/// The batch of the model stands in a Reshape: no part of it runs on fewer rows.
TEST(Reconstruct, KeepsBatchesThatTheModelFixes) {
  const Graph graph = with_weights(R"(graph g opset(""=17)
input x: f32[8, 6]
const w0: f32[6, 6] = ?
const w1: f32[6, 6] = ?
const w2: f32[12, 4] = ?
const n: i64[2] = [4, 12]
a = MatMul(x, w0) "first"
b = Relu(a) "relu"
c = MatMul(b, w1) "second"
d = Reshape(c, n) "pairs"
y = MatMul(d, w2) "third"
output y: f32[4, 4]
)");
  QuantizeOptions options = learned_options();
  bool asked = false;
  options.learn_rounding = [&](const RoundingRequest& request) -> Result<LearnedRounding> {
    EXPECT_EQ(request.fitted.size(), 3U);
    EXPECT_EQ(request.judged.size(), 1U);
    for (const RoundingExamples& examples : request.fitted)
      EXPECT_EQ(examples.given.front().dim(0), 8);
    asked = true;
    return FlippingLearner(4)(request);
  };
  EXPECT_FALSE(planned(graph, calibration({8, 6}, 4, 0, 1), options).steps.empty());
  EXPECT_TRUE(asked);
}

TEST(Reconstruct, IsRefusedForFormatsWithoutGradients) {
  const Graph graph = residual_network();
  for (const char* format : {"mxfp4", "fp8-e5m2fnuz"}) {
    QuantizeOptions options = learned_options();
    options.weight_bits = {};
    options.layers = {{.pattern = "first"}};
    auto& asked = *format == 'm' ? options.layers[0].weights : options.activations;
    asked = parse_number_format(format).value();
    const auto refused = make_plan(graph, *find_placement(options.target).value(),
                                   calibration({8, 2, 5, 5}, 4, 0, 1), options, 0);
    ASSERT_FALSE(refused.ok()) << format;
    EXPECT_NE(refused.error().text().find("in " + std::string(format) + " have none"),
              std::string::npos)
        << refused.error().text();
  }
}

TEST(Reconstruct, LeavesWhatOthersChoseAndSaysWhyItCannot) {
  const Graph graph = residual_network();
  const OpenCalibration data = calibration({8, 2, 5, 5}, 4, 0, 1);
  QuantizeOptions options = learned_options();
  options.steps = {"reconstruct", "gptq"};
  options.exclude_steps = {"reconstruct/fourth"};
  const QuantizationPlan plan = planned(graph, data, options);
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(plan.steps.back().id, "gptq/fourth");
  options.learn_rounding = {};
  const auto placement = find_placement(options.target).value();
  const auto refused = make_plan(graph, *placement, data, options, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("nothing that trains"), std::string::npos);
  options = learned_options();
  options.learn_rounding = [](const RoundingRequest&) -> Result<LearnedRounding> {
    return Error("no such library");
  };
  EXPECT_NE(make_plan(graph, *placement, data, options, 0).error().text().find("no such library"),
            std::string::npos);
}

} // namespace
} // namespace octet::test
