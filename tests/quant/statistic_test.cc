// SPDX-License-Identifier: Apache-2.0
// Statistics: exact whatever the order and the cut of batches, with the bytes that were stated.
#include <cmath>
#include <limits>

#include "quant/statistics/channel_magnitude.h"
#include "quant/statistics/channel_mean.h"
#include "quant/statistics/channel_moments.h"
#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

bool same_state(const Statistic& a, const Statistic& b) {
  const auto left = a.state(), right = b.state();
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i].first != right[i].first || !left[i].second.identical(right[i].second)) return false;
  return true;
}

TEST(LongSum, LosesNothing) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  LongSum sum;
  for (const double x : {1e30, 1.0, -1e30, 0.25})
    sum.add(x);
  EXPECT_EQ(sum.value(), 1.25);
  LongSum extremes;
  extremes.add(double{kLargest} * double{kLargest});
  extremes.add(double{kSmallest} * double{kSmallest});
  extremes.add(-double{kLargest} * double{kLargest});
  EXPECT_EQ(extremes.value(), double{kSmallest} * double{kSmallest});
  LongSum negative;
  negative.add(-double{kSmallest});
  EXPECT_EQ(negative.value(), -double{kSmallest});
  LongSum tenths; // 10^5 times the f32 number next to 0.1: exactly that many times as much
  for (int i = 0; i < 100000; ++i)
    tenths.add(double{0.1F});
  EXPECT_EQ(tenths.value(), 1e5 * double{0.1F});
}

template <class S>
void expect_exact_merging() {
  const Tensor first = test::random_tensor({3, 4, 5}, 1, -1e6F, 1e6F);
  const Tensor second = test::random_tensor({2, 4, 5}, 2, -1e-6F, 1e-6F);
  S forward(1, 4), backward(1, 4), a(1, 4), b(1, 4), c(1, 4), d(1, 4);
  ASSERT_TRUE(forward.observe(first, nullptr).ok() && forward.observe(second, nullptr).ok());
  ASSERT_TRUE(backward.observe(second, nullptr).ok() && backward.observe(first, nullptr).ok());
  EXPECT_TRUE(same_state(forward, backward));
  ASSERT_TRUE(a.observe(first, nullptr).ok() && b.observe(second, nullptr).ok());
  ASSERT_TRUE(c.merge(a).ok() && c.merge(b).ok() && d.merge(b).ok() && d.merge(a).ok());
  EXPECT_TRUE(same_state(c, forward));
  EXPECT_TRUE(same_state(d, forward));
  EXPECT_EQ(forward.bytes(), S::bytes_for_channels(4));
  EXPECT_FALSE(forward.merge(S(1, 3)).ok());
  S before(1, 4);
  ASSERT_TRUE(before.merge(forward).ok());
  EXPECT_FALSE(forward.observe(test::random_tensor({3, 5, 5}, 1), nullptr).ok());
  EXPECT_FALSE(forward.observe(Tensor::of<float>({1, 4}, {1, 2, NAN, 3}), nullptr).ok());
  EXPECT_TRUE(same_state(forward, before));
}

TEST(Statistic, MergesExactlyInAnyOrder) {
  expect_exact_merging<ChannelMean>();
  expect_exact_merging<ChannelMagnitude>();
  expect_exact_merging<ChannelMoments>();
  ChannelMean mean(1, 4);
  EXPECT_FALSE(mean.merge(ChannelMagnitude(1, 4)).ok());
}

TEST(Statistic, MasksLeavePaddingOut) {
  // [2, 2, 2], of which the second position of the second row is padding.
  const Tensor x = Tensor::of<float>({2, 2, 2}, {1, 2, 3, 4, 5, -6, 1000, NAN});
  const Tensor mask = Tensor::of<int64_t>({2, 2}, {1, 1, 1, 0});
  ChannelMean mean(-1, 2);
  EXPECT_FALSE(mean.means().ok()); // nothing was observed
  ASSERT_TRUE(mean.observe(x, &mask).ok());
  EXPECT_EQ(mean.means().value(), (std::vector<double>{3, 0}));
  ChannelMagnitude magnitude(-1, 2);
  ASSERT_TRUE(magnitude.observe(x, &mask).ok());
  EXPECT_EQ(magnitude.largest(), (std::vector<float>{5, 6}));
  EXPECT_EQ(magnitude.mean_squares(), (std::vector<double>{35.0 / 3, 56.0 / 3}));
  ChannelMoments moments(-1, 2);
  EXPECT_FALSE(moments.moments().ok());
  ASSERT_TRUE(moments.observe(x, &mask).ok());
  const auto both = moments.moments().value();
  EXPECT_EQ(both[0].mean, 3);
  EXPECT_NEAR(both[0].variance, 8.0 / 3, 1e-12);
  EXPECT_EQ(both[1].mean, 0);
  EXPECT_NEAR(both[1].variance, 56.0 / 3, 1e-12);
}

} // namespace
} // namespace octet
