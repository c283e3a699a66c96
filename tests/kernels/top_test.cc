// SPDX-License-Identifier: Apache-2.0
// The k best of lines against a stable sort, on every instruction set.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/philox.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/scan.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

template <typename T>
bool is_above(T a, T b) {
  if constexpr (std::is_same_v<T, float>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a > b;
}

/// The places of a line in order of rank.
template <typename T>
std::vector<int64_t> ranking(const TopArgs& a, const T* line) {
  std::vector<int64_t> order(static_cast<size_t>(a.lines.size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const T p = line[i * a.lines.inner], q = line[j * a.lines.inner];
    return a.rank == Rank::kLargest ? is_above(p, q) : is_above(q, p);
  });
  return order;
}

/// How the elements of a line lie.
enum class Draw { kAny, kFew, kExtremes, kRising, kFalling, kEqual };

template <typename T>
T extreme(Philox& random) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, float>) {
    const float values[] = {Limits::quiet_NaN(),
                            -Limits::quiet_NaN(),
                            Limits::infinity(),
                            -Limits::infinity(),
                            0.0F,
                            -0.0F,
                            Limits::denorm_min(),
                            -Limits::denorm_min(),
                            Limits::max(),
                            Limits::lowest()};
    return values[random.below(static_cast<int64_t>(std::size(values)))];
  } else {
    const T values[] = {Limits::min(), Limits::max(), T{0}, T{-1}, Limits::min() + 1};
    return values[random.below(static_cast<int64_t>(std::size(values)))];
  }
}

template <typename T>
T element(Draw draw, int64_t i, Philox& random) {
  switch (draw) {
  case Draw::kAny:
    break;
  case Draw::kFew:
    return static_cast<T>(random.below(5) - 2);
  case Draw::kExtremes:
    return random.below(4) == 0 ? extreme<T>(random) : static_cast<T>(random.below(9));
  case Draw::kRising:
    return static_cast<T>(i);
  case Draw::kFalling:
    return static_cast<T>(-i);
  case Draw::kEqual:
    return std::numeric_limits<T>::lowest();
  }
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(random.uniform(-3, 3));
  else
    return static_cast<T>(random.next_u64());
}

template <typename T>
void expect_ranked(const TopArgs& a, const Guarded<T>& x, ParallelFor& parallel) {
  const Lines& l = a.lines;
  const int64_t count = l.outer * a.k * l.inner;
  std::vector<T> values(static_cast<size_t>(count));
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t n = 0; n < l.inner; ++n) {
      const T* line = x.data() + o * l.size * l.inner + n;
      const std::vector<int64_t> order = ranking(a, line);
      for (int64_t i = 0; i < a.k; ++i) {
        const auto to = static_cast<size_t>((o * a.k + i) * l.inner + n);
        places[to] = order[static_cast<size_t>(i)];
        values[to] = line[places[to] * l.inner];
      }
    }
  for (const Isa isa : covered_isas("top")) {
    Guarded<T> y(count, 1);
    Guarded<int64_t> at(count, 1);
    top_best(a, x.data(), y.data(), at.data(), isa, parallel);
    ASSERT_TRUE(y.guards_intact() && at.guards_intact());
    const auto where = [&] {
      return std::string(isa_name(isa)) + ": " + std::to_string(a.k) + " of " +
             std::to_string(l.outer) + " x " + std::to_string(l.size) + " x " +
             std::to_string(l.inner);
    };
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(at[i], places[static_cast<size_t>(i)]) << where() << ", element " << i;
    ASSERT_TRUE(count == 0 || std::memcmp(y.data(), values.data(), values.size() * sizeof(T)) == 0)
        << where();
    Guarded<T> values_alone(count);
    Guarded<int64_t> places_alone(count);
    top_best<T>(a, x.data(), values_alone.data(), nullptr, isa, parallel);
    top_best<T>(a, x.data(), nullptr, places_alone.data(), isa, parallel);
    ASSERT_TRUE(count == 0 ||
                std::memcmp(values_alone.data(), y.data(), values.size() * sizeof(T)) == 0);
    ASSERT_TRUE(places_alone == at);
  }
}

template <typename T>
void expect_ranked(Lines lines,
                   std::span<const Draw> draws,
                   std::span<const int64_t> counts,
                   Philox& random) {
  SerialFor serial;
  for (const Draw draw : draws) {
    Guarded<T> x(lines.outer * lines.size * lines.inner, 1);
    for (int64_t i = 0; i < x.size(); ++i)
      x[i] = element<T>(draw, i / lines.inner % lines.size, random);
    for (const int64_t k : counts) {
      if (k < 0 || k > lines.size) continue;
      for (const Rank rank : {Rank::kLargest, Rank::kSmallest})
        ASSERT_NO_FATAL_FAILURE(expect_ranked<T>({lines, k, rank}, x, serial));
    }
  }
}

template <typename T>
class Top : public ::testing::Test {};
using Types = ::testing::Types<float, int32_t, int64_t>;
TYPED_TEST_SUITE(Top, Types);

TYPED_TEST(Top, IsAStableSort) {
  constexpr Draw kDraws[] = {Draw::kAny,    Draw::kFew,     Draw::kExtremes,
                             Draw::kRising, Draw::kFalling, Draw::kEqual};
  Philox random(3);
  for (const int64_t n : {0,  1,  2,   7,   8,   9,   15,  16,  17,  31,  33,   63,  64,
                          65, 66, 100, 127, 129, 200, 255, 257, 511, 777, 1024, 2049}) {
    const int64_t counts[] = {0, 1, 2, 7, 20, 33, 64, 150, n / 2, n - 1, n};
    ASSERT_NO_FATAL_FAILURE(expect_ranked<TypeParam>({2, n, 1}, kDraws, counts, random));
  }
}

TYPED_TEST(Top, LinesLieBesideEachOther) {
  constexpr Draw kDraws[] = {Draw::kFew, Draw::kExtremes};
  Philox random(4);
  for (const int64_t inner : {0, 2, 15, 16, 17, 35})
    for (const int64_t n : {1, 5, 70, 150}) {
      const int64_t counts[] = {1, 20, n};
      ASSERT_NO_FATAL_FAILURE(expect_ranked<TypeParam>({2, n, inner}, kDraws, counts, random));
    }
  ASSERT_NO_FATAL_FAILURE(
      expect_ranked<TypeParam>({0, 5, 3}, kDraws, std::array{int64_t{2}}, random));
}

/// Chunks of lines begin anywhere in an image.
TYPED_TEST(Top, ThreadsTakeLinesInTurn) {
  Philox random(5);
  ThreadPool pool(3);
  Guarded<TypeParam> x(3 * 900 * 50, 1);
  for (int64_t i = 0; i < x.size(); ++i)
    x[i] = element<TypeParam>(Draw::kExtremes, i, random);
  ASSERT_NO_FATAL_FAILURE(expect_ranked<TypeParam>({{3, 900, 50}, 20, Rank::kLargest}, x, pool));
}

} // namespace
} // namespace octet::kernels
