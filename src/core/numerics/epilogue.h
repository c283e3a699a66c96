// SPDX-License-Identifier: Apache-2.0
// What follows an exact int32 sum: the scalar expressions of docs/numerics.md, "Integer layers".
// They are the specification of octet.native operators and of every fused kernel. float(acc) rounds
// half-even above 2^24; multipliers are prepared in double and rounded once.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/numerics/round.h"

namespace octet::numerics {

/// QGemm, QConv: m = s_x * s_w / s_y, b = bias / s_y.
inline int32_t requantize(int32_t acc, float m, float b, int32_t z, int32_t lo, int32_t hi) {
  return round_saturate(std::fma(static_cast<float>(acc), m, b), z, lo, hi);
}

/// QGemm, QConv with an added int8 tensor: m_res = s_r / s_y.
inline int32_t requantize_add(int32_t acc,
                              float m,
                              float b,
                              int32_t res,
                              int32_t z_res,
                              float m_res,
                              int32_t z,
                              int32_t lo,
                              int32_t hi) {
  float r = std::fma(static_cast<float>(acc), m, b);
  r = std::fma(static_cast<float>(res - z_res), m_res, r);
  return round_saturate(r, z, lo, hi);
}

/// Float output: m = s_x * s_w, b = bias. Clamped to [lo, hi] with NaN kept (relu: lo = 0).
inline float scale_to_float(int32_t acc, float m, float b, float lo, float hi) {
  return clamp_keep_nan(std::fma(static_cast<float>(acc), m, b), lo, hi);
}

/// Sum of two int8 tensors: m_a = s_a / s_y, m_b = s_b / s_y.
inline int32_t add_quantized(int32_t a,
                             int32_t z_a,
                             float m_a,
                             int32_t b,
                             int32_t z_b,
                             float m_b,
                             int32_t z,
                             int32_t lo,
                             int32_t hi) {
  float r = static_cast<float>(a - z_a) * m_a;
  r = std::fma(static_cast<float>(b - z_b), m_b, r);
  return round_saturate(r, z, lo, hi);
}

/// Mean of n values from their exact sum of (x - z_x): m = s_x / (n * s_y).
inline int32_t average_quantized(int32_t sum, float m, int32_t z, int32_t lo, int32_t hi) {
  return round_saturate(static_cast<float>(sum) * m, z, lo, hi);
}

} // namespace octet::numerics
