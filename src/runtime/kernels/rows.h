// SPDX-License-Identifier: Apache-2.0
// Softmax and layer norm over rows of contiguous floats, bit for bit numerics::softmax_row and
// numerics::layer_norm_row: 16 virtual lanes, a fixed tree, true divisions, exact square root.
#pragma once

#include <cstdint>

#include "core/cpu.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// y = softmax of each of `rows` rows of `length`; y may be x.
void softmax(
    const float* x, int64_t rows, int64_t length, float* y, Isa isa, ParallelFor& parallel);

struct LayerNormArgs {
  const float* x = nullptr; ///< [rows, length]
  int64_t rows = 0;
  int64_t length = 0;
  const float* gain = nullptr; ///< [length], or null for 1
  const float* bias = nullptr; ///< [length], or null for 0
  float epsilon = 1e-5F;
  float* y = nullptr; ///< may be x
};

void layer_norm(const LayerNormArgs& args, Isa isa, ParallelFor& parallel);

void softmax_rows_avx2(const float* x, int64_t rows, int64_t length, float* y);
void softmax_rows_avx512(const float* x, int64_t rows, int64_t length, float* y);
void layer_norm_rows_avx2(const LayerNormArgs& args, int64_t begin, int64_t end);
void layer_norm_rows_avx512(const LayerNormArgs& args, int64_t begin, int64_t end);

} // namespace octet::kernels
