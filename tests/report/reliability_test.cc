// SPDX-License-Identifier: Apache-2.0
// Bins and the expected calibration error beside sums made by hand.
#include <cmath>
#include <limits>

#include "report/reliability.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(Reliability, OfFiveExamples) {
  const std::vector<int64_t> labels = {0, 0, 1, 1, 0};
  const std::vector<int64_t> predictions = {0, 1, 1, 1, 0};
  const std::vector<float> p = {0.95F, 0.05F, 0.08F, 0.92F, 0.4F, 0.6F, 0.0F, 1.0F, 0.65F, 0.35F};
  const Reliability r = reliability(labels, predictions, p);
  ASSERT_EQ(r.bins.size(), 10U);
  EXPECT_EQ(r.bins[6].count, 2);
  EXPECT_NEAR(r.bins[6].confidence, 0.625, 1e-6);
  EXPECT_EQ(r.bins[6].accuracy, 1);
  EXPECT_EQ(r.bins[9].count, 3); // the probability 1 is within the last one
  EXPECT_NEAR(r.bins[9].confidence, 2.87 / 3, 1e-6);
  EXPECT_NEAR(r.bins[9].accuracy, 2.0 / 3, 1e-12);
  EXPECT_NEAR(r.expected_error, (std::abs(2 - 1.25) + std::abs(2 - 2.87)) / 5, 1e-6);
  const std::string svg = svg_of(r, "a & b");
  EXPECT_NE(svg.find("aria-label=\"a &amp; b\""), std::string::npos);
}

TEST(Reliability, LeavesNanOut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Reliability r = reliability(std::vector<int64_t>{0, 1}, std::vector<int64_t>{0, 0},
                                    std::vector<float>{0.8F, 0.2F, nan, nan});
  EXPECT_NEAR(r.expected_error, 0.2, 1e-6);
  EXPECT_EQ(reliability({}, {}, {}).expected_error, 0);
}

} // namespace
} // namespace octet
