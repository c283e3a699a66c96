// SPDX-License-Identifier: Apache-2.0
// Equalization: its factors against the equation of the paper, what it leaves as it is, what it
// absorbs, and which operators may stand between two layers.
#include <cmath>

#include "ops/infer.h"
#include "quant/plan.h"
#include "quant/prepare.h"
#include "quant/statistics/channel_minimum.h"
#include "quant/steps/channel_pair.h"
#include "quant/steps/step.h"
#include "quant/support.h"
#include "targets/tables.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::calibration;
using test::planned;
using test::random_tensor;
using test::run_reference;

/// conv ─▶ Relu ─▶ depthwise ─▶ LeakyRelu ─▶ pointwise ─▶ pool ─▶ Flatten ─▶ Gemm, in which the
/// ranges of the channels are spread over three orders of magnitude.
Graph spread() {
  Graph g = test::with_weights(R"(graph g opset(""=17)
input x: f32[N, 3, 8, 8]
const a: f32[8, 3, 3, 3] = ?
const ab: f32[8] = [0.1, 0.2, 0.3, 0.4, -0.1, -0.2, 0.3, 0.1]
const d: f32[8, 1, 3, 3] = ?
const db: f32[8] = [0.3, 0.1, 0.2, 0.1, 0.2, -0.1, 0.1, 0.2]
const p: f32[6, 8, 1, 1] = ?
const f: f32[54, 5] = ?
const fb: f32[5] = [0, 0, 0, 0, 0]
c = Conv(x, a, ab) {pads=[1, 1, 1, 1]} "first"
r = Relu(c) "relu"
w = Conv(r, d, db) {group=8, pads=[1, 1, 1, 1]} "depthwise"
l = LeakyRelu(w) {alpha=0.1} "leaky"
q = Conv(l, p) "pointwise"
m = MaxPool(q) {kernel_shape=[3, 3], strides=[2, 2]} "pool"
t = Flatten(m) "flatten"
y = Gemm(t, f, fb) "last"
output y: f32[N, 5]
)");
  const ValueId a = *g.find_value("a"), d = *g.find_value("d"), b = *g.find_value("ab");
  std::vector<float> first = g.constant(a)->to_floats().value();
  std::vector<float> second = g.constant(d)->to_floats().value();
  std::vector<float> bias = g.constant(b)->to_floats().value();
  for (size_t c = 0; c < 8; ++c) {
    const auto factor = static_cast<float>(std::pow(10.0, static_cast<double>(c) / 2.3 - 1.5));
    for (size_t i = 0; i < 27; ++i)
      first[c * 27 + i] *= factor;
    bias[c] *= factor;
    for (size_t i = 0; i < 9; ++i)
      second[c * 9 + i] /= factor;
  }
  g.set_constant(a, Tensor::of<float>({8, 3, 3, 3}, std::span<const float>(first)));
  g.set_constant(d, Tensor::of<float>({8, 1, 3, 3}, std::span<const float>(second)));
  g.set_constant(b, Tensor::of<float>({8}, std::span<const float>(bias)));
  return g;
}

Graph stepped_by(const Graph& graph, const QuantizationPlan& plan) {
  Graph out = prepare_for_quantization(graph).value();
  const Status status = apply_steps(out, plan.steps, StepStage::kFloat);
  EXPECT_TRUE(status.ok()) << status.error().text();
  return out;
}

/// The largest |w| of each index of an axis.
std::vector<double> tops(const Graph& graph, const std::string& node, int64_t axis) {
  const Tensor& w = *graph.constant(graph.node(*graph.find_node(node)).input(1));
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < w.rank(); ++d)
    inner *= w.dim(d);
  std::vector<double> out(static_cast<size_t>(w.dim(axis)));
  for (int64_t i = 0; i < w.count(); ++i) {
    double& top = out[static_cast<size_t>(i / inner % w.dim(axis))];
    top = std::max(top, std::fabs(w.at(i)));
  }
  return out;
}

void expect_equal_to(const Tensor& a, const Tensor& b, double share) {
  double top = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    top = std::max(top, std::fabs(a.at(i)));
  ASSERT_EQ(a.shape(), b.shape());
  for (int64_t i = 0; i < a.count(); ++i)
    EXPECT_NEAR(a.at(i), b.at(i), share * top) << i;
}

TEST(Equalize, KeepsTheFloatNetworkAndHelpsPerTensorScales) {
  const Graph graph = spread();
  const QuantizeOptions coarse = {.per_channel = false, .steps = {}};
  QuantizeOptions even = coarse;
  even.steps = {"equalize"};
  const QuantizationPlan plan = planned(graph, calibration({4, 3, 8, 8}, 4), even);
  ASSERT_FALSE(plan.steps.empty());
  EXPECT_EQ(plan.steps.front().id, "equalize/first");
  for (const PlanStep& step : plan.steps)
    EXPECT_LT(step.after, 0.95 * step.before) << step.id;
  const Graph stepped = stepped_by(graph, plan);
  EXPECT_EQ(stepped.content_hash(), plan.stepped_hash);
  EXPECT_EQ(stepped.nodes().size(), prepare_for_quantization(graph).value().nodes().size());
  const Tensor x = random_tensor({8, 3, 8, 8}, 55);
  const Tensor y = run_reference(graph, x);
  expect_equal_to(y, run_reference(stepped, x), 1e-5);
  const Tensor without = run_reference(
      quantize(graph, planned(graph, calibration({4, 3, 8, 8}, 4), coarse)).value(), x);
  const Tensor with = run_reference(quantize(graph, plan).value(), x);
  EXPECT_GT(test::sqnr(y, with), test::sqnr(y, without) + 10);
}

TEST(Equalize, RangesOfBothSidesAreEqualWhenNothingMoves) {
  const Graph graph = spread();
  const QuantizationPlan plan =
      planned(graph, calibration({4, 3, 8, 8}, 4), {.per_channel = false, .steps = {"equalize"}});
  const Graph stepped = stepped_by(graph, plan);
  for (const PlanStep& step : plan.steps) {
    SCOPED_TRACE(step.id);
    const Equalize& one = std::get<Equalize>(step.kind);
    const Node& second = stepped.node(*stepped.find_node(one.second));
    const std::vector<double> made = tops(stepped, one.first, 0);
    std::vector<double> read =
        tops(stepped, one.second, second.is("Conv") && second.attr_int("group", 1) == 1 ? 1 : 0);
    const size_t inner = read.size() / made.size();
    for (size_t c = 0; c < made.size(); ++c) {
      double top = 0;
      for (size_t i = 0; i < inner; ++i)
        top = std::max(top, read[c * inner + i]);
      EXPECT_NEAR(made[c], top, 1e-3 * top) << c;
    }
  }
}

TEST(Equalize, AbsorbsWhatAChannelNeverComesBelow) {
  // Channel 0 is 100 + x0: at least 99. Channel 1 passes the Relu half of the time.
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[N, 2]
const w: f32[2, 2] = [1, 0, 0, 1]
const b: f32[2] = [100, 0]
const v: f32[3, 2] = [0.01, 5, 0.02, 7, 0.005, 3]
const d: f32[3] = [0.5, 0, 1]
p = Gemm(x, w, b) "first"
r = Relu(p) "relu"
y = Gemm(r, v, d) {transB=1} "second"
output y: f32[N, 3]
)")
                          .value();
  const QuantizationPlan plan =
      planned(graph, calibration({32, 2}, 4), {.per_channel = false, .steps = {"equalize"}});
  ASSERT_EQ(plan.steps.size(), 1U);
  const Equalize& step = std::get<Equalize>(plan.steps[0].kind);
  const double s0 = std::sqrt(1 / 0.02), s1 = std::sqrt(1.0 / 7);
  EXPECT_NEAR(step.s.at(0), s0, 1e-5 * s0);
  EXPECT_NEAR(step.s.at(1), s1, 1e-5);
  EXPECT_GE(step.absorbed.at(0), 99 / s0 * (1 - 1e-6));
  EXPECT_LT(step.absorbed.at(0), 100 / s0);
  EXPECT_EQ(step.absorbed.at(1), 0);
  const Graph stepped = stepped_by(graph, plan);
  const Node& second = stepped.node(*stepped.find_node("second"));
  EXPECT_NEAR(stepped.constant(second.input(2))->at(1), 0.02 * s0 * step.absorbed.at(0), 1e-5);
  const Tensor x = random_tensor({64, 2}, 9, -0.9F, 0.9F);
  const Tensor y = run_reference(graph, x);
  expect_equal_to(y, run_reference(stepped, x), 1e-5);
  const QuantizationPlan plain = planned(graph, calibration({32, 2}, 4), {.per_channel = false});
  EXPECT_GT(test::sqnr(y, run_reference(quantize(graph, plan).value(), x)),
            test::sqnr(y, run_reference(quantize(graph, plain).value(), x)) + 6);
}

/// Whether the pair "first" of conv(4 channels) ─▶ `between` ─▶ `second` is found, and absorbs.
enum class Found { kNo, kPair, kAbsorbs };
Found found(const std::string& between, const std::string& second, bool output_too = false) {
  const Graph graph = parse_graph(R"(graph g opset(""=17)
input x: f32[N, 1, 6, 6]
const w: f32[4, 1, 1, 1] = [1, 2, 3, 4]
const b: f32[4] = [1, 2, 3, 4]
const v: f32[2, 4, 1, 1] = [1, 2, 3, 4, 5, 6, 7, 8]
const halves: f32[4, 2, 1, 1] = [1, 2, 3, 4, 5, 6, 7, 8]
const deep: f32[4, 1, 1, 1] = [1, 2, 3, 4]
const d: f32[2] = [0, 0]
const d4: f32[4] = [0, 0, 0, 0]
const zero: f32[] = [0]
const one: f32[] = [1]
const six: f32[] = [6]
const g: f32[4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]
const slope: f32[4, 1, 1] = [0.1, 0.2, 0.3, 0.4]
const many: f32[3, 1, 1, 1, 1] = [0.1, 0.2, 0.3]
const flat: i64[2] = [-1, 4]
c = Conv(x, w, b) "first"
)" + between + "\ny = " + second + " \"second\"\noutput y: f32[*]\n" +
                                  (output_too ? "output c: f32[N, 4, 6, 6]\n" : ""))
                          .value();
  Graph prepared = graph;
  EXPECT_TRUE(infer_types(prepared).ok());
  const SteppedGraph stepped(prepared);
  const auto pair = channel_pair(stepped, *prepared.find_node("first"));
  if (!pair.ok()) return Found::kNo;
  return pair->absorbs ? Found::kAbsorbs : Found::kPair;
}

TEST(Equalize, PairsAreThoseThatFactorsPass) {
  EXPECT_EQ(found("r = Relu(c)", "Conv(r, v, d)"), Found::kAbsorbs);
  EXPECT_EQ(found("r = LeakyRelu(c)", "Conv(r, v, d)"), Found::kAbsorbs);
  EXPECT_EQ(found("r = PRelu(c, slope)", "Conv(r, v, d)"), Found::kAbsorbs);
  EXPECT_EQ(found("r = Clip(c, zero)", "Conv(r, v, d)"), Found::kAbsorbs);
  EXPECT_EQ(found("r = Relu(c)", "Conv(r, deep, d4) {group=4}"), Found::kAbsorbs);
  EXPECT_EQ(found("r = GlobalAveragePool(c)\nf = Flatten(r)", "Gemm(f, g, d)"), Found::kAbsorbs);
  EXPECT_EQ(found("r = GlobalMaxPool(c)\nf = Reshape(r, flat)", "Gemm(f, g, d)"), Found::kAbsorbs);
  // Zeros between see no factor, but what is absorbed would be missing from them.
  EXPECT_EQ(found("r = Relu(c)", "Conv(r, v, d) {pads=[1, 1, 1, 1]}"), Found::kPair);
  EXPECT_EQ(found("r = AveragePool(c) {kernel_shape=[2, 2], pads=[1, 1, 0, 0], "
                  "count_include_pad=1}",
                  "Conv(r, v, d)"),
            Found::kPair);
  EXPECT_EQ(found("r = Relu(c)", "Conv(r, v)"), Found::kPair);
  EXPECT_EQ(found("r = Relu(c)\nf = GlobalAveragePool(r)\nh = Flatten(f)", "MatMul(h, g)"),
            Found::kPair);
  EXPECT_EQ(found("r = Clip(c, zero, six)", "Conv(r, v, d)"), Found::kNo);
  EXPECT_EQ(found("r = Clip(c, one)", "Conv(r, v, d)"), Found::kNo);
  EXPECT_EQ(found("r = PRelu(c, many)", "Conv(r, v, d)"), Found::kNo); // another axis
  EXPECT_EQ(found("r = Sigmoid(c)", "Conv(r, v, d)"), Found::kNo);
  EXPECT_EQ(found("r = Add(c, one)", "Conv(r, v, d)"), Found::kNo);
  EXPECT_EQ(found("r = Relu(c)", "Conv(r, halves, d4) {group=2}"), Found::kNo);
  EXPECT_EQ(found("r = Relu(c)", "Conv(r, v, d)", true), Found::kNo); // somebody else looks
}

TEST(Equalize, EditedStepsAreChecked) {
  const Graph prepared = prepare_for_quantization(spread()).value();
  const auto refused = [&](const Equalize& step) {
    Graph graph = prepared;
    SteppedGraph stepped(graph);
    const Status status = apply(stepped, step);
    return status.ok() ? std::string() : status.error().text();
  };
  const Tensor ones = Tensor::of<float>({8}, {1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor none = Tensor::zeros(DType::kFloat32, {8}).value();
  EXPECT_EQ(refused({"first", "depthwise", ones, none}), "");
  EXPECT_NE(refused({"first", "pointwise", ones, none}).find("not the next product"),
            std::string::npos);
  EXPECT_NE(refused({"relu", "depthwise", ones, none}).find("no product"), std::string::npos);
  EXPECT_NE(refused({"nobody", "depthwise", ones, none}).find("nobody"), std::string::npos);
  EXPECT_NE(
      refused({"first", "depthwise", Tensor::of<float>({2}, {1, 1}), none}).find("8 channels"),
      std::string::npos);
  EXPECT_NE(refused({"first", "depthwise", none, none}).find("not above 0"), std::string::npos);
  EXPECT_NE(refused({"first", "depthwise", ones, ones}).find("cannot absorb"), std::string::npos);
  const Tensor negative = Tensor::of<float>({8}, {0, 0, 0, 0, 0, 0, 0, -1});
  EXPECT_NE(refused({"first", "depthwise", ones, negative}).find("not 0 or more"),
            std::string::npos);
}

TEST(ChannelMinimum, MergesInAnyOrder) {
  ChannelMinimum all(1, 2), left(1, 2), right(1, 2);
  const Tensor a = random_tensor({5, 2}, 1), b = random_tensor({3, 2}, 2);
  ASSERT_TRUE(all.observe(b, nullptr).ok() && all.observe(a, nullptr).ok());
  ASSERT_TRUE(left.observe(a, nullptr).ok() && right.observe(b, nullptr).ok());
  ASSERT_TRUE(left.merge(right).ok());
  EXPECT_TRUE(left.state().front().second.identical(all.state().front().second));
  EXPECT_EQ(left.bytes(), ChannelMinimum::bytes_for_channels(2));
  EXPECT_FALSE(left.merge(ChannelMinimum(1, 3)).ok());
}

} // namespace
} // namespace octet
