// SPDX-License-Identifier: Apache-2.0
// Depthwise sums with AVX2: lanes are 16 channels, taps go two at a time through vpmaddwd on int16,
// which is exact for every int8 or uint8 operand. A few pixels share a call of the epilogue. Also
// used with AVX-512.
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
  const uint8_t* last; // of the taps inside the image, or where x starts
};

void find_taps(const IconvArgs& args, int64_t pixel, const uint8_t* outside, Taps& taps) {
  const ConvShape& s = args.shape;
  const int64_t y0 = pixel / s.out_w % s.out_h * s.stride_h - s.pad_top;
  const int64_t x0 = pixel % s.out_w * s.stride_w - s.pad_left;
  const auto* image =
      static_cast<const uint8_t*>(args.x) + pixel / s.out_w / s.out_h * s.in_h * s.in_w * s.in_c;
  const uint8_t** out = taps.at;
  taps.last = static_cast<const uint8_t*>(args.x);
  for (int64_t i = 0; i < s.kernel_h; ++i) {
    const int64_t y = y0 + i * s.dilation_h;
    for (int64_t j = 0; j < s.kernel_w; ++j) {
      const int64_t x = x0 + j * s.dilation_w;
      const bool inside = y >= 0 && y < s.in_h && x >= 0 && x < s.in_w;
      if (inside) taps.last = image + (y * s.in_w + x) * s.in_c;
      *out++ = inside ? taps.last : outside;
    }
  }
  *out = outside;
}

inline __m128i load(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

inline __m128i load_some(const uint8_t* p, int64_t count) {
  alignas(16) uint8_t part[16] = {};
  for (int64_t i = 0; i < count; ++i) {
    part[i] = p[i];
  }
  return load(part);
}

template <bool kSigned>
inline __m256i widen(__m128i bytes) {
  return kSigned ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

// acc[0..15] for the channels from `column` on. With kWhole, 16 bytes may be read at each tap.
template <bool kSigned, bool kWhole>
void sum_panel(const Taps& taps, const int16_t* w, int64_t column, int64_t columns, int32_t* acc) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = a;
  for (int64_t t = 0; t < taps.count; t += 2) {
    const uint8_t* p0 = taps.at[t] + column;
    const uint8_t* p1 = taps.at[t + 1] + column;
    const __m128i x0 = kWhole ? load(p0) : load_some(p0, columns);
    const __m128i x1 = kWhole ? load(p1) : load_some(p1, columns);
    const auto* ws = reinterpret_cast<const __m256i*>(w + t * kColumnsPerPanel);
    const __m256i low = widen<kSigned>(_mm_unpacklo_epi8(x0, x1));
    const __m256i high = widen<kSigned>(_mm_unpackhi_epi8(x0, x1));
    a = _mm256_add_epi32(a, _mm256_madd_epi16(low, _mm256_loadu_si256(ws)));
    b = _mm256_add_epi32(b, _mm256_madd_epi16(high, _mm256_loadu_si256(ws + 1)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc), a);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + 8), b);
}

using SumFn = void (*)(const Taps&, const int16_t*, int64_t, int64_t, int32_t*);

// Pixels whose taps are found together.
constexpr int64_t kPixels = 16;

// Output pixels [first, first + count).
void run_pixels(const IconvArgs& args, const Taps* taps, int64_t first, int64_t count) {
  const int64_t channels = args.shape.out_c;
  const ConvShape& s = args.shape;
  // Reading 16 bytes is safe where the image goes on behind the last channel.
  const auto* end = static_cast<const uint8_t*>(args.x) + s.batch * s.in_h * s.in_w * s.in_c;
  const bool is_signed = args.w->x.is_signed;
  const SumFn whole = is_signed ? sum_panel<true, true> : sum_panel<false, true>;
  const SumFn careful = is_signed ? sum_panel<true, false> : sum_panel<false, false>;
  const EpilogueTileFn epilogue = tile_kernels(args.w->isa).epilogue;
  alignas(64) int32_t acc[kPixels * kColumnsPerPanel];
  TileOut out;
  out.acc = acc;
  out.rows = count;
  out.row = first;
  out.init = args.columns->init;
  out.multiplier = args.columns->multiplier;
  out.bias = args.columns->bias;
  out.bounded = args.columns->bounded;
  out.y = args.y;
  out.y_stride = channels;
  const int16_t* w = args.w->depthwise.data.as<int16_t>();
  const int64_t panel_weights = (taps->count + 1) / 2 * kColumnsPerPanel * 2;
  for (out.column = 0; out.column < channels; out.column += kColumnsPerPanel) {
    out.columns =
        channels - out.column < kColumnsPerPanel ? channels - out.column : kColumnsPerPanel;
    for (int64_t i = 0; i < count; ++i) {
      const bool inside =
          out.columns == kColumnsPerPanel || taps[i].last + out.column + kColumnsPerPanel <= end;
      (inside ? whole : careful)(taps[i], w, out.column, out.columns, acc + i * kColumnsPerPanel);
    }
    epilogue(args.epilogue, out);
    w += panel_weights;
  }
}

} // namespace

void depthwise_avx2(const IconvArgs& args, int64_t begin, int64_t end) {
  const int64_t tap_count = args.w->depthwise.taps;
  const int64_t padded = round_up(args.shape.out_c, kColumnsPerPanel);
  const int64_t pointers = kPixels * (tap_count + 1);
  auto* scratch =
      chunk_scratch(Scratch::kTile, static_cast<size_t>(padded) +
                                        static_cast<size_t>(pointers) * sizeof(const uint8_t*));
  auto* outside = reinterpret_cast<uint8_t*>(scratch);
  __builtin_memset(outside, args.x_zero_point & 0xFF, static_cast<size_t>(padded));
  auto** at = reinterpret_cast<const uint8_t**>(scratch + padded);
  Taps taps[kPixels];
  for (int64_t i = 0; i < kPixels; ++i) {
    taps[i] = {at + i * (tap_count + 1), tap_count, nullptr};
  }
  for (int64_t pixel = begin; pixel < end; pixel += kPixels) {
    const int64_t count = end - pixel < kPixels ? end - pixel : kPixels;
    for (int64_t i = 0; i < count; ++i) {
      find_taps(args, pixel + i, outside, taps[i]);
    }
    run_pixels(args, taps, pixel, count);
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
