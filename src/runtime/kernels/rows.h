// SPDX-License-Identifier: Apache-2.0
// Softmax, layer norm and group norm over rows of contiguous floats, softmax along any axis, bit for
// bit numerics::softmax_row and numerics::layer_norm_row: 16 virtual lanes, a fixed tree, true
// divisions, exact square root.
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

/// The same along the middle axis of [outer, length, inner]; y is not x.
void softmax_lines(const float* x,
                   int64_t outer,
                   int64_t length,
                   int64_t inner,
                   float* y,
                   Isa isa,
                   ParallelFor& parallel);

/// Codes of what a row becomes: numerics::quantize.
struct RowCodes {
  float scale = 1.0F;
  int32_t zero_point = 0;
  bool is_signed = true;
  void* y = nullptr; ///< [rows, length]
};

struct LayerNormArgs {
  static constexpr int64_t kMaxCodes = 4;

  const float* x = nullptr;        ///< [rows, length]
  const float* residual = nullptr; ///< [rows, length], added to x first; may be null
  int64_t rows = 0;
  int64_t length = 0;
  const float* gain = nullptr; ///< [length], or null for 1
  const float* bias = nullptr; ///< [length], or null for 0
  float epsilon = 1e-5F;
  float* y = nullptr;   ///< may be x; null where only codes are asked for
  float* sum = nullptr; ///< x + residual, if not null
  RowCodes codes[kMaxCodes];
  int64_t code_count = 0;
};

void layer_norm(const LayerNormArgs& args, Isa isa, ParallelFor& parallel);

struct GroupNormArgs {
  const float* x = nullptr; ///< [rows, channels, plane]
  int64_t rows = 0;         ///< images times groups
  int64_t groups = 1;       ///< of an image
  int64_t channels = 1;     ///< of a group
  int64_t plane = 1;
  const float* gain = nullptr; ///< [groups * channels]
  const float* bias = nullptr;
  float epsilon = 1e-5F;
  float* y = nullptr; ///< may be x
};

void group_norm(const GroupNormArgs& args, Isa isa, ParallelFor& parallel);

/// Lines that softmax_lines takes at once, `inner` elements between their neighbours.
inline constexpr int64_t kSoftmaxLines = 16;
/// `count` of them, at most kSoftmaxLines.
void softmax_some_lines_avx2(
    const float* x, int64_t length, int64_t inner, int64_t count, float* y);
void softmax_some_lines_avx512(
    const float* x, int64_t length, int64_t inner, int64_t count, float* y);
void group_norm_rows_avx2(const GroupNormArgs& args, int64_t begin, int64_t end);
void group_norm_rows_avx512(const GroupNormArgs& args, int64_t begin, int64_t end);
void softmax_rows_avx2(const float* x, int64_t rows, int64_t length, float* y);
void softmax_rows_avx512(const float* x, int64_t rows, int64_t length, float* y);
/// `row` holds a row between its passes.
void layer_norm_rows_avx2(const LayerNormArgs& args, int64_t begin, int64_t end, float* row);
void layer_norm_rows_avx512(const LayerNormArgs& args, int64_t begin, int64_t end, float* row);

} // namespace octet::kernels
