// SPDX-License-Identifier: Apache-2.0
// Sums with AMX: a tile of x, 16 rows x 64 bytes, times 16 groups of a panel, 64 bytes each as panels
// hold them, adds to a tile of 16 rows x 16 columns of int32. Exact: no sum saturates. Four tiles of
// sums, of two of x and two panels, hide the latency of a product. Gathered rows are padded
// with zeros to whole lines, so that what stands behind a panel's last group adds nothing. Source:
// Intel Architecture Instruction Set Extensions Programming Reference, chapter 3. Contract:
// igemm_matrix.h.
#include "runtime/kernels/igemm_matrix.h"

#if defined(__x86_64__)
// GCC 12's own intrinsics start from vectors that it takes for uninitialized.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512vl,amx-tile,amx-int8"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,amx-tile,amx-int8")
#endif

namespace octet::kernels {
namespace amx {
namespace {

// What LDTILECFG reads: palette 1, bytes of a row and rows of each tile.
struct TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);
constexpr TileShapes kWholeTiles;

constexpr int64_t kStep = kStepBytes;
constexpr int64_t kSums = kTileOfRows * kColumnsPerPanel; // of a tile

// Tiles 0 to 3 are sums: [tile of rows][panel]. 4 and 5 are x, 6 and 7 weights.
template <bool kSigned, int kTiles, int kPanels>
inline void multiply(const uint8_t* x, int64_t x_tile, int64_t stride, const int8_t* const* w) {
  _tile_loadd(4, x, stride);
  if constexpr (kTiles > 1) _tile_loadd(5, x + x_tile, stride);
  _tile_loadd(6, w[0], kStep);
  if constexpr (kPanels > 1) _tile_loadd(7, w[1], kStep);
  if constexpr (kSigned) {
    _tile_dpbssd(0, 4, 6);
    if constexpr (kTiles > 1) _tile_dpbssd(2, 5, 6);
    if constexpr (kPanels > 1) _tile_dpbssd(1, 4, 7);
    if constexpr (kTiles > 1 && kPanels > 1) _tile_dpbssd(3, 5, 7);
  } else {
    _tile_dpbusd(0, 4, 6);
    if constexpr (kTiles > 1) _tile_dpbusd(2, 5, 6);
    if constexpr (kPanels > 1) _tile_dpbusd(1, 4, 7);
    if constexpr (kTiles > 1 && kPanels > 1) _tile_dpbusd(3, 5, 7);
  }
}

template <bool kSigned, int kTiles, int kPanels>
void dot(const MatrixPanel* panels, const MatrixRows& rows, int32_t* acc, int64_t acc_step) {
  _tile_zero(0);
  if constexpr (kPanels > 1) _tile_zero(1);
  if constexpr (kTiles > 1) _tile_zero(2);
  if constexpr (kTiles > 1 && kPanels > 1) _tile_zero(3);
  const int64_t x_tile = kTileOfRows * rows.stride;
  const uint8_t* x = rows.data;
  const int8_t* w[2] = {panels[0].data, panels[kPanels - 1].data};
  for (int64_t step = 1; step < rows.steps; ++step, x += kStep) {
    multiply<kSigned, kTiles, kPanels>(x, x_tile, rows.stride, w);
    w[0] += kStep * kTileOfRows;
    w[1] += kStep * kTileOfRows;
  }
  const int8_t* last[2] = {panels[0].last, panels[kPanels - 1].last};
  multiply<kSigned, kTiles, kPanels>(x, x_tile, rows.stride, last);
  _tile_stored(0, acc, kStep);
  if constexpr (kPanels > 1) _tile_stored(1, acc + acc_step, kStep);
  if constexpr (kTiles > 1) _tile_stored(2, acc + kSums, kStep);
  if constexpr (kTiles > 1 && kPanels > 1) _tile_stored(3, acc + acc_step + kSums, kStep);
}

void begin() {
  _tile_loadconfig(&kWholeTiles);
}

void end() {
  _tile_release();
}

using DotFn = void (*)(const MatrixPanel*, const MatrixRows&, int32_t*, int64_t);
template <bool kSigned>
constexpr DotFn kDots[2][2] = {{dot<kSigned, 1, 1>, dot<kSigned, 1, 2>},
                               {dot<kSigned, 2, 1>, dot<kSigned, 2, 2>}};

void dot_any(const MatrixPanel* panels,
             int64_t panel_count,
             const MatrixRows& rows,
             int64_t count,
             int32_t* acc,
             int64_t acc_step) {
  const int two = count > kTileOfRows ? 1 : 0;
  const auto& dots = rows.is_signed ? kDots<true> : kDots<false>;
  dots[two][panel_count - 1](panels, rows, acc, acc_step);
}

void gather(std::span<const LinePiece> pieces,
            const uint8_t* const* rows,
            int64_t count,
            uint8_t flip,
            uint8_t* to,
            int64_t stride) {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  for (int64_t r = 0; r < count; ++r, to += stride) {
    const uint8_t* row = rows[r];
    for (const LinePiece& piece : pieces) {
      const __m512i x = _mm512_maskz_loadu_epi32(piece.groups, row + piece.from);
      const __m512i line = _mm512_maskz_xor_epi32(piece.groups, x, flips);
      uint8_t* at = to + piece.line * kStep;
      if (piece.first)
        _mm512_store_si512(at, line);
      else
        _mm512_mask_store_epi32(at, piece.groups, line);
    }
  }
}

} // namespace
} // namespace amx

constinit const MatrixKernels kMatrixKernelsAmx{amx::begin, amx::end, amx::gather, amx::dot_any};

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
