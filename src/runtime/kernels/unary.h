// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions, bit for bit those of core/numerics/math.h.
#pragma once

#include <cstdint>
#include <optional>

#include "core/cpu.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

enum class Unary : uint8_t {
  kExp,
  kErf,
  kTanh,
  kSigmoid,
  kGelu,
  kGeluTanh,
  kRelu,
  kSqrt,
  kReciprocal,
  kNeg,
  kAbs,
  kSquare,    ///< x^2
  kCube,      ///< x^3 in double, rounded once
  kHalfPower, ///< x^0.5 as pow: 0 of -0, infinity of -infinity
  kRoundF16,  ///< the nearest f16
  kRoundBf16
};

/// y[i] = f(x[i]); y may be x.
void unary(Unary f, const float* x, int64_t count, float* y, Isa isa, ParallelFor& parallel);

/// y[i] = x[i], but lo where that is less and then hi where that is more; NaN stays. y may be x.
void clip(
    const float* x, int64_t count, float lo, float hi, float* y, Isa isa, ParallelFor& parallel);

/// y[i] = std::pow in double, rounded once; y may be x. No vectors: it is the C library's.
void power(const float* x, int64_t count, double exponent, float* y, ParallelFor& parallel);

/// The function whose bits are those of power() with this exponent, where there is one. Needs a
/// std::pow that gives what a double can hold exactly, and is off by less than 4 ulp elsewhere.
std::optional<Unary> unary_power(double exponent);

void unary_scalar(Unary f, const float* x, int64_t count, float* y);
void unary_avx2(Unary f, const float* x, int64_t count, float* y);
void unary_avx512(Unary f, const float* x, int64_t count, float* y);

void clip_scalar(const float* x, int64_t count, float lo, float hi, float* y);
void clip_avx2(const float* x, int64_t count, float lo, float hi, float* y);
void clip_avx512(const float* x, int64_t count, float lo, float hi, float* y);

/// NaN wins in kMin and kMax; of equal operands they take the second.
enum class Binary : uint8_t { kAdd, kSub, kMul, kDiv, kMin, kMax };

/// y[i] = a[i * a_step] op b[i * b_step]; steps are 1 or 0. y may be a or b.
struct BinaryRun {
  const float* a = nullptr;
  int64_t a_step = 1;
  const float* b = nullptr;
  int64_t b_step = 1;
  int64_t count = 0;
  float* y = nullptr;
};
void binary_scalar(Binary op, const BinaryRun& run);
void binary_avx2(Binary op, const BinaryRun& run);
void binary_avx512(Binary op, const BinaryRun& run);

} // namespace octet::kernels
