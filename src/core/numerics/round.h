// SPDX-License-Identifier: Apache-2.0
// Rounding, clamping and quantizing of one number. These scalars are the specification that every
// vector kernel meets bit for bit. They assume round-to-nearest without flush-to-zero
// (core/fp_env.h).
#pragma once

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

} // namespace octet::numerics
