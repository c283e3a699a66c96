// SPDX-License-Identifier: Apache-2.0
// Depthwise sums with AVX2: lanes are 16 channels, taps go two at a time through vpmaddwd on int16,
// which is exact for every int8 or uint8 operand. Also used with AVX-512.
#include "runtime/kernels/iconv.h"
#include "runtime/kernels/igemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace octet::kernels {
namespace {

// Pointers to the taps of one pixel, or to a row of zero points outside the image; one more for the
// odd tap, whose weight is 0.
struct Taps {
  const uint8_t** at;
  int64_t count;
};

void find_taps(const IconvArgs& args, int64_t pixel, const uint8_t* outside, Taps taps) {
  const ConvShape& s = args.shape;
  const int64_t y0 = pixel / s.out_w % s.out_h * s.stride_h - s.pad_top;
  const int64_t x0 = pixel % s.out_w * s.stride_w - s.pad_left;
  const auto* image =
      static_cast<const uint8_t*>(args.x) + pixel / s.out_w / s.out_h * s.in_h * s.in_w * s.in_c;
  const uint8_t** out = taps.at;
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    const int64_t y = y0 + i * s.dilation_h;
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t x = x0 + j * s.dilation_w;
      const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
      *out++ = inside ? image + (y * s.in_w + x) * s.in_c : outside;
    }
  }
  *out = outside;
}

template <bool kSigned>
inline __m256i widen(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return kSigned ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

template <bool kSigned>
inline __m256i widen_some(const uint8_t* p, int64_t count) {
  alignas(16) uint8_t part[16] = {};
  for (int64_t i = 0; i < count; ++i) {
    part[i] = p[i];
  }
  return widen<kSigned>(part);
}

// acc[0..15] for the channels from `column` on.
template <bool kSigned>
void sum_panel(const Taps& taps, const int16_t* w, int64_t column, int64_t columns, int32_t* acc) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = a;
  for (int64_t t = 0; t < taps.count; t += 2) {
    const uint8_t* p0 = taps.at[t] + column;
    const uint8_t* p1 = taps.at[t + 1] + column;
    const bool whole = columns == kColumnsPerPanel;
    const __m256i x0 = whole ? widen<kSigned>(p0) : widen_some<kSigned>(p0, columns);
    const __m256i x1 = whole ? widen<kSigned>(p1) : widen_some<kSigned>(p1, columns);
    const auto* ws = reinterpret_cast<const __m256i*>(w + t * kColumnsPerPanel);
    const __m256i w0 = _mm256_loadu_si256(ws);
    const __m256i w1 = _mm256_loadu_si256(ws + 1);
    // Unpacking works within 128-bit halves: low gives channels 0-3 and 8-11, high 4-7 and 12-15.
    a = _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_unpacklo_epi16(x0, x1),
                                              _mm256_permute2x128_si256(w0, w1, 0x20)));
    b = _mm256_add_epi32(b, _mm256_madd_epi16(_mm256_unpackhi_epi16(x0, x1),
                                              _mm256_permute2x128_si256(w0, w1, 0x31)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc), _mm256_permute2x128_si256(a, b, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + 8), _mm256_permute2x128_si256(a, b, 0x31));
}

} // namespace

void depthwise_avx2(const IconvArgs& args, int64_t begin, int64_t end) {
  const int64_t channels = args.shape.out_c;
  const int64_t tap_count = args.w->depthwise.taps;
  const int64_t padded = round_up(channels, kColumnsPerPanel);
  auto* scratch = thread_scratch(Scratch::kTile,
                                 static_cast<size_t>(padded) +
                                     static_cast<size_t>(tap_count + 1) * sizeof(const uint8_t*));
  auto* outside = reinterpret_cast<uint8_t*>(scratch);
  __builtin_memset(outside, args.x_zero_point & 0xFF, static_cast<size_t>(padded));
  const Taps taps{reinterpret_cast<const uint8_t**>(scratch + padded), tap_count};
  const int64_t panel_weights = (tap_count + 1) / 2 * kColumnsPerPanel * 2;
  alignas(32) int32_t acc[kColumnsPerPanel];
  TileOut out;
  out.acc = acc;
  out.rows = 1;
  out.init = args.columns->init;
  out.multiplier = args.columns->multiplier;
  out.bias = args.columns->bias;
  out.y = args.y;
  out.y_stride = channels;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    find_taps(args, pixel, outside, taps);
    out.row = pixel;
    const int16_t* w = args.w->depthwise.data.as<int16_t>();
    for (out.column = 0; out.column < channels; out.column += kColumnsPerPanel) {
      out.columns =
          channels - out.column < kColumnsPerPanel ? channels - out.column : kColumnsPerPanel;
      if (args.w->x.is_signed) {
        sum_panel<true>(taps, w, out.column, out.columns, acc);
      } else {
        sum_panel<false>(taps, w, out.column, out.columns, acc);
      }
      epilogue_tile_avx2(args.epilogue, out);
      w += panel_weights;
    }
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
