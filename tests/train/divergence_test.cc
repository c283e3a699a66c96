// SPDX-License-Identifier: Apache-2.0
// Runs that end far above where they began: they are told from others by what the reference
// executor makes of the model that was trained.
#include <algorithm>
#include <cmath>

#include "train/trainer/diagnosis.h"
#include "training_support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::must_train;
using test::reference_loss;
using test::Sectors;
using test::small_network;
using test::small_options;

bool says_diverged(const TrainReport& report) {
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const TrainFinding& f) { return f.kind == TrainFinding::Kind::kDiverged; });
}

TrainOptions wild(int64_t steps) {
  TrainOptions options = small_options();
  options.optimizer.lr = 1000;
  options.schedule.kind = ScheduleKind::kConstant;
  options.max_steps = steps;
  return options;
}

const double kGuessing = std::log(3.0);

TEST(Divergence, IsWhatTheReferenceSeesInTheModel) {
  const Sectors data(300);
  for (const int64_t steps : {1, 3, 40}) {
    const TrainedModel lost = must_train(small_network(), data, wild(steps));
    EXPECT_TRUE(lost.report.diverged) << steps;
    EXPECT_TRUE(says_diverged(lost.report)) << steps;
    EXPECT_EQ(lost.report.best_step, 0) << steps;
    EXPECT_GT(reference_loss(lost.graph, data), 4 * kGuessing) << steps;
  }
  TrainOptions calm = small_options();
  for (const int64_t steps : {1, 3, 40}) {
    calm.max_steps = steps;
    const TrainedModel sound = must_train(small_network(), data, calm);
    EXPECT_FALSE(sound.report.diverged) << steps;
    EXPECT_FALSE(says_diverged(sound.report)) << steps;
    EXPECT_LT(reference_loss(sound.graph, data), 4 * kGuessing) << steps;
  }
}

TEST(Divergence, GivesTheBestModelWhereOneWasKept) {
  const Sectors data(300), unseen(100, 2);
  TrainOptions options = wild(1000); // the rate rises by 1 a step
  options.optimizer.kind = OptimizerKind::kSgd;
  options.schedule.kind = ScheduleKind::kLinear;
  options.schedule.warmup_fraction = 1;
  options.evaluate_steps = 1;
  const TrainedModel model = must_train(small_network(0), data, options, &unseen);
  EXPECT_TRUE(model.report.diverged);
  ASSERT_GT(model.report.best_step, 0);
  EXPECT_LT(reference_loss(model.graph, unseen), 4 * kGuessing);
}

TEST(Divergence, OfOneUnluckyBatchIsNone) {
  std::vector<double> recent;
  for (int i = 0; i < 20; ++i)
    train::remember_loss(recent, i == 18 ? 1e9 : 1.0);
  EXPECT_EQ(train::typical_loss(recent), 1.0);
  EXPECT_FALSE((train::LossCourse{.first = 1.2, .now = 1.0, .guessing = kGuessing}.diverged()));
  EXPECT_TRUE((train::LossCourse{.first = 1.2, .now = 1e9, .guessing = kGuessing}.diverged()));
  EXPECT_TRUE((train::LossCourse{.first = 1.2, .now = NAN, .guessing = kGuessing}.diverged()));
  // A trained model that only guesses now has lost what it knew; another one has learned little
  // yet.
  EXPECT_TRUE((train::LossCourse{.first = 0.1, .now = 1.1, .guessing = kGuessing}.diverged()));
  EXPECT_FALSE((train::LossCourse{.first = 0.9, .now = 1.1, .guessing = kGuessing}.diverged()));
  // Inputs that are not scaled begin high; what has come down from there has not diverged.
  EXPECT_FALSE((train::LossCourse{.first = 300, .now = 200, .guessing = kGuessing}.diverged()));
}

} // namespace
} // namespace octet
