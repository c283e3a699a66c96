// SPDX-License-Identifier: Apache-2.0
// Philox against the known answers published with Random123, and the helpers' distributions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/philox.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using Block = std::array<uint32_t, 4>;

// Random123 1.14, tests/kat_vectors, "philox4x32 10".
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, SeekingContinuesTheSequence) {
  Philox whole(123, 4);
  std::vector<uint32_t> drawn(50);
  std::generate(drawn.begin(), drawn.end(), [&] { return whole.next_u32(); });
  for (const uint64_t start : {0, 1, 3, 4, 17, 49}) {
    Philox resumed(123, 4);
    resumed.seek(start);
    for (uint64_t i = start; i < 50; ++i)
      EXPECT_EQ(resumed.next_u32(), drawn[i]);
    EXPECT_EQ(resumed.position(), 50U);
  }
  EXPECT_NE(Philox(123, 5).next_u32(), drawn[0]);
  EXPECT_NE(Philox(124, 4).next_u32(), drawn[0]);
}

TEST(Philox, QuantileInvertsTheNormalDistribution) {
  for (const double p : {1e-300, 1e-20, 1e-12, 1e-5, 0.01, 0.07, 0.0749999, 0.3, 0.5, 0.7, 0.95}) {
    const double x = normal_quantile(p);
    EXPECT_NEAR(0.5 * std::erfc(-x / std::sqrt(2.0)) / p, 1, 2e-12) << p;
    if (p >= 0.01) {
      EXPECT_NEAR(normal_quantile(1 - p), -x, 1e-13) << p;
    }
  }
}

TEST(Philox, MomentsOfUniformAndNormal) {
  Philox random(1);
  const int n = 200000;
  double sum = 0;
  double square = 0;
  double uniform_sum = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    square += x * x;
    const double u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    uniform_sum += u;
  }
  const double five_sigma = 5 / std::sqrt(n);
  EXPECT_NEAR(sum / n, 0, five_sigma);
  EXPECT_NEAR(square / n, 1, five_sigma * std::sqrt(2.0));
  EXPECT_NEAR(uniform_sum / n, 0.5, five_sigma / std::sqrt(12.0));
}

TEST(Philox, PermutationsArePermutations) {
  for (const int64_t n : {0, 1, 2, 10, 1000}) {
    std::vector<int64_t> order = permutation(n, 9, 2);
    EXPECT_EQ(order, permutation(n, 9, 2));
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> expected(static_cast<size_t>(n));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(sorted, expected);
  }
  EXPECT_NE(permutation(100, 9, 2), permutation(100, 9, 3));
  // Each of the 6 orders of 3 comes up equally often.
  std::array<int, 27> seen{};
  for (uint64_t epoch = 0; epoch < 6000; ++epoch) {
    const std::vector<int64_t> order = permutation(3, 5, epoch);
    ++seen[static_cast<size_t>(order[0] * 9 + order[1] * 3 + order[2])];
  }
  for (const int count : seen)
    EXPECT_TRUE(count == 0 || std::abs(count - 1000) < 150) << count;
}

} // namespace
} // namespace octet
