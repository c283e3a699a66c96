// SPDX-License-Identifier: Apache-2.0
// Batched product of two 8-bit activations: y[i] = epilogue(sum over k of (a[i] - z_a) * (b[i] -
// z_b)). Sums are exact in int32 on every instruction set: b less its zero point is packed as int16
// while it runs.
#pragma once

#include <cstdint>

#include "runtime/kernels/igemm.h"

namespace octet::kernels {

/// Longest sum: 255 * 255 * k stays below 2^31.
constexpr int64_t kMaxQmatmulK = 33024;

/// Item i of the batch starts at a + a_offsets[i], b + b_offsets[i] and y + i * m * n (elements).
struct QmatmulArgs {
  int64_t batch = 0;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const void* a = nullptr; ///< [m, k]
  const int64_t* a_offsets = nullptr;
  bool a_signed = true;
  int32_t a_zero_point = 0;
  const void* b = nullptr; ///< [k, n]
  const int64_t* b_offsets = nullptr;
  bool b_signed = true;
  int32_t b_zero_point = 0;
  float multiplier = 1.0F;
  Epilogue epilogue; ///< without residual and row_multiplier
  void* y = nullptr;
  Isa isa = Isa::kScalar;
  std::byte* shared = nullptr; ///< shared_bytes() aligned to 64
};

/// Memory that the threads of one batch share; `args` need no addresses of data.
size_t shared_bytes(const QmatmulArgs& args);

void qmatmul(const QmatmulArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
