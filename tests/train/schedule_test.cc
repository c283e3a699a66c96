// SPDX-License-Identifier: Apache-2.0
// Schedules against figures worked out by hand from the published formulas.
#include <cmath>

#include "train/trainer/schedule.h"
#include <gtest/gtest.h>

namespace octet::train {
namespace {

// PyTorch documents OneCycleLR as: rise from max/25 to max until step 0.3 * total - 1, then fall to
// max/25/1e4 at step total - 1, both as (1 + cos(pi * part)) / 2; beta1 from 0.95 to 0.85 and back.
TEST(OneCycle, PassesThroughItsCorners) {
  const OptimizerOptions adam{.lr = 0.01};
  const ScheduleOptions cycle;
  const Rates first = rates_at(adam, cycle, 0, 100), top = rates_at(adam, cycle, 29, 100),
              last = rates_at(adam, cycle, 99, 100);
  EXPECT_NEAR(first.lr, 0.0004, 1e-15);
  EXPECT_DOUBLE_EQ(first.momentum, 0.95);
  EXPECT_DOUBLE_EQ(top.lr, 0.01);
  EXPECT_DOUBLE_EQ(top.momentum, 0.85);
  EXPECT_NEAR(last.lr, 4e-8, 1e-17);
  EXPECT_DOUBLE_EQ(last.momentum, 0.95);
}

TEST(OneCycle, FollowsACosineBetweenThem) {
  const OptimizerOptions adam{.lr = 1.0};
  const ScheduleOptions cycle{.div_factor = 10, .final_div_factor = 10};
  // 11 steps of which 5 rise would end at 4: warm fraction 5/11; step 2 is half way, step 7 of 4 ..
  // 10 too.
  ScheduleOptions half = cycle;
  half.warm_fraction = 5.0 / 11.0;
  EXPECT_NEAR(rates_at(adam, half, 2, 11).lr, (0.1 + 1.0) / 2, 1e-12);
  EXPECT_NEAR(rates_at(adam, half, 7, 11).lr, (1.0 + 0.01) / 2, 1e-12);
  EXPECT_NEAR(rates_at(adam, half, 1, 11).lr, 1.0 - 0.9 / 2 * (1 + std::cos(M_PI / 4)), 1e-12);
}

TEST(OneCycle, KeepsMomentumWhenItDoesNotCycle) {
  const OptimizerOptions sgd{.kind = OptimizerKind::kSgd, .lr = 0.1, .momentum = 0.7};
  EXPECT_DOUBLE_EQ(rates_at(sgd, {.cycle_momentum = false}, 10, 100).momentum, 0.7);
}

TEST(Cosine, WarmsUpThenFalls) {
  const OptimizerOptions adam{.lr = 0.2};
  const ScheduleOptions s{.kind = ScheduleKind::kCosine, .warmup_steps = 4, .final_lr = 0.02};
  EXPECT_DOUBLE_EQ(rates_at(adam, s, 0, 24).lr, 0.05);
  EXPECT_DOUBLE_EQ(rates_at(adam, s, 3, 24).lr, 0.2);
  EXPECT_NEAR(rates_at(adam, s, 4, 24).lr, 0.2, 1e-15);
  EXPECT_NEAR(rates_at(adam, s, 14, 24).lr, 0.11, 1e-12);
  EXPECT_DOUBLE_EQ(rates_at(adam, s, 14, 24).momentum, 0.9);
}

TEST(Linear, WarmsUpByAFractionThenFallsAlongALine) {
  const OptimizerOptions adam{.lr = 0.2};
  const ScheduleOptions s{.kind = ScheduleKind::kLinear, .warmup_fraction = 0.15, .final_lr = 0.02};
  EXPECT_DOUBLE_EQ(rates_at(adam, s, 0, 24).lr, 0.05); // 3.6 steps are 4
  EXPECT_DOUBLE_EQ(rates_at(adam, s, 3, 24).lr, 0.2);
  EXPECT_NEAR(rates_at(adam, s, 4, 24).lr, 0.2, 1e-15);
  EXPECT_NEAR(rates_at(adam, s, 14, 24).lr, 0.11, 1e-12);
  EXPECT_NEAR(rates_at(adam, s, 23, 24).lr, 0.029, 1e-12);
}

TEST(OneStep, IsFinite) {
  for (const ScheduleKind kind : {ScheduleKind::kOneCycle, ScheduleKind::kCosine,
                                  ScheduleKind::kConstant, ScheduleKind::kLinear})
    EXPECT_TRUE(std::isfinite(rates_at({}, {.kind = kind}, 0, 1).lr));
}

} // namespace
} // namespace octet::train
