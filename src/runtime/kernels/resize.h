// SPDX-License-Identifier: Apache-2.0
// Interpolation along one axis, or along two neighbouring ones at once (columns, then rows), bit
// for bit octet.native Resize: one product, then one fused multiply-add a tap.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cpu.h"
#include "runtime/kernels/map_format.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Tap k of place p is at [k * places + p]. A place with fewer taps than `most` has weights of 0
/// behind its own, which count for nothing; one without taps becomes 0.
struct ResizeTaps {
  int64_t places = 0; ///< 0: the axis stays as it is
  int64_t most = 0;
  std::vector<int32_t> index;
  std::vector<float> weight;
};

/// x: [outer, in_rows, in_row], y: [outer, out_rows, out_row].
struct ResizePass {
  int64_t outer = 1;
  int64_t in_rows = 1, out_rows = 1;
  int64_t in_row = 1, out_row = 1; ///< elements
  ResizeTaps rows;
  ResizeTaps columns; ///< of runs of `run` elements
  int64_t run = 1;
  MapFormat x, y; ///< codes are dequantized before and quantized behind, row by row
};

void resize(const ResizePass& pass, const void* x, void* y, Isa isa, ParallelFor& parallel);

/// y[i] = the taps of rows[k][i]; `count` elements.
void mix_rows_avx2(
    const float* const* rows, const float* weights, int64_t taps, int64_t count, float* y);
void mix_rows_avx512(
    const float* const* rows, const float* weights, int64_t taps, int64_t count, float* y);
/// One row, whose columns are single elements (run 1).
void mix_columns_avx2(const ResizeTaps& taps, const float* x, float* y);
void mix_columns_avx512(const ResizeTaps& taps, const float* x, float* y);

} // namespace octet::kernels
