// SPDX-License-Identifier: Apache-2.0
// exp, log, erf, tanh, sigmoid and what is made of them in float: octet's own polynomials, the
// specification of octet.native operators and of the vector kernels, which repeat these steps lane
// by lane.
// Coefficients: weighted minimax fits in 113-bit arithmetic, rounded one by one. The worst error
// over all floats, against the exact value, is stated with each function and found by
// tests/kernels/map_functions_test.cc.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace octet::numerics {

namespace coefficients {

// (e^r - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2].
inline constexpr float kExp[] = {0x1.fffffcp-2F, 0x1.555492p-3F, 0x1.5558acp-5F, 0x1.12397cp-7F,
                                 0x1.6a518cp-10F};
inline constexpr float kLog2E = 0x1.715476p+0F;
// ln 2 in two parts; with fused multiply-adds the first needs no trailing zeros.
inline constexpr float kLn2High = 0x1.62e430p-1F;
inline constexpr float kLn2Low = -0x1.05c610p-29F;
inline constexpr float kExpLow = -104.0F; // below it e^x rounds to 0
inline constexpr float kExpHigh = 89.0F;  // above it to infinity
// Adding it leaves the nearest integer in the low bits.
inline constexpr float kMagic = 12582912.0F;
inline constexpr int32_t kMagicBits = 0x4B400000;

// (log(1 + f) - f + f^2 / 2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1].
inline constexpr float kLog[] = {0x1.555554p-2F, -0x1.000226p-2F, 0x1.99a01ap-3F, -0x1.54728ap-3F,
                                 0x1.22d964p-3F, -0x1.0d826ap-3F, 0x1.055d44p-3F, -0x1.38c576p-4F};
inline constexpr int32_t kSqrtHalfBits = 0x3F3504F3;
inline constexpr float kSqrt2Less1 = 0x1.a8279ap-2F;
// Above it log(1 + e^x) is x, and tanh of that 1.
inline constexpr float kMishEnd = 20.0F;
inline constexpr float kExpm1Low = -25.0F; // below it e^x - 1 rounds to -1

// erf(x) / x - 1 in x^2 on [0, 0.9].
inline constexpr float kErfSmall[] = {0x1.06eba8p-3F, -0x1.81274p-2F, 0x1.ce2d62p-4F,
                                      -0x1.b800dp-6F, 0x1.5446bp-8F,  -0x1.a5ea68p-11F,
                                      0x1.4f031ap-14F};
// -log(1 - erf(x)) / x on [0.9375, 4].
inline constexpr float kErfLarge[] = {0x1.20e31ap+0F,  0x1.45ae7ap-1F,  0x1.aaa476p-4F,
                                      -0x1.5be53cp-6F, 0x1.d27b78p-10F, 0x1.137e04p-11F,
                                      -0x1.cf91bp-13F, 0x1.240d8ep-15F, -0x1.23a6d8p-19F};
inline constexpr float kErfSplit = 0.9375F;
inline constexpr float kErfEnd = 4.0F;

// (tanh(x) / x - 1) / x^2 in x^2 on [0, 0.4].
inline constexpr float kTanh[] = {-0x1.555554p-2F, 0x1.111076p-3F,  -0x1.b9f038p-5F,
                                  0x1.6392bp-6F,   -0x1.0bf224p-7F, 0x1.18686ap-9F};
inline constexpr float kTanhSplit = 0.625F;
inline constexpr float kTanhEnd = 10.0F;

inline constexpr float kSixth = 1.0F / 6.0F;
inline constexpr float kInvSqrt2 = 0x1.6a09e6p-1F;
inline constexpr float kGeluCubic = 0.044715F;
inline constexpr float kSqrt2OverPi = 0x1.988454p-1F;

} // namespace coefficients

/// c[0] + x * (c[1] + x * ...), one fused multiply-add a step.
template <int kCount>
inline float polynomial(const float (&c)[kCount], float x) {
  float y = c[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) {
    y = std::fma(y, x, c[i]);
  }
  return y;
}

/// e^x. Worst error 1.02 ulp; subnormal results are rounded once more.
inline float exp(float x) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  if (x != x) return x;
  x = x < kExpLow ? kExpLow : x;
  x = x > kExpHigh ? kExpHigh : x;
  const float t = std::fma(x, kLog2E, kMagic);
  const float n = t - kMagic;
  float r = std::fma(n, -kLn2High, x);
  r = std::fma(n, -kLn2Low, r);
  const float y = std::fma(polynomial(kExp, r), r * r, r) + 1.0F;
  // 2^n as two normal factors: n reaches from -150 to 128.
  const int32_t power = std::bit_cast<int32_t>(t) - kMagicBits;
  const int32_t half = power >> 1;
  const auto first = std::bit_cast<float>((half + 127) << 23);
  const auto second = std::bit_cast<float>((power - half + 127) << 23);
  return y * first * second;
}

/// e^x - 1. Worst error 1.47 ulp.
inline float expm1(float x) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  if (x != x) return x;
  float a = x < kExpm1Low ? kExpm1Low : x;
  a = a > kExpHigh ? kExpHigh : a;
  const float t = std::fma(a, kLog2E, kMagic);
  const float n = t - kMagic;
  float r = std::fma(n, -kLn2High, a);
  r = std::fma(n, -kLn2Low, r);
  const float p = std::fma(polynomial(kExp, r), r * r, r);
  // Twice 2^(n - 1), for n reaches 128.
  const auto half = std::bit_cast<float>((std::bit_cast<int32_t>(t) - kMagicBits + 126) << 23);
  return std::copysign(2.0F * std::fma(p, half, half - 0.5F), x);
}

/// n * ln 2 + log(1 + f) for 1 + f from sqrt(1/2) to sqrt(2).
inline float log_sum(float n, float f) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  float y = std::fma(f * f, std::fma(f, polynomial(kLog, f), -0.5F), f);
  y = std::fma(n, kLn2Low, y);
  return std::fma(n, kLn2High, y);
}

/// The natural logarithm; NaN below 0. Worst error 0.94 ulp.
inline float log(float x) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!(x > 0.0F)) return x == 0.0F ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  if (x == kInfinity) return x;
  const bool subnormal = x < 0x1p-126F;
  const auto bits = std::bit_cast<int32_t>(subnormal ? x * 0x1p23F : x);
  const int32_t power = (bits - kSqrtHalfBits) >> 23;
  const auto m = std::bit_cast<float>(bits - (power << 23));
  return log_sum(static_cast<float>(power) - (subnormal ? 23.0F : 0.0F), m - 1.0F);
}

/// The error function. Worst error 1.1 ulp.
inline float erf(float x) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  float a = std::fabs(x);
  const float small = std::fma(x, polynomial(kErfSmall, x * x), x);
  a = a > kErfEnd ? kErfEnd : a;
  const float large = std::copysign(1.0F - exp(-(polynomial(kErfLarge, a) * a)), x);
  return a < kErfSplit ? small : large;
}

/// The hyperbolic tangent. Worst error 1.34 ulp.
inline float tanh(float x) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  float a = std::fabs(x);
  const float s = x * x;
  const float small = std::fma(x * s, polynomial(kTanh, s), x);
  a = a > kTanhEnd ? kTanhEnd : a;
  const float large = std::copysign(1.0F - 2.0F / (exp(a + a) + 1.0F), x);
  return a < kTanhSplit ? small : large;
}

/// 1 / (1 + e^-x), accurate on both sides. Worst error 2.41 ulp.
inline float sigmoid(float x) {
  const float e = exp(-std::fabs(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

/// x * sigmoid(x), rounded after each.
inline float silu(float x) {
  return x * sigmoid(x);
}

/// max(x, 0) + log(1 + e^-|x|). Worst error 1.75 ulp; subnormal results are rounded once more.
inline float softplus(float x) {
  const float e = exp(-std::fabs(x));
  const bool above = e > coefficients::kSqrt2Less1;
  const float tail = log_sum(above ? 1.0F : 0.0F, above ? 0.5F * (e - 1.0F) : e);
  return (x < 0.0F ? 0.0F : x) + tail;
}

/// x * tanh(softplus(x)) = x * w / (w + 2) with w = e^x * (e^x + 2). Worst error 4.7 ulp; of results
/// below 2^-112, ulp of that number.
inline float mish(float x) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  const float e = exp(x > kMishEnd ? kMishEnd : x);
  const float w = e * (e + 2.0F);
  return x * (w / (w + 2.0F));
}

/// GELU by the error function: x / 2 * (1 + erf(x / sqrt 2)). Worst error 1e-7, absolute below 1
/// and relative above; NaN at -infinity, as the formula is.
inline float gelu(float x) {
  const float h = 0.5F * x;
  return std::fma(h, erf(x * coefficients::kInvSqrt2), h);
}

/// GELU's tanh form: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
inline float gelu_tanh(float x) {
  using namespace coefficients; // NOLINT(google-build-using-namespace): constants, in one function
  const float h = 0.5F * x;
  const float inner = kSqrt2OverPi * std::fma(kGeluCubic * x, x * x, x);
  return std::fma(h, tanh(inner), h);
}

/// x * min(max(x / 6 + 0.5, 0), 1), the sixth a product and the sum in one rounding.
inline float hard_swish(float x) {
  float gate = std::fma(x, coefficients::kSixth, 0.5F);
  gate = gate < 0.0F ? 0.0F : gate;
  return x * (gate > 1.0F ? 1.0F : gate);
}

/// max(x, 0) that keeps NaN and the sign of a zero.
inline float relu(float x) {
  return x < 0.0F ? 0.0F : x;
}

} // namespace octet::numerics
