// SPDX-License-Identifier: Apache-2.0
// What the instruction sets supply to sgemm and fconv: one tile of rows x panel width over a range
// of k.
#pragma once

#include <cstdint>

#include "runtime/kernels/cut.h"
#include "runtime/kernels/sgemm.h"

namespace octet::kernels {

/// Where a part of a row of x lies, from the row's start, and at which k its weights begin.
struct FloatRun {
  int64_t x = 0;
  int64_t k = 0;
};
/// Of a row that is one run.
inline constexpr FloatRun kOneRun[] = {{}};

/// Row r of x is `segments` runs of `k` floats; run i lies at x[r] + offset + runs[i].x.
struct FloatTile {
  const float* const* x = nullptr;
  int64_t offset = 0;
  int64_t segments = 1;
  const FloatRun* runs = kOneRun;
  int64_t k = 0;
  const float* w = nullptr; ///< those of run i: [k][w_pitch] at w + runs[i].k * w_pitch
  int64_t w_pitch = 0;      ///< width, or the distance between rows of w where it is not packed
  int64_t rows = 0;         ///< 1 to FloatTileKernels::rows
  int64_t tiles = 1;        ///< of so many rows each, one after another; float_rows_*: 1
  int64_t columns = 0;      ///< 1 to width
  /// Weights of as many k and columns that will be multiplied next: tiles behind the first bring them
  /// near. Null: none.
  const float* ahead = nullptr;
  int64_t panel_stride = 0; ///< of float_rows_*: floats between the panels of w
  float* y = nullptr;
  const int64_t* places = nullptr; ///< row r of y lies at y + places[r]
  bool first = true;               ///< start from 0, else continue from y
  bool last = true;                ///< add the bias and clamp
  const float* bias = nullptr;     ///< at the panel's first column, `columns` readable
  float lo = 0.0F;
  float hi = 0.0F;
};

using FloatTileFn = void (*)(const FloatTile& tile);

struct FloatTileKernels {
  int64_t width = 16;
  int64_t rows = 6; ///< at most of a tile
  FloatTileFn run = nullptr;
  /// Of one or two rows, several whole panels at a time, for one panel has too few sums to keep the
  /// multipliers busy: kPanelsOfRows[rows - 1]. Null: there is none.
  FloatTileFn run_rows = nullptr;
};
constexpr int64_t kPanelsOfRows[] = {4, 2};
/// For products of n columns.
FloatTileKernels float_tile_kernels(Isa isa, int64_t n);

void float_tile_scalar(const FloatTile& tile);
void float_tile_avx2(const FloatTile& tile);
void float_tile_avx512(const FloatTile& tile);
void float_rows_avx2(const FloatTile& tile);
void float_rows_avx512(const FloatTile& tile);

/// Packs one panel of `width` columns from `column` on into out [k][width].
void pack_float_panel(const FloatWeights& weights, int64_t column, int64_t width, float* out);

inline int64_t panel_count(const PackedFloat& w) {
  return (w.n + w.width - 1) / w.width;
}

/// Chunks of a product of m rows, m at least 1.
Cut cut_product(int64_t m, const PackedFloat& w);

/// Runs a range of panels over rows of x, all of k, in blocks of k: row i of the block is row
/// `row + i` of y, or lies at places[i]. In x it is `segments` runs of `run` floats, run j at
/// rows[i] + runs[j].x.
struct FloatBlock {
  using Element = float;
  static constexpr int64_t kMaxRows = 96;

  const float* const* rows = nullptr;
  int64_t segments = 1;
  int64_t run = 0;
  const FloatRun* runs = kOneRun;
  int64_t count = 0;
  int64_t row = 0;
  const int64_t* places = nullptr;
  const float* w = nullptr; ///< packed panels, or [k][w_pitch]
  int64_t w_pitch = 0;      ///< 0: packed; else n is whole panels
  int64_t k = 0;            ///< of a packed panel where it is not segments * run
  int64_t n = 0;
  FloatTileKernels kernels;
  FloatEpilogue epilogue;
  bool continues = false; ///< the chains start from what y holds, not from 0
  float* y = nullptr;
  int64_t y_stride = 0;
  Range panels;
};
void run_block(const FloatBlock& block);

} // namespace octet::kernels
