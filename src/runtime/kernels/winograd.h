// SPDX-License-Identifier: Apache-2.0
// int8 convolution of 3 x 3 windows at stride 1 by minimal filtering, F(2 x 2, 3 x 3) of Lavin and
// Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), section 4.1, in integers: a tile
// of 4 x 4 places of x and the weights are transformed, 16 products a channel give 2 x 2 outputs
// where windows take 36. G is doubled on both sides, so that nothing is rounded: places stay within
// 4 * 255, weights within 9 * 128, both int16, and sums come out four times as large. The same bits
// as iconv.h, for instruction sets that multiply codes in int16 anyway (igemm_tile.h).
#pragma once

#include <cstdint>

#include "runtime/kernels/iconv.h"

namespace octet::kernels {

constexpr int64_t kWinogradPlaces = 16; ///< of a tile
/// Channels as the products take them, in pairs.
inline int64_t winograd_channels(const ConvShape& s) {
  return round_up(s.in_c, 2);
}
/// Bytes of the transformed weights.
size_t winograd_bytes(const ConvShape& s);

/// Puts transformed weights in place of those that pack_direct made of w[out_c, 3, 3, in_c], where
/// the shape allows it and that is less work.
void pack_winograd(const int8_t* w, PackedConv& packed);
/// Whether windows of such a shape may be transformed at all.
bool takes_winograd(const ConvShape& s, Isa isa);
/// What PackedConv::groups holds beside transformed weights: no data.
PackedWeights winograd_sums(const ConvShape& s, XRange x, Isa isa, AlignedBuffer sums);

/// Part of iconv for packed.winograd.
void iconv_winograd(const IconvArgs& args, ParallelFor& parallel);

/// Transforms a tile: at[4 * row + column] are the channels of a place, at least 16 of them; place p
/// comes to `to + p * step`. x is read as x + shift modulo 256.
using WinogradTileFn =
    void(const uint8_t* const* at, int64_t channels, int32_t shift, int16_t* to, int64_t step);
/// acc[r * 16 + c] = sum over k of x[r, k] * w[k, c]; `rows` is a multiple of 4, `channels` of 2.
/// w: [channels / 2][16][2].
using WinogradProductFn =
    void(const int16_t* x, int64_t rows, int64_t channels, const int16_t* w, int32_t* acc);
/// Sums of the 16 places of `tiles` tiles, `step` apart, to those of their outputs: [2 * tiles, 16]
/// of the upper line and of the lower.
using WinogradOutputFn =
    void(const int32_t* sums, int64_t step, int64_t tiles, int32_t* upper, int32_t* lower);

WinogradTileFn winograd_tile_avx2, winograd_tile_avx512;
WinogradProductFn winograd_product_avx2, winograd_product_avx512;
WinogradOutputFn winograd_output_avx2, winograd_output_avx512;

} // namespace octet::kernels
