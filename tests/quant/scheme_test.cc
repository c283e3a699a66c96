// SPDX-License-Identifier: Apache-2.0
// Scales and zero points against the definitions in docs/numerics.md.
#include <cfloat>
#include <cmath>
#include <random>

#include "quant/scheme.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

const Scheme kInt8{};
const Scheme kNarrow{DType::kInt8, true, true};
const Scheme kUint8{DType::kUint8, false, false};
const Scheme kInt8Asymmetric{DType::kInt8, false, false};

TEST(Scheme, SymmetricScaleIsTheMagnitudeOver127) {
  const QuantParameters p = parameters_for(kInt8, Range{-3, 2});
  EXPECT_EQ(p.scale, static_cast<float>(3.0 / 127));
  EXPECT_EQ(p.zero_point, 0);
  EXPECT_EQ(parameters_for({DType::kUint8, true, false}, Range{-3, 2}).zero_point, 128);
  EXPECT_EQ(round_trip(kInt8, p, -100), -128 * static_cast<double>(p.scale));
  EXPECT_EQ(round_trip(kNarrow, p, -100), -127 * static_cast<double>(p.scale));
}

TEST(Scheme, AsymmetricRangeHoldsZero) {
  const QuantParameters relu = parameters_for(kUint8, Range{0.5, 2});
  EXPECT_EQ(relu.zero_point, 0);
  EXPECT_EQ(relu.scale, static_cast<float>(2.0 / 255));
  EXPECT_EQ(parameters_for(kInt8Asymmetric, Range{0.5, 2}).zero_point, -128);
  const QuantParameters below = parameters_for(kUint8, Range{-2, -0.5});
  EXPECT_EQ(below.zero_point, 255);
  EXPECT_EQ(round_trip(kUint8, below, 0), 0);
}

TEST(Scheme, ZeroIsExactAndErrorsStayWithinHalfAStep) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> draw(-4, 4);
  for (int i = 0; i < 2000; ++i) {
    double lo = draw(generator);
    double hi = draw(generator);
    if (lo > hi) std::swap(lo, hi);
    for (const Scheme& scheme : {kInt8, kUint8, kInt8Asymmetric}) {
      const QuantParameters p = parameters_for(scheme, Range{lo, hi});
      EXPECT_EQ(round_trip(scheme, p, 0), 0);
      // The rounded zero point shifts the range by at most half a step.
      const double x = lo + (hi - lo) * 0.37;
      EXPECT_LE(std::fabs(round_trip(scheme, p, x) - x), 0.5000001 * p.scale);
      EXPECT_LE(std::fabs(round_trip(scheme, p, hi) - hi), 1.000001 * p.scale);
    }
  }
}

TEST(Scheme, NoScaleIsZeroSubnormalOrInfinite) {
  for (const Scheme& scheme : {kInt8, kUint8, kInt8Asymmetric, Scheme{DType::kFloat8E4M3FN}}) {
    for (const double amax : {0.0, 1e-44, 1e-38, static_cast<double>(FLT_MAX)}) {
      const QuantParameters p = parameters_for(scheme, Range{-amax, amax});
      EXPECT_TRUE(std::isnormal(p.scale)) << amax;
      EXPECT_EQ(p.replaced, amax < 1e-30);
    }
  }
}

TEST(Scheme, AnAllZeroChannelTakesTheSmallestOtherScale) {
  const std::vector<Range> ranges = {{-1, 1}, {0, 0}, {-0.5, 0.25}};
  const auto p = parameters_for(kNarrow, ranges);
  EXPECT_TRUE(p[1].replaced);
  EXPECT_FALSE(p[0].replaced);
  EXPECT_EQ(p[1].scale, p[2].scale);
  const std::vector<Range> zeros = {{0, 0}, {0, 0}};
  EXPECT_EQ(parameters_for(kNarrow, zeros)[0].scale, 1.0F);
}

TEST(Scheme, RoundsToTheFp8Grids) {
  const QuantParameters one{1, 0, false};
  const Scheme e4m3{DType::kFloat8E4M3FN};
  const Scheme e5m2{DType::kFloat8E5M2};
  EXPECT_EQ(round_trip(e4m3, one, 1.8131605), 1.875); // onnxruntime#16938
  EXPECT_EQ(round_trip(e4m3, one, 1e9), 448);
  EXPECT_EQ(round_trip(e4m3, one, std::ldexp(1, -10)), 0); // a tie, to even
  EXPECT_EQ(round_trip(e4m3, one, std::ldexp(1.5, -10)), std::ldexp(1, -9));
  EXPECT_EQ(round_trip(e5m2, one, -1e9), -57344);
  EXPECT_EQ(round_trip(e5m2, one, 1.1), 1.0);
}

} // namespace
} // namespace octet
