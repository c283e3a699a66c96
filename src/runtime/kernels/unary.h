// SPDX-License-Identifier: Apache-2.0
// Elementwise float functions, bit for bit those of core/numerics/math.h.
#pragma once

#include <cstdint>

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
  kNeg
};

/// y[i] = f(x[i]); y may be x.
void unary(Unary f, const float* x, int64_t count, float* y, Isa isa, ParallelFor& parallel);

void unary_scalar(Unary f, const float* x, int64_t count, float* y);
void unary_avx2(Unary f, const float* x, int64_t count, float* y);
void unary_avx512(Unary f, const float* x, int64_t count, float* y);

enum class Binary : uint8_t { kAdd, kSub, kMul, kDiv };

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
