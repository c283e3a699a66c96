// SPDX-License-Identifier: Apache-2.0
// int8 product of every pair of codes, and of every four corner codes with every four corner
// weights, on every instruction set: where sums of neighbours leave 16 bits, they may not saturate.
#include <algorithm>
#include <array>
#include <random>

#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/igemm.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::share;

constexpr XRange kCornersS8{.is_signed = true, .lo = -128, .hi = 127};
constexpr XRange kCornersRelu{.is_signed = true, .lo = 0, .hi = 127};
constexpr XRange kCornersU8{.is_signed = false, .lo = 0, .hi = 255};
constexpr XRange kCornersTilted{.is_signed = true, .lo = -9, .hi = 127};

// x[m, k] against w[n, k], row by row as they are given.
struct CornerRows {
  int64_t k;
  std::vector<int> x;
  std::vector<int> w;
};

void check_corners(const CornerRows& rows, XRange range, int zero) {
  const int64_t m = static_cast<int64_t>(rows.x.size()) / rows.k;
  const int64_t n = static_cast<int64_t>(rows.w.size()) / rows.k;
  std::vector<uint8_t> x(rows.x.begin(), rows.x.end());
  std::vector<int8_t> w(rows.w.size()), excess(rows.w.size());
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<int8_t>(std::clamp(rows.w[i], -128, 127));
    excess[i] = static_cast<int8_t>(rows.w[i] - w[i]);
  }
  const bool wide = std::any_of(excess.begin(), excess.end(), [](int8_t v) { return v != 0; });
  SerialFor serial;
  for (const Isa isa : covered_isas("igemm corners")) {
    SCOPED_TRACE(std::string(isa_name(isa)) + " x=[" + std::to_string(range.lo) + "," +
                 std::to_string(range.hi) + "]");
    const PackedWeights packed =
        pack_weights(w.data(), rows.k, n, rows.k, range, isa, wide ? excess.data() : nullptr);
    const IgemmColumns columns = make_columns(packed, {.x_zero_point = zero});
    std::vector<int32_t> y(static_cast<size_t>(m * n));
    IgemmArgs args;
    args.m = m;
    args.x = x.data();
    args.x_stride = rows.k;
    args.w = &packed;
    args.columns = &columns;
    args.epilogue.type = YType::kInt32;
    args.y = y.data();
    args.y_stride = n;
    const AlignedBuffer shared = share(args);
    igemm(args, serial);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        int sum = 0;
        for (int64_t q = 0; q < rows.k; ++q) {
          sum += (rows.x[static_cast<size_t>(i * rows.k + q)] - zero) *
                 rows.w[static_cast<size_t>(j * rows.k + q)];
        }
        ASSERT_EQ(y[static_cast<size_t>(i * n + j)], sum) << "at " << i << ", " << j;
      }
    }
  }
}

// All strings of four of these, each followed by `last`.
std::vector<int> strings_of(const std::array<int, 4>& codes, const std::vector<int>& last) {
  std::vector<int> rows;
  rows.reserve(256 * (4 + last.size()));
  for (size_t i = 0; i < 256; ++i) {
    for (const size_t shift : {0U, 2U, 4U, 6U}) {
      rows.push_back(codes[i >> shift & 3]);
    }
    rows.insert(rows.end(), last.begin(), last.end());
  }
  return rows;
}

std::array<int, 4> corners(XRange range) {
  return {range.lo, 0, range.hi / 2 + 1, range.hi};
}

TEST(IgemmCorners, EveryPairOfCodes) {
  for (const XRange range : {kCornersS8, kCornersRelu, kCornersU8, kCornersTilted}) {
    CornerRows rows{.k = 1, .x = {}, .w = {}};
    for (int code = range.lo; code <= range.hi; ++code) {
      rows.x.push_back(code);
    }
    for (int code = -128; code <= 127; ++code) {
      rows.w.push_back(code);
    }
    for (const int zero : {range.lo, range.hi}) {
      check_corners(rows, range, zero);
    }
  }
}

TEST(IgemmCorners, EveryFourCornersAlone) {
  for (const XRange range : {kCornersS8, kCornersRelu, kCornersU8, kCornersTilted}) {
    check_corners(
        {.k = 4, .x = strings_of(corners(range), {}), .w = strings_of({-128, -127, 64, 127}, {})},
        range, 0);
  }
}

// Beside a second group, with which sums may be joined, and an odd tail.
TEST(IgemmCorners, EveryFourCornersBesideOthers) {
  for (const XRange range : {kCornersS8, kCornersRelu, kCornersU8, kCornersTilted}) {
    const int hi = range.hi;
    for (const int w : {-128, 127, 1}) {
      check_corners({.k = 11,
                     .x = strings_of(corners(range), {hi, hi, hi, hi, hi, range.lo, hi}),
                     .w = strings_of({-128, -127, 64, 127}, {w, w, w, w, w, w, 127})},
                    range, 3);
    }
  }
}

// Of up to 8 columns couples are added in int16 also where x meets |w|: of sums at and beside 256.
TEST(IgemmCorners, FlippedCouplesAtTheirBound) {
  for (const XRange range : {kCornersS8, kCornersU8, kCornersTilted}) {
    const std::vector<int> x = strings_of({range.lo, range.lo + 1, range.hi - 1, range.hi}, {});
    CornerRows rows{.k = 8, .x = {}, .w = {}};
    for (size_t i = 0; i < x.size();
         i += 4) { // each four beside themselves, then beside the others
      rows.x.insert(rows.x.end(), x.begin() + static_cast<std::ptrdiff_t>(i),
                    x.begin() + static_cast<std::ptrdiff_t>(i + 4));
      const size_t other = i % 8 == 0 ? i : x.size() - 4 - i;
      rows.x.insert(rows.x.end(), x.begin() + static_cast<std::ptrdiff_t>(other),
                    x.begin() + static_cast<std::ptrdiff_t>(other + 4));
    }
    for (const int first : {63, 64, 65}) {
      const std::array<int, 4> signs = {first, -first, first, -64};
      rows.w = {};
      for (size_t column = 0; column < 8; ++column)
        for (size_t k = 0; k < 8; ++k)
          rows.w.push_back((column >> (k % 3) & 1) == 0 ? signs[k % 4] : -signs[k % 4]);
      check_corners(rows, range, range.lo + 1);
    }
    for (const auto& [one, other] : {std::pair(128, 0), std::pair(127, 1), std::pair(1, 127)}) {
      rows.w = {};
      for (size_t column = 0; column < 8; ++column)
        for (size_t k = 0; k < 8; ++k)
          rows.w.push_back(k < 4 ? -one : column % 2 == 0 ? other : -other);
      check_corners(rows, range, range.lo + 1);
    }
  }
}

// What int8 does not hold stands in groups of its own: of no, few and all places.
TEST(IgemmCorners, WeightsThatInt8DoesNotHold) {
  std::mt19937 random(11);
  const auto between = [&](int lo, int hi) {
    return lo + static_cast<int>(random() % static_cast<uint32_t>(hi - lo + 1));
  };
  for (const XRange range : {kCornersS8, kCornersRelu, kCornersU8, kCornersTilted}) {
    for (const int64_t k : {1, 3, 4, 5, 16, 63, 130}) {
      for (const int64_t n : {1, 8, 15, 16, 33, 70}) {
        for (const int64_t m : {1, 2, 9, 40}) {
          CornerRows rows{.k = k, .x = {}, .w = {}};
          const uint32_t rare = random() % 3 == 0 ? 1 : 40;
          for (int64_t i = 0; i < m * k; ++i) {
            rows.x.push_back(between(range.lo, range.hi));
          }
          for (int64_t i = 0; i < n * k; ++i) {
            rows.w.push_back(random() % rare == 0 ? between(-256, 254) : between(-128, 127));
          }
          check_corners(rows, range, range.hi / 3);
        }
      }
    }
  }
}

} // namespace
} // namespace octet::kernels
