// SPDX-License-Identifier: Apache-2.0
// sin and cos of floats by way of double, as math.h's functions: the specification of the vector
// kernels. Coefficients of FreeBSD's k_sinf.c and k_cosf.c, off by 2^-37 and 2^-34 of the result.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace octet::numerics {

namespace coefficients {

// (sin(r) / r - 1) / r^2 and cos(r) - 1 over r^2, in r^2 on [-pi / 4, pi / 4].
inline constexpr double kSin[] = {-0x15555554cbac77.0p-55, 0x111110896efbb2.0p-59,
                                  -0x1a00f9e2cae774.0p-65, 0x16cd878c3b46a7.0p-71};
inline constexpr double kCos[] = {-0x1ffffffd0c5e81.0p-54, 0x155553e1053a42.0p-57,
                                  -0x16c087e80f1e27.0p-62, 0x199342e0ee5069.0p-68};
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
inline constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
/// Adding it leaves the nearest integer in the low bits.
inline constexpr double kMagicDouble = 0x1.8p52;
/// From here on the C library's double function is taken, rounded once: the two parts of pi / 2 do
/// not reach further.
inline constexpr float kTurnEnd = 0x1p30F;

} // namespace coefficients

/// The sine `quarters` quarter turns on. Worst error 0.501 ulp.
inline float sine_turned(float x, int64_t quarters) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  const auto wide = static_cast<double>(x);
  if (std::fabs(x) >= kTurnEnd)
    return static_cast<float>(quarters == 0 ? std::sin(wide) : std::cos(wide));
  const double t = std::fma(wide, kTwoOverPi, kMagicDouble);
  const double n = t - kMagicDouble;
  double r = std::fma(n, -kHalfPiHigh, wide);
  r = std::fma(n, -kHalfPiLow, r);
  const double s = r * r;
  double odd = std::fma(s, kSin[3], kSin[2]);
  odd = std::fma(s, odd, kSin[1]);
  odd = std::fma(s, odd, kSin[0]);
  odd = r * std::fma(s, odd, 1.0);
  double even = std::fma(s, kCos[3], kCos[2]);
  even = std::fma(s, even, kCos[1]);
  even = std::fma(s, even, kCos[0]);
  even = std::fma(s, even, 1.0);
  const int64_t quadrant = std::bit_cast<int64_t>(t) + quarters;
  const double y = (quadrant & 1) != 0 ? even : odd;
  return static_cast<float>((quadrant & 2) != 0 ? -y : y);
}

inline float sin(float x) {
  return sine_turned(x, 0);
}

inline float cos(float x) {
  return sine_turned(x, 1);
}

} // namespace octet::numerics
