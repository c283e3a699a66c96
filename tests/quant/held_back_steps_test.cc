// SPDX-License-Identifier: Apache-2.0
// Steps beside the calibrator `auto`: they are fitted without the examples that it measures with,
// and left out where the outputs are worse with them.
#include <memory>
#include <utility>

#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::planned;
using test::random_tensor;
using test::with_weights;

constexpr int64_t kDrawnRows = 64, kChannels = 8;

/// A channel whose numbers are large and whose weights are small is what smoothing is for.
Graph product(float weight_of_0 = 1) {
  Graph g = with_weights(R"(graph g opset(""=17)
input x: f32[N, 8]
const w: f32[8, 8] = ?
y = MatMul(x, w) "product"
output y: f32[N, 8]
)");
  const ValueId w = *g.find_value("w");
  std::vector<float> weights = g.constant(w)->to_floats().value();
  for (size_t i = 0; i < 8; ++i)
    weights[i] *= weight_of_0;
  for (size_t i = 16; i < 24; ++i)
    weights[i] /= 4;
  g.set_constant(w, Tensor::of<float>({kChannels, kChannels}, std::span<const float>(weights)));
  return g;
}

bool is_held_back(int64_t row) {
  return row % 8 == 1;
}

enum class Rows { kAll, kObserved };

/// Channel 0 takes one size in what is held back and another in all else.
OpenCalibration data(float observed, float held_back, Rows which = Rows::kAll) {
  return [=]() -> Result<CalibrationSource> {
    const std::vector<float> all = random_tensor({kDrawnRows, kChannels}, 11).to_floats().value();
    std::vector<float> rows;
    for (int64_t row = 0; row < kDrawnRows; ++row) {
      if (which == Rows::kObserved && is_held_back(row)) continue;
      const auto first = all.begin() + row * kChannels;
      const size_t begin = rows.size();
      rows.insert(rows.end(), first, first + kChannels);
      rows[begin] *= is_held_back(row) ? held_back : observed;
      rows[begin + 2] *= 4;
    }
    const Tensor batch =
        Tensor::of<float>({std::ssize(rows) / kChannels, kChannels}, std::span<const float>(rows));
    const auto given = std::make_shared<bool>(false);
    return CalibrationSource([batch, given]() -> Result<std::optional<std::vector<Tensor>>> {
      if (std::exchange(*given, true)) return std::optional<std::vector<Tensor>>();
      return std::optional(std::vector<Tensor>{batch});
    });
  };
}

TEST(HeldBackSteps, AreFittedWithoutWhatIsHeldBack) {
  const Graph graph = product(0.001F); // so that it does not matter whether channel 0 saturates
  const QuantizationPlan automatic =
      planned(graph, data(1, 2), {.calibrator = Auto{}, .steps = {"smooth"}});
  const QuantizationPlan on_observed =
      planned(graph, data(1, 2, Rows::kObserved), {.steps = {"smooth"}});
  const QuantizationPlan on_all = planned(graph, data(1, 2), {.steps = {"smooth"}});
  ASSERT_EQ(automatic.held_back, kDrawnRows / 8);
  const auto factors = [](const QuantizationPlan& plan) {
    return std::get<Smooth>(plan.steps.at(0).kind).s.to_doubles().value();
  };
  ASSERT_EQ(automatic.steps.size(), 1U);
  EXPECT_EQ(factors(automatic), factors(on_observed));
  EXPECT_NE(factors(on_all), factors(on_observed)) << "the test is to tell them apart";
}

TEST(HeldBackSteps, AreLeftOutWhereTheOutputsAreWorse) {
  // Hardly anything in what is observed, so that it is made larger; and then it is as large as others.
  const OpenCalibration changes = data(0.01F, 1);
  ASSERT_FALSE(planned(product(), changes, {.steps = {"smooth"}}).steps.empty());
  const QuantizationPlan with =
      planned(product(), changes, {.calibrator = Auto{}, .steps = {"smooth"}});
  QuantizationPlan without = planned(product(), changes, {.calibrator = Auto{}});
  EXPECT_TRUE(with.steps.empty());
  EXPECT_EQ(with.stepped_hash, 0U);
  ASSERT_FALSE(with.trials.empty());
  EXPECT_EQ(with.trials.back().what, "steps left out: smooth");
  EXPECT_LT(with.trials.back().sqnr, *without.sqnr() - 3);
  without.trials.push_back(with.trials.back());
  EXPECT_EQ(with.to_json(), without.to_json());
  EXPECT_EQ(QuantizationPlan::from_json(with.to_json()).value().to_json(), with.to_json());
}

TEST(HeldBackSteps, StayWhereTheyHelp) {
  const QuantizationPlan with =
      planned(product(), data(1, 1), {.calibrator = Auto{}, .steps = {"smooth"}});
  const QuantizationPlan without = planned(product(), data(1, 1), {.calibrator = Auto{}});
  EXPECT_EQ(with.steps.size(), 1U);
  EXPECT_GT(*with.sqnr(), *without.sqnr());
  for (const PlanTrial& trial : with.trials)
    EXPECT_FALSE(trial.what.starts_with(kStepsLeftOut)) << trial.what;
}

} // namespace
} // namespace octet
