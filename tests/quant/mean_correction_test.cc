// SPDX-License-Identifier: Apache-2.0
// Biases that are corrected by means: the means beside plain sums, the correction beside what the
// reference makes of images that are their mean everywhere, and networks with and without.
#include <cmath>
#include <limits>

#include "quant/mean_correction.h"
#include "quant/qdq_writer.h"
#include "quant/statistics/sampled_mean.h"
#include "quant/support.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace octet {
namespace {

Tensor rows_of(const Tensor& all, int64_t first, int64_t count) {
  Shape shape = all.shape();
  const int64_t row = all.count() / shape[0];
  shape[0] = count;
  return Tensor::of<float>(shape, all.data<float>().subspan(static_cast<size_t>(first * row),
                                                            static_cast<size_t>(count * row)));
}

/// [N, C, H, W] with the channels last.
Tensor channels_last(const Tensor& x) {
  const auto from = x.data<float>();
  std::vector<float> to;
  const int64_t n = x.dim(0), c = x.dim(1), inner = x.dim(2) * x.dim(3);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t p = 0; p < inner; ++p)
      for (int64_t k = 0; k < c; ++k)
        to.push_back(from[static_cast<size_t>((i * c + k) * inner + p)]);
  return Tensor::of<float>({n, x.dim(2), x.dim(3), c}, std::span<const float>(to));
}

TEST(SampledMean, IsTheMeanOfSmallImages) {
  const Tensor x = test::random_tensor({3, 5, 16, 16}, 1, -1, 3);
  SampledMean seen(1);
  seen.observe(x, {}, nullptr);
  const std::vector<float> means = seen.means();
  ASSERT_EQ(means.size(), 5U);
  for (size_t c = 0; c < 5; ++c) {
    double sum = 0;
    for (size_t n = 0; n < 3; ++n)
      for (size_t i = 0; i < 256; ++i)
        sum += static_cast<double>(x.data<float>()[(n * 5 + c) * 256 + i]);
    EXPECT_NEAR(means[c], sum / 768, 1e-6);
  }
}

TEST(SampledMean, HasTheSameBitsHoweverDataLiesAndIsCut) {
  for (const int64_t size : {3, 16, 31, 64}) {
    const Tensor x = test::random_tensor({4, 6, size, size + 1}, 2, 0, 100);
    SampledMean whole(1), parts(1), last(1);
    whole.observe(x, {}, nullptr);
    for (const int64_t first : {2, 0, 3, 1})
      parts.observe(rows_of(x, first, 1), {}, nullptr);
    last.observe(channels_last(x), std::vector<int64_t>{0, 2, 3, 1}, nullptr);
    EXPECT_EQ(whole.means(), parts.means()) << size;
    EXPECT_EQ(whole.means(), last.means()) << size;
    EXPECT_NE(whole.means()[0], whole.means()[1]);
  }
}

TEST(SampledMean, OfLargeImagesIsNear) {
  // Brightness that falls along rows and columns: positions in step with either would miss it.
  for (const int64_t width : {64, 100, 128, 257}) {
    std::vector<float> values;
    for (int64_t i = 0; i < width * 2 * 96; ++i)
      values.push_back(static_cast<float>(i % width) / static_cast<float>(width) +
                       static_cast<float>(i / width % 96) / 96);
    SampledMean seen(1);
    seen.observe(Tensor::of<float>({2, 1, 96, width}, std::span<const float>(values)), {}, nullptr);
    EXPECT_NEAR(seen.means()[0], 1, 0.03) << width;
  }
}

TEST(SampledMean, OfTokensLeavesPaddingOut) {
  const Tensor x = test::random_tensor({2, 3, 4}, 3);
  const Tensor mask = Tensor::of<int64_t>({2, 3}, std::vector<int64_t>{1, 1, 0, 1, 0, 0});
  SampledMean seen(-1);
  seen.observe(x, {}, &mask);
  for (size_t c = 0; c < 4; ++c) {
    double sum = 0;
    for (const size_t token : {0, 1, 3})
      sum += static_cast<double>(x.data<float>()[token * 4 + c]);
    EXPECT_NEAR(seen.means()[c], sum / 3, 1e-6);
  }
}

TEST(SampledMean, IsUnknownWhereItCannotBeTaken) {
  SampledMean nothing(1), infinite(1), other(1), flat(1);
  EXPECT_TRUE(nothing.means().empty());
  infinite.observe(Tensor::of<float>({1, 2}, std::vector<float>{1, INFINITY}), {}, nullptr);
  EXPECT_TRUE(infinite.means().empty());
  other.observe(test::random_tensor({1, 2}, 1), {}, nullptr);
  other.observe(test::random_tensor({1, 3}, 1), {}, nullptr);
  EXPECT_TRUE(other.means().empty());
  flat.observe(test::random_tensor({4}, 1), {}, nullptr);
  EXPECT_TRUE(flat.means().empty());
}

struct Product {
  const char* text; ///< a graph x -> y whose product is the node "p"
  Shape x;
  int64_t axis;
};

/// What the reference makes of inputs that are their channels' mean everywhere.
std::vector<double> means_of_outputs(const Graph& graph, const Tensor& x, int64_t axis) {
  const Tensor y = test::run_reference(graph, x);
  const int64_t channel_axis = axis < 0 ? axis + y.rank() : axis;
  int64_t inner = 1;
  for (int64_t d = channel_axis + 1; d < y.rank(); ++d)
    inner *= y.dim(d);
  const int64_t channels = y.dim(channel_axis);
  std::vector<double> sums(static_cast<size_t>(channels));
  for (int64_t i = 0; i < y.count(); ++i)
    sums[static_cast<size_t>(i / inner % channels)] += y.at(i);
  const int64_t each = y.count() / channels;
  for (double& sum : sums)
    sum /= static_cast<double>(each);
  return sums;
}

TEST(MeanCorrection, IsWhatImagesOfTheirMeanLose) {
  const Product products[] = {
      {R"(graph g opset(""=17)
input x: f32[2,4,7,9]
const w: f32[6,4,3,3] = ?
const b: f32[6] = ?
y = Conv(x, w, b) {pads=[1,1,1,1]} "p"
output y: f32[2, 6, 7, 9]
)",
       {2, 4, 7, 9},
       1},
      {R"(graph g opset(""=17)
input x: f32[2,4,7,9]
const w: f32[6,2,2,3] = ?
y = Conv(x, w) {group=2, strides=[2,1], dilations=[1,3], pads=[1,2,0,3]} "p"
output y: f32[2, 6, A, B]
)",
       {2, 4, 7, 9},
       1},
      {R"(graph g opset(""=17)
input x: f32[2,4,10]
const w: f32[4,1,5] = ?
y = Conv(x, w) {group=4, auto_pad="SAME_UPPER"} "p"
output y: f32[2, 4, 10]
)",
       {2, 4, 10},
       1},
      {R"(graph g opset(""=17)
input x: f32[3,8]
const w: f32[8,5] = ?
y = Gemm(x, w) "p"
output y: f32[3, 5]
)",
       {3, 8},
       -1},
      {R"(graph g opset(""=17)
input x: f32[3,8]
const w: f32[5,8] = ?
y = Gemm(x, w) {transB=1} "p"
output y: f32[3, 5]
)",
       {3, 8},
       -1},
      {R"(graph g opset(""=17)
input x: f32[2,3,8]
const w: f32[8,5] = ?
y = MatMul(x, w) "p"
output y: f32[2, 3, 5]
)",
       {2, 3, 8},
       -1},
  };
  for (const Product& product : products)
    for (const bool per_channel : {false, true}) {
      const Graph graph = test::with_weights(product.text);
      const Node& node = graph.node(*graph.find_node("p"));
      EXPECT_EQ(summed_axis(graph, node), product.axis);
      const Tensor& w = *graph.constant(node.input(1));
      TensorPlan plan;
      plan.value = "w";
      plan.scheme.bits = 5; // errors that are seen
      const bool rows = node.is("Conv") || node.attr_int("transB", 0) != 0;
      const int64_t outputs = w.dim(rows ? 0 : 1);
      if (per_channel) plan.axis = rows ? 0 : 1;
      for (int64_t c = 0; c < (per_channel ? outputs : 1); ++c)
        plan.ranges.push_back({-1.0 - 0.1 * static_cast<double>(c), 1});
      const Tensor codes = weight_codes(w, plan).value();

      // Every position of a channel is its mean.
      const Tensor drawn = test::random_tensor(product.x, 5, -1, 4);
      const int64_t axis = product.axis < 0 ? product.axis + drawn.rank() : product.axis;
      const int64_t channels = drawn.dim(axis);
      int64_t inner = 1;
      for (int64_t d = axis + 1; d < drawn.rank(); ++d)
        inner *= drawn.dim(d);
      std::vector<float> means, flat;
      for (int64_t c = 0; c < channels; ++c)
        means.push_back(drawn.data<float>()[static_cast<size_t>(c)]);
      for (int64_t i = 0; i < drawn.count(); ++i)
        flat.push_back(means[static_cast<size_t>(i / inner % channels)]);
      const Tensor x = Tensor::of<float>(product.x, std::span<const float>(flat));

      Graph rounded = graph;
      std::vector<float> stored;
      const auto parameters = parameters_for(plan.scheme, plan.ranges);
      const int64_t columns = w.count() / w.dim(0);
      for (int64_t i = 0; i < w.count(); ++i) {
        const int64_t channel = !per_channel ? 0 : rows ? i / columns : i % w.dim(1);
        stored.push_back(static_cast<float>(
            codes.at(i) * static_cast<double>(parameters[static_cast<size_t>(channel)].scale)));
      }
      rounded.set_constant(node.input(1),
                           Tensor::of<float>(w.shape(), std::span<const float>(stored)));
      const auto wanted = means_of_outputs(graph, x, axis == 1 && node.is("Conv") ? 1 : -1);
      const auto got = means_of_outputs(rounded, x, axis == 1 && node.is("Conv") ? 1 : -1);
      const std::vector<float> delta = mean_error(graph, node, codes, plan, means).value();
      ASSERT_EQ(std::ssize(delta), outputs) << product.text;
      double largest = 0;
      for (size_t c = 0; c < delta.size(); ++c) {
        EXPECT_NEAR(delta[c], wanted[c] - got[c], 1e-5) << product.text << c;
        largest = std::max(largest, std::fabs(wanted[c] - got[c]));
      }
      EXPECT_GT(largest, 0.01) << "rounding is to move something";
      means.pop_back();
      EXPECT_FALSE(mean_error(graph, node, codes, plan, means).ok());
    }
}

/// Convolutions of images that are far from 0, so that rounding moves means; with weights of 5 bits
/// by more than what codes of activations do.
constexpr const char* kBright = R"(graph g opset(""=17)
input x: f32[N,8,8,8]
const w1: f32[16,8,3,3] = ?
const w2: f32[16,16,1,1] = ?
const b2: f32[16] = ?
const w4: f32[16,4] = ?
const b4: f32[4] = ?
a = Conv(x, w1) {pads=[1,1,1,1]} "first"
r = Relu(a)
c = Conv(r, w2, b2) "second"
s = Relu(c)
m = GlobalAveragePool(s)
f = Flatten(m)
y = Gemm(f, w4, b4) "last"
output y: f32[N, 4]
)";

double quality(const Graph& graph, const QuantizationPlan& plan, uint32_t seed = 900) {
  const Tensor x = test::random_tensor({64, 8, 8, 8}, seed, 0.5F, 1.5F);
  return test::sqnr(test::run_reference(graph, x),
                    test::run_reference(quantize(graph, plan).value(), x));
}

QuantizationPlan plan_of(const Graph& graph, const QuantizeOptions& options, int64_t batch = 16) {
  const Tensor all = test::random_tensor({128, 8, 8, 8}, 7, 0.5F, 1.5F);
  auto next = std::make_shared<int64_t>(0);
  return plan_quantization(
             graph,
             [=]() -> Result<std::optional<std::vector<Tensor>>> {
               if (*next >= 128) return std::optional<std::vector<Tensor>>();
               const int64_t first = *next;
               *next += batch;
               return std::optional(std::vector<Tensor>{rows_of(all, first, batch)});
             },
             options, 128)
      .value();
}

bool has_means(const QuantizationPlan& plan) {
  return std::any_of(plan.tensors.begin(), plan.tensors.end(),
                     [](const TensorPlan& tensor) { return tensor.means.has_value(); });
}

TEST(MeanCorrection, IsTakenWhereItHelps) {
  const Graph graph = test::with_weights(kBright);
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"}) {
    QuantizeOptions options{
        .target = target, .calibrator = Auto{}, .weight_bits = 5, .per_channel = false};
    const QuantizationPlan corrected = plan_of(graph, options);
    options.correct_biases = false;
    const QuantizationPlan plain = plan_of(graph, options);
    EXPECT_FALSE(has_means(plain));
    ASSERT_TRUE(has_means(corrected)) << target;
    EXPECT_TRUE(std::any_of(corrected.trials.begin(), corrected.trials.end(),
                            [](const PlanTrial& t) { return t.what == kBiasesCorrected; }));
    EXPECT_NE(corrected.text().find("biases corrected: "), std::string::npos);
    EXPECT_GT(quality(graph, corrected), quality(graph, plain) + 3) << target;
    // Those who ask for another calibrator get it as it is, unless they ask for this too.
    options = {.target = target, .calibrator = MinMax{}, .weight_bits = 5, .per_channel = false};
    const QuantizationPlan extremes = plan_of(graph, options);
    EXPECT_FALSE(has_means(extremes));
    options.correct_biases = true;
    EXPECT_GT(quality(graph, plan_of(graph, options)), quality(graph, extremes) + 3) << target;
  }
}

TEST(MeanCorrection, StaysAwayWhereMeansAreOther) {
  // The examples held back, the second of every eight, are dark and the others bright.
  const Graph graph = test::with_weights(kBright);
  auto next = std::make_shared<uint32_t>(0);
  const QuantizationPlan plan =
      plan_quantization(
          graph,
          [=]() -> Result<std::optional<std::vector<Tensor>>> {
            if (*next >= 512) return std::optional<std::vector<Tensor>>();
            const uint32_t i = (*next)++;
            const bool held = i % 8 == 1;
            return std::optional(std::vector<Tensor>{
                test::random_tensor({1, 8, 8, 8}, i, held ? -1.5F : 0.5F, held ? -0.5F : 1.5F)});
          },
          {.calibrator = Auto{}, .weight_bits = 5, .per_channel = false}, 512)
          .value();
  EXPECT_FALSE(has_means(plan));
}

TEST(MeanCorrection, DoesNotDependOnBatches) {
  const Graph graph = test::with_weights(kBright);
  const QuantizeOptions options{.calibrator = MinMax{}, .correct_biases = true};
  EXPECT_EQ(plan_of(graph, options, 1).to_json(), plan_of(graph, options, 64).to_json());
}

TEST(MeanCorrection, PlansKeepTheMeans) {
  const Graph graph = test::with_weights(kBright);
  const QuantizationPlan plan = plan_of(graph, {.calibrator = MinMax{}, .correct_biases = true});
  const QuantizationPlan again = QuantizationPlan::from_json(plan.to_json()).value();
  EXPECT_EQ(again.to_json(), plan.to_json());
  ASSERT_EQ(again.tensors.size(), plan.tensors.size());
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    EXPECT_EQ(again.tensors[i].means, plan.tensors[i].means);
  EXPECT_TRUE(quantize(graph, again).value().content_hash() ==
              quantize(graph, plan).value().content_hash());
  EXPECT_TRUE(plan.tensor("x")->means.has_value());
  EXPECT_FALSE(plan.tensor("w1")->means.has_value());

  const std::string json = plan.to_json();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"axis\": -1", "\"axis\": 2"},
                                                        {"\"values\": [", "\"values\": [true, "},
                                                        {"\"values\": [", "\"values\": [1e300, "},
                                                        {"\"values\": [", "\"value\": ["}})
    EXPECT_FALSE(QuantizationPlan::from_json(with(from, to)).ok()) << to;
  // One mean too many is for another network.
  const auto longer = QuantizationPlan::from_json(with("\"values\": [", "\"values\": [1, "));
  ASSERT_TRUE(longer.ok()) << longer.error().text();
  const auto refused = quantize(graph, *longer);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("means"), std::string::npos) << refused.error().text();
}

TEST(MeanCorrection, ServesAfterWeightsChanged) {
  const Graph graph = test::with_weights(kBright);
  QuantizeOptions options{
      .calibrator = MinMax{}, .correct_biases = true, .weight_bits = 5, .per_channel = false};
  const QuantizationPlan plan = plan_of(graph, options);
  options.correct_biases = false;
  const QuantizationPlan plain = plan_of(graph, options);
  Graph trained = graph;
  const ValueId w = *trained.find_value("w2");
  std::vector<float> values = trained.constant(w)->to_floats().value();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] *= i % 3 == 0 ? 0.97F : 0.99F;
  trained.set_constant(w, Tensor::of<float>({16, 16, 1, 1}, std::span<const float>(values)));
  EXPECT_GT(quality(trained, plan), quality(trained, plain) + 3);
}

TEST(MeanCorrection, LeavesBiasesToTraining) {
  const Graph graph = test::with_weights(kBright);
  const QuantizationPlan plan = plan_of(graph, {.calibrator = MinMax{}, .correct_biases = true});
  const Graph trains = quantize(graph, plan, WeightStorage::kFloat).value();
  EXPECT_TRUE(trains.constant(*trains.find_value("b2"))
                  ->identical(*graph.constant(*graph.find_value("b2"))));
}

TEST(MeanCorrection, LeavesProductsWithSeveralMatricesAlone) {
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[N, 8, 8, 8]
const w: f32[8, 8, 5] = ?
const b: f32[5] = ?
r = Relu(x)
m = MatMul(r, w) "matrices"
y = Add(m, b) "bias"
output y: f32[N, 8, 8, 5]
)");
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"})
    for (const Calibrator& calibrator : {Calibrator(Auto{}), Calibrator(MinMax{})}) {
      const QuantizationPlan plan =
          plan_of(graph, {.target = target, .calibrator = calibrator, .correct_biases = true});
      EXPECT_FALSE(has_means(plan)) << target;
      EXPECT_GT(quality(graph, plan), 20) << target;
    }
}

TEST(MeanCorrection, IsRefusedWhereThereIsNoData) {
  const Graph graph = test::with_weights(kBright);
  EXPECT_FALSE(plan_quantization(graph, CalibrationSource{},
                                 {.correct_biases = true, .ranges = {{"x", {-1, 1}}}})
                   .ok());
  EXPECT_FALSE(plan_quantization(graph, test::random_source({4, 8, 8, 8}, 2),
                                 {.mode = QuantMode::kWeightOnly, .correct_biases = true})
                   .ok());
}

} // namespace
} // namespace octet
