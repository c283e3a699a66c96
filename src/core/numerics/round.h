// SPDX-License-Identifier: Apache-2.0
// Rounding, clamping and quantizing of one number. These scalars are the specification that every
// vector kernel meets bit for bit. They assume round-to-nearest without flush-to-zero
// (core/fp_env.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace octet::numerics {

/// Round half to even, exact for |x| <= 2^22: adding 1.5 * 2^23 leaves no fraction bits.
inline float round_half_even_small(float x) {
  constexpr float kMagic = 12582912.0F;
  return (x + kMagic) - kMagic;
}

/// min(max(x, lo), hi) that lets NaN through and keeps the sign of a zero.
inline float clamp_keep_nan(float x, float lo, float hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

/// sat(rne(r) + z) into [lo, hi]: NaN counts as 0, clamping comes before the conversion to an
/// integer. Needs |lo - z| and |hi - z| below 2^22.
inline int32_t round_saturate(float r, int32_t z, int32_t lo, int32_t hi) {
  if (r != r) r = 0.0F;
  r = clamp_keep_nan(r, static_cast<float>(lo - z), static_cast<float>(hi - z));
  return static_cast<int32_t>(round_half_even_small(r)) + z;
}

/// QuantizeLinear: a true division, rounded before the zero point is added. NaN gives z.
inline int32_t quantize(float x, float scale, int32_t z, int32_t lo, int32_t hi) {
  return round_saturate(x / scale, z, lo, hi);
}

/// DequantizeLinear in float.
inline float dequantize(int32_t q, float scale, int32_t z) {
  return static_cast<float>(q - z) * scale;
}

/// The nearest f16, half to even; overflow gives infinity.
inline float round_to_f16(float x) {
  if (x != x) return x;
  const float size = std::fabs(x);
  // Below the normal numbers of f16 they are 2^-24 apart, as floats from 0.5 to 1 are.
  if (size < 0x1p-14F) return std::copysign((size + 0.5F) - 0.5F, x);
  const auto bits = std::bit_cast<uint32_t>(size);
  const auto kept = (bits + 0xfffU + (bits >> 13 & 1U)) & ~0x1fffU;
  constexpr uint32_t kOverflow = 0x47800000; // 65536
  constexpr uint32_t kInfinity = 0x7f800000;
  return std::copysign(std::bit_cast<float>(kept >= kOverflow ? kInfinity : kept), x);
}

/// The nearest bf16, half to even; overflow gives infinity.
inline float round_to_bf16(float x) {
  if (x != x) return x;
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U);
}

} // namespace octet::numerics
