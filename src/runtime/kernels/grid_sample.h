// SPDX-License-Identifier: Apache-2.0
// GridSample over images of two axes, bit for bit the operator's: taps and weights in double, rows
// of taps summed first, one rounding at the end. Places are worked out once for all channels.
#pragma once

#include <cstdint>

#include "core/cpu.h"
#include "ops/shared/grid_sample.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// x: [batch, channels, rows, columns], grid: [batch, points, 2] with the column first, y: [batch,
/// channels, points].
struct GridSampleArgs {
  GridSampleAttrs attrs;
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t rows = 1, columns = 1;
  int64_t points = 1;
};

void grid_sample(const GridSampleArgs& args,
                 const float* x,
                 const float* grid,
                 float* y,
                 Isa isa,
                 ParallelFor& parallel);

/// Taps of up to kSampledPoints points. Two taps of a row that follow one another lie in one pair of
/// neighbouring elements: mirrored and at the edge too they are neighbours or the same. A tap is
/// that pair as 64 bits, shifted right by 0 or 32; by 64 where it reads a zero. Behind the last
/// point are taps of zeros up to a multiple of kSampledTogether.
struct SampledPoints {
  int64_t count = 0;
  int64_t taps = 1;          ///< along each axis: 1, 2 or 4
  int64_t* pair = nullptr;   ///< [taps rows, taps / 2 but 1 at least, kSampledPoints]: bytes
  uint64_t* shift = nullptr; ///< [taps rows, taps columns, kSampledPoints]
  double* row = nullptr;     ///< weights: [taps, kSampledPoints]
  double* column = nullptr;  ///< the same
};
inline constexpr int64_t kSampledPoints = 128;
inline constexpr int64_t kSampledTogether = 8;

/// The points of one channel. `image` has two elements or more.
void sample_points_avx2(const SampledPoints& points, const float* image, float* y);
void sample_points_avx512(const SampledPoints& points, const float* image, float* y);

} // namespace octet::kernels
