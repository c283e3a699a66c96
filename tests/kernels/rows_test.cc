// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norm: close to the exact values in double, and the same bits on every
// instruction set.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/numerics/reduce.h"
#include "core/numerics/round.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/rows.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

constexpr int64_t kLengths[] = {1, 2, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 35, 128, 1000};

Guarded<float> random_values(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal(0.3F, 2.0F);
  Guarded<float> x(count, 1);
  for (int64_t i = 0; i < count; ++i) {
    x[i] = normal(random);
  }
  return x;
}

bool same_bits(const float* a, const float* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) return false;
  }
  return true;
}

TEST(Lanes, FoldIsTheStatedTree) {
  numerics::Lanes lanes;
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i] = std::ldexp(1.0F, static_cast<int>(i * 3));
  }
  float level[16];
  std::copy(lanes.begin(), lanes.end(), level);
  for (int half : {8, 4, 2, 1}) {
    for (int i = 0; i < half; ++i) {
      level[i] = level[i] + level[i + half];
    }
  }
  EXPECT_EQ(numerics::fold_sum(lanes), level[0]);
}

TEST(Softmax, CloseToExactAndTheSameEverywhere) {
  std::mt19937 random(1);
  ThreadPool pool(3);
  for (const int64_t length : kLengths) {
    const int64_t rows = length <= 8 ? 37 : 5; // short rows are taken together
    const Guarded<float> x = random_values(rows * length, random);
    std::vector<float> want(static_cast<size_t>(rows * length));
    for (int64_t r = 0; r < rows; ++r) {
      numerics::softmax_row(x.data() + r * length, length, want.data() + r * length);
      double max = -1e30;
      double sum = 0.0;
      for (int64_t i = 0; i < length; ++i) {
        max = std::max(max, double{x[r * length + i]});
      }
      for (int64_t i = 0; i < length; ++i) {
        sum += std::exp(x[r * length + i] - max);
      }
      for (int64_t i = 0; i < length; ++i) {
        const double exact = std::exp(x[r * length + i] - max) / sum;
        ASSERT_NEAR(want[static_cast<size_t>(r * length + i)], exact, exact * 2e-6);
      }
    }
    for (const Isa isa : covered_isas("softmax")) {
      Guarded<float> y(rows * length, 1);
      softmax(x.data(), rows, length, y.data(), isa, pool);
      ASSERT_TRUE(y.guards_intact());
      ASSERT_TRUE(same_bits(y.data(), want.data(), rows * length))
          << isa_name(isa) << " " << length;
      Guarded<float> in_place = x;
      softmax(in_place.data(), rows, length, in_place.data(), isa, pool);
      ASSERT_TRUE(in_place == y);
    }
  }
}

TEST(Softmax, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  SerialFor serial;
  for (const Isa isa : covered_isas("softmax")) {
    for (const size_t length : {3U, 16U, 21U, 40U}) {
      for (const float odd : {-inf, inf, nan, 1e30F, -1e30F}) {
        for (const size_t at : {size_t{0}, length / 2, length - 1}) {
          std::vector<float> x(length, 0.5F);
          std::vector<float> want(length);
          std::vector<float> y(length);
          x[at] = odd;
          const auto n = static_cast<int64_t>(length);
          numerics::softmax_row(x.data(), n, want.data());
          softmax(x.data(), 1, n, y.data(), isa, serial);
          ASSERT_TRUE(same_bits(y.data(), want.data(), n))
              << isa_name(isa) << " " << odd << " at " << at;
          if (odd == -inf) {
            EXPECT_EQ(y[at], 0.0F);
          }
          if (std::isnan(odd)) {
            EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[length - 1]));
          }
        }
      }
    }
  }
}

TEST(LayerNorm, CloseToExactAndTheSameEverywhere) {
  std::mt19937 random(2);
  ThreadPool pool(3);
  for (const int64_t length : kLengths) {
    constexpr int64_t kRows = 4;
    const Guarded<float> x = random_values(kRows * length, random);
    const Guarded<float> gain = random_values(length, random);
    const Guarded<float> bias = random_values(length, random);
    for (const bool affine : {false, true}) {
      const float* g = affine ? gain.data() : nullptr;
      const float* b = affine ? bias.data() : nullptr;
      std::vector<float> want(static_cast<size_t>(kRows * length));
      for (int64_t r = 0; r < kRows; ++r) {
        const float* row = x.data() + r * length;
        numerics::layer_norm_row(row, length, g, b, 1e-5F, want.data() + r * length);
        double mean = 0.0;
        double variance = 0.0;
        for (int64_t i = 0; i < length; ++i) {
          mean += row[i] / static_cast<double>(length);
        }
        for (int64_t i = 0; i < length; ++i) {
          variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(length);
        }
        for (int64_t i = 0; i < length; ++i) {
          const double exact =
              (row[i] - mean) / std::sqrt(variance + 1e-5) * (affine ? gain[i] : 1.0F) +
              (affine ? bias[i] : 0.0F);
          ASSERT_NEAR(want[static_cast<size_t>(r * length + i)], exact,
                      2e-5 * (1.0 + std::fabs(exact)));
        }
      }
      for (const Isa isa : covered_isas("layer norm")) {
        Guarded<float> y(kRows * length, 1);
        LayerNormArgs args;
        args.x = x.data();
        args.rows = kRows;
        args.length = length;
        args.gain = g;
        args.bias = b;
        args.y = y.data();
        layer_norm(args, isa, pool);
        ASSERT_TRUE(y.guards_intact());
        ASSERT_TRUE(same_bits(y.data(), want.data(), kRows * length))
            << isa_name(isa) << " " << length;
      }
    }
  }
}

// Residuals, sums and codes beside the numbers, or without them.
TEST(Rows, LayerNormWithResidualAndCodesIsThePartsApart) {
  constexpr int64_t kRows = 5;
  constexpr RowCodes kGrids[] = {{.scale = 0.02F, .zero_point = -3},
                                 {.scale = 0.013F, .zero_point = 140, .is_signed = false},
                                 {.scale = 3.0F},
                                 {.scale = 1e-3F, .zero_point = 255, .is_signed = false}};
  ThreadPool pool(2);
  std::mt19937 random(9);
  std::normal_distribution<float> normal(0.3F, 2.0F);
  for (const int64_t length : {1, 7, 8, 15, 16, 17, 31, 48, 100, 384}) {
    const int64_t count = kRows * length;
    std::vector<float> x(static_cast<size_t>(count)), residual(x.size()), gain(x.size()),
        bias(x.size());
    for (std::vector<float>* all : {&x, &residual, &gain, &bias})
      for (float& v : *all)
        v = normal(random);
    x[static_cast<size_t>(length)] = std::numeric_limits<float>::quiet_NaN();
    x[static_cast<size_t>(2 * length)] = std::numeric_limits<float>::infinity();
    for (int mask = 0; mask < 16; ++mask) {
      const bool adds = (mask & 1) != 0, floats = (mask & 2) != 0, sums = adds && (mask & 4) != 0;
      const int64_t codes = (mask & 8) != 0 ? std::ssize(kGrids) : floats ? 0 : 1;
      std::vector<float> sum = x, want(x.size());
      for (size_t i = 0; i < x.size() && adds; ++i)
        sum[i] = x[i] + residual[i];
      for (int64_t r = 0; r < kRows; ++r)
        numerics::layer_norm_row(sum.data() + r * length, length, gain.data(), bias.data(), 1e-5F,
                                 want.data() + r * length);
      for (const Isa isa : covered_isas("layer norm")) {
        Guarded<float> y(count, 1), both(count);
        std::vector<Guarded<uint8_t>> bytes(std::size(kGrids), Guarded<uint8_t>(count, 1));
        LayerNormArgs args;
        args.x = x.data();
        args.residual = adds ? residual.data() : nullptr;
        args.rows = kRows;
        args.length = length;
        args.gain = gain.data();
        args.bias = bias.data();
        args.y = floats ? y.data() : nullptr;
        args.sum = sums ? both.data() : nullptr;
        args.code_count = codes;
        for (size_t k = 0; k < std::size(kGrids); ++k) {
          args.codes[k] = kGrids[k];
          args.codes[k].y = bytes[k].data();
        }
        layer_norm(args, isa, pool);
        const std::string what =
            std::string(isa_name(isa)) + " " + std::to_string(length) + " " + std::to_string(mask);
        ASSERT_TRUE(y.guards_intact() && both.guards_intact()) << what;
        ASSERT_TRUE(!floats || same_bits(y.data(), want.data(), count)) << what;
        ASSERT_TRUE(!sums || same_bits(both.data(), sum.data(), count)) << what;
        for (size_t k = 0; k < static_cast<size_t>(codes); ++k) {
          const RowCodes& grid = kGrids[k];
          ASSERT_TRUE(bytes[k].guards_intact()) << what;
          for (int64_t i = 0; i < count; ++i) {
            const auto code = static_cast<uint8_t>(
                numerics::quantize(want[static_cast<size_t>(i)], grid.scale, grid.zero_point,
                                   grid.is_signed ? -128 : 0, grid.is_signed ? 127 : 255));
            ASSERT_EQ(bytes[k][i], code) << what << " at " << i << " of codes " << k;
          }
        }
      }
    }
  }
}

} // namespace
} // namespace octet::kernels
