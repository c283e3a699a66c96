// SPDX-License-Identifier: Apache-2.0
// Networks that mix the examples of a batch are calibrated on one example at a time.
#include <memory>
#include <utility>

#include "quant/search_support.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/range_shards.h"
#include "octet/ranges.h"

namespace octet {
namespace {

using test::planned;
using test::random_tensor;
using test::with_weights;

constexpr int64_t kMixedRows = 64, kWidth = 8;

/// `body` makes s of x; a product reads it.
Graph network(const std::string& body) {
  return with_weights("graph g opset(\"\"=17)\ninput x: f32[N, 8]\nconst w: f32[8, 8] = ?\n" +
                      body + "\ny = MatMul(s, w) \"product\"\noutput y: f32[N, 8]\n");
}

/// Rows from loud to quiet, `size` a batch.
OpenCalibration rows_of_unlike_size(int64_t size) {
  return [size]() -> Result<CalibrationSource> {
    std::vector<float> all = random_tensor({kMixedRows, kWidth}, 3).to_floats().value();
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t row = i / kWidth;
      all[i] /= static_cast<float>(1 + row);
    }
    const auto next = std::make_shared<int64_t>(0);
    return CalibrationSource([=]() -> Result<std::optional<std::vector<Tensor>>> {
      const int64_t begin = std::exchange(*next, *next + size);
      if (begin >= kMixedRows) return std::optional<std::vector<Tensor>>();
      const std::vector<float> rows(all.begin() + begin * kWidth,
                                    all.begin() + (begin + size) * kWidth);
      return std::optional(
          std::vector<Tensor>{Tensor::of<float>({size, kWidth}, std::span<const float>(rows))});
    });
  };
}

QuantizationPlan
plan_of(const Graph& graph, int64_t batch, const Calibrator& calibrator = MinMax{}) {
  return planned(graph, rows_of_unlike_size(batch), {.calibrator = calibrator});
}

const std::vector<std::string> kMixing = {
    "m = ReduceMax(x) {keepdims=0}\ns = Div(x, m)",
    "t = Softmax(x) {axis=0}\ns = Neg(t)",
    "const e: i64[] = [0]\ns = CumSum(x, e)",
    "const lowest: f32[] = [0.5]\nm = ReduceMax(x) {keepdims=0}\nh = Mul(m, lowest)\ns = Max(x, h)",
};

TEST(OneAtATime, WhereANetworkMixesItsRangesAreThoseOfExamplesAlone) {
  for (const std::string& body : kMixing)
    for (const Calibrator& calibrator : {Calibrator(MinMax{}), Calibrator(Auto{})}) {
      const Graph graph = network(body);
      const QuantizationPlan batches = plan_of(graph, 16, calibrator),
                             alone = plan_of(graph, 1, calibrator);
      EXPECT_TRUE(batches.one_at_a_time) << body;
      EXPECT_FALSE(alone.one_at_a_time) << "there is nothing to cut";
      ASSERT_NE(batches.tensor("s"), nullptr) << body;
      EXPECT_EQ(batches.tensor("s")->ranges, alone.tensor("s")->ranges) << body;
      EXPECT_EQ(batches.samples, alone.samples);
      const auto again = QuantizationPlan::from_json(batches.to_json());
      ASSERT_TRUE(again.ok()) << again.error().text();
      EXPECT_TRUE(again->one_at_a_time);
      EXPECT_EQ(again->to_json(), batches.to_json());
    }
}

TEST(OneAtATime, RangesAndTheirPartsAreThoseOfExamplesAlone) {
  std::vector<float> all = random_tensor({kMixedRows, kWidth}, 3).to_floats().value();
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t row = i / kWidth;
    all[i] /= static_cast<float>(1 + row);
  }
  const test::Rows data(Tensor::of<float>({kMixedRows, kWidth}, std::span<const float>(all)));
  const QuantizeOptions batches{.calibrator = MinMax{}, .samples = 0, .batch_size = 16},
      alone{.calibrator = MinMax{}, .samples = 0, .batch_size = 1};
  for (const std::string& body : kMixing) {
    const Graph graph = network(body);
    EXPECT_TRUE(mixes_examples(graph, data, batches).value()) << body;
    EXPECT_FALSE(mixes_examples(graph, data, alone).value()) << "there is nothing to cut";
    EXPECT_EQ(observe_ranges(graph, data, batches).value(),
              observe_ranges(graph, data, alone).value())
        << body;
    for (int64_t part = 1; part <= 3; ++part) // each asks the first examples of all
      EXPECT_EQ(shard_text(observe_shard(graph, data, batches, {part, 3}).value()),
                shard_text(observe_shard(graph, data, alone, {part, 3}).value()))
          << body;
  }
  const Graph other = network("s = Relu(x)");
  EXPECT_FALSE(mixes_examples(other, data, batches).value());
  EXPECT_EQ(observe_shard(other, data, batches, {}).value().run.batch_size, 16);
}

TEST(OneAtATime, OthersKeepTheirBatches) {
  for (const std::string body : {"m = ReduceMax(x) {axes=[1], keepdims=1}\ns = Sub(x, m)",
                                 "t = Softmax(x) {axis=1}\ns = Neg(t)", "s = Relu(x)"}) {
    const QuantizationPlan plan = plan_of(network(body), 16);
    EXPECT_FALSE(plan.one_at_a_time) << body;
    EXPECT_EQ(plan.to_json().find("one_at_a_time"), std::string::npos);
  }
}

} // namespace
} // namespace octet
