// SPDX-License-Identifier: Apache-2.0
// The largest and the smallest codes, against the elements one by one.
#include <limits>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/reduce.h"
#include <gtest/gtest.h>

namespace octet::kernels {
namespace {

constexpr std::array<Best, 2> kBoth = {Best::kLargest, Best::kSmallest};

/// x is [outer, n, columns] with the middle axis reduced.
template <class T>
void expect_lines(int64_t outer, int64_t n, int64_t columns, Isa isa, std::mt19937& random) {
  test::Guarded<T> x(outer * n * columns, 1), y(outer * columns, 3);
  using Limits = std::numeric_limits<T>;
  test::fill(x.data(), x.size(), Limits::min(), Limits::max(), test::Fill::kBell, random);
  const ReducePlan plan =
      plan_reduce(std::vector<int64_t>{outer, n, columns}, {false, true, false});
  SerialFor serial;
  for (const Best best : kBoth) {
    reduce_bytes(best, plan, x.data(), y.data(), isa, serial);
    ASSERT_TRUE(y.guards_intact());
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t c = 0; c < columns; ++c) {
        T want = best == Best::kLargest ? Limits::min() : Limits::max();
        for (int64_t i = 0; i < n; ++i) {
          const T v = x[(o * n + i) * columns + c];
          if (best == Best::kLargest ? v > want : v < want) want = v;
        }
        ASSERT_EQ(y[o * columns + c], want)
            << outer << ", " << n << ", " << columns << " at " << o << ", " << c;
      }
  }
}

/// Lines of every width around vectors and their halves, rows of every length around them (one
/// column), and lines that are cut.
TEST(ReduceBytes, IsTheBestOfAllElements) {
  std::mt19937 random(11);
  for (const Isa isa : test::covered_isas("best of codes")) {
    SCOPED_TRACE(isa_name(isa));
    for (int64_t columns = 1; columns <= 280; columns += columns < 140 ? 1 : 7)
      for (const int64_t n : {0, 1, 2, 5, 18}) {
        expect_lines<int8_t>(2, n, columns, isa, random);
        expect_lines<uint8_t>(2, n, columns, isa, random);
      }
    for (int64_t n = 1; n <= 300; ++n) {
      expect_lines<int8_t>(3, n, 1, isa, random);
      expect_lines<uint8_t>(3, n, 1, isa, random);
    }
    expect_lines<uint8_t>(2, 3, 1000, isa, random);
  }
}

} // namespace
} // namespace octet::kernels
