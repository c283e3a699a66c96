// SPDX-License-Identifier: Apache-2.0
// Epilogue of a tile with AVX-512 (F, BW, DQ, VL); bit for bit core/numerics/epilogue.h. A vector
// is a row of 16 columns; fewer columns are masked.
#include "runtime/kernels/igemm_tile.h"

#if defined(__x86_64__)
// GCC 12's own intrinsics start from vectors that it takes for uninitialized.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")
#endif

namespace octet::kernels {
namespace avx512 {
namespace {

#include "runtime/kernels/igemm_codes_avx512-inl.h"

// Constants of the columns of a tile.
struct Columns {
  __m512i init;
  __m512 m, b;
  __mmask16 mask;
};

inline Columns columns_of(const TileOut& t) {
  return {_mm512_loadu_si512(t.init + t.column), _mm512_loadu_ps(t.multiplier + t.column),
          _mm512_loadu_ps(t.bias + t.column), static_cast<__mmask16>((1U << t.columns) - 1)};
}

// Twice the constants of the first 8 columns.
inline Columns half_columns(const TileOut& t) {
  const auto* init = reinterpret_cast<const __m256i*>(t.init + t.column);
  return {_mm512_broadcast_i64x4(_mm256_loadu_si256(init)),
          _mm512_broadcast_f32x8(_mm256_loadu_ps(t.multiplier + t.column)),
          _mm512_broadcast_f32x8(_mm256_loadu_ps(t.bias + t.column)), 0xFF};
}

inline __m512 scaled(const int32_t* acc, const Columns& c) {
  const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(acc), c.init);
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), c.m, c.b);
}

void store_int32(const TileOut& t) {
  const Columns c = columns_of(t);
  auto* y = static_cast<int32_t*>(t.y) + t.row * t.y_stride + t.column;
  for (int64_t r = 0; r < t.rows; ++r, y += t.y_stride) {
    const __m512i acc = _mm512_loadu_si512(t.acc + r * kColumnsPerPanel);
    _mm512_mask_storeu_epi32(y, c.mask, _mm512_add_epi32(acc, c.init));
  }
}

void store_float(const Epilogue& e, const TileOut& t) {
  const Columns c = columns_of(t);
  const __m512 lo = _mm512_set1_ps(e.float_lo);
  const __m512 hi = _mm512_set1_ps(e.float_hi);
  auto* y = static_cast<float*>(t.y) + t.row * t.y_stride + t.column;
  for (int64_t r = 0; r < t.rows; ++r, y += t.y_stride) {
    Columns row = c;
    if (e.row_multiplier != nullptr) {
      row.m = _mm512_mul_ps(_mm512_set1_ps(e.row_multiplier[t.row + r]), c.m);
    }
    const __m512 v = scaled(t.acc + r * kColumnsPerPanel, row);
    // With the bound first, vmaxps and vminps return the value when it is NaN or an equal zero.
    _mm512_mask_storeu_ps(y, c.mask, _mm512_min_ps(hi, _mm512_max_ps(lo, v)));
  }
}

// Four rows of 16 int32 to bytes; row i is 128-bit lane i. A sum plus the zero point saturates.
template <bool kSigned>
struct Narrow {
  __m512i zero_point; // int16
  __m512i lo, hi;     // bytes

  explicit Narrow(const Epilogue& e)
      : zero_point(_mm512_set1_epi16(static_cast<int16_t>(e.zero_point))),
        lo(_mm512_set1_epi8(static_cast<char>(e.lo))),
        hi(_mm512_set1_epi8(static_cast<char>(e.hi))) {}

  inline __m512i operator()(__m512i a, __m512i b, __m512i c, __m512i d) const {
    const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero_point);
    const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero_point);
    __m512i bytes;
    if constexpr (kSigned) {
      bytes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(ab, cd), lo), hi);
    } else {
      bytes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), lo), hi);
    }
    // Packing works within 128-bit lanes, 4 bytes of each row at a time.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }
};

template <int kLane>
inline void store_lane(uint8_t* y, __m512i bytes) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_extracti32x4_epi32(bytes, kLane));
}

template <int kLane>
inline void store_some(uint8_t* y, __mmask16 mask, __m512i bytes) {
  _mm_mask_storeu_epi8(y, mask, _mm512_extracti32x4_epi32(bytes, kLane));
}

// `row(acc, r)` gives 16 rounded values, in int32, of row r, whose sums are at acc.
template <bool kSigned, typename Row>
inline void store_rows(const Epilogue& e, const TileOut& t, __mmask16 mask, const Row row) {
  const Narrow<kSigned> narrow(e);
  const int64_t stride = t.y_stride;
  const int64_t rows = t.rows;
  const int32_t* acc = t.acc;
  auto* y = static_cast<uint8_t*>(t.y) + t.row * stride + t.column;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, y += 4 * stride, acc += 64) {
    const __m512i bytes =
        narrow(row(acc, r), row(acc + 16, r + 1), row(acc + 32, r + 2), row(acc + 48, r + 3));
    if (mask == 0xFFFF) {
      store_lane<0>(y, bytes);
      store_lane<1>(y + stride, bytes);
      store_lane<2>(y + 2 * stride, bytes);
      store_lane<3>(y + 3 * stride, bytes);
    } else {
      store_some<0>(y, mask, bytes);
      store_some<1>(y + stride, mask, bytes);
      store_some<2>(y + 2 * stride, mask, bytes);
      store_some<3>(y + 3 * stride, mask, bytes);
    }
  }
  for (; r < rows; ++r, y += stride, acc += 16) {
    const __m512i v = row(acc, r);
    store_some<0>(y, mask, narrow(v, v, v, v));
  }
}

// Sums whose scaled values stay within int32 are rounded first and saturate as they are narrowed:
// bounds that are integers commute with rounding.
template <bool kSigned>
void store_bounded(const Epilogue& e, const TileOut& t) {
  const Columns c = columns_of(t);
  store_rows<kSigned>(e, t, c.mask, [c](const int32_t* acc, int64_t /*row*/) {
    return _mm512_cvtps_epi32(scaled(acc, c));
  });
}

inline __m256i load_half(const int32_t* acc) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(acc));
}

// The first 8 columns of two rows.
inline __m512i two_rows(const int32_t* acc, const int32_t* next, const Columns& c) {
  const __m512i both =
      _mm512_inserti64x4(_mm512_castsi256_si512(load_half(acc)), load_half(next), 1);
  const __m512 sum = _mm512_cvtepi32_ps(_mm512_add_epi32(both, c.init));
  return _mm512_cvtps_epi32(_mm512_fmadd_ps(sum, c.m, c.b));
}

// Panels of exactly 8 columns: 8 rows at a time.
template <bool kSigned>
void store_half_bounded(const Epilogue& e, const TileOut& t) {
  const Columns c = half_columns(t);
  const Narrow<kSigned> narrow(e);
  const int64_t stride = t.y_stride;
  const int64_t rows = t.rows;
  const int32_t* acc = t.acc;
  auto* y = static_cast<uint8_t*>(t.y) + t.row * stride + t.column;
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8, y += 8 * stride, acc += 128) {
    const __m512i bytes = narrow(two_rows(acc, acc + 16, c), two_rows(acc + 32, acc + 48, c),
                                 two_rows(acc + 64, acc + 80, c), two_rows(acc + 96, acc + 112, c));
    if (stride == kColumnsPerPanel / 2) {
      _mm512_storeu_si512(y, bytes);
      continue;
    }
    alignas(64) uint8_t part[64];
    _mm512_store_si512(part, bytes);
    for (int64_t i = 0; i < 8; ++i) {
      __builtin_memcpy(y + i * stride, part + 8 * i, 8);
    }
  }
  for (; r < rows; ++r, y += stride, acc += 16) {
    const __m512i v = two_rows(acc, acc, c);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm512_castsi512_si128(narrow(v, v, v, v)));
  }
}

// Residuals of row `row`, less their zero point.
inline __m512 residual_row(const Epilogue& e, const TileOut& t, int64_t row, __mmask16 mask) {
  const auto* p =
      static_cast<const uint8_t*>(e.residual) + (t.row + row) * e.residual_stride + t.column;
  const __m128i bytes = _mm_maskz_loadu_epi8(mask, p);
  const __m512i wide =
      e.residual_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(wide, _mm512_set1_epi32(e.residual_zero_point)));
}

// NaN becomes 0 and values are clamped before they are rounded.
template <bool kSigned>
void store_any(const Epilogue& e, const TileOut& t) {
  const Columns c = columns_of(t);
  const __m512 lo = _mm512_set1_ps(static_cast<float>(e.lo - e.zero_point));
  const __m512 hi = _mm512_set1_ps(static_cast<float>(e.hi - e.zero_point));
  const __m512 m_res = _mm512_set1_ps(e.residual_multiplier);
  store_rows<kSigned>(e, t, c.mask, [&](const int32_t* acc, int64_t r) {
    __m512 v = scaled(acc, c);
    if (e.residual != nullptr) v = _mm512_fmadd_ps(residual_row(e, t, r, c.mask), m_res, v);
    v = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(v, lo), hi));
  });
}

template <bool kSigned>
void store_bytes(const Epilogue& e, const TileOut& t) {
  if (!t.bounded || e.residual != nullptr) return store_any<kSigned>(e, t);
  if (t.columns == kColumnsPerPanel / 2) return store_half_bounded<kSigned>(e, t);
  store_bounded<kSigned>(e, t);
}

template <int kPanels>
inline Panels sums_at(const int32_t* acc, int64_t acc_step, const Panels& init) {
  Panels out = init;
  out.a = _mm512_add_epi32(_mm512_load_si512(acc), init.a);
  if constexpr (kPanels > 1) out.b = _mm512_add_epi32(_mm512_load_si512(acc + acc_step), init.b);
  return out;
}

template <bool kSigned, bool kResidual, int kPanels>
void end_codes(const int32_t* acc, int64_t acc_step, const Epilogue& e, const TileOut& t) {
  const auto out = ToCodes<kSigned, kResidual>::of(e, t);
  const Panels init = out.template begin<kPanels>();
  const typename ToCodes<kSigned, kResidual>::template Rest<kPanels> rest(out);
  int64_t r = 0;
  for (; r + 2 <= t.rows; r += 2, acc += 2 * kColumnsPerPanel)
    rest.template rows<true>(r, sums_at<kPanels>(acc, acc_step, init),
                             sums_at<kPanels>(acc + kColumnsPerPanel, acc_step, init));
  if (r < t.rows) {
    const Panels sums = sums_at<kPanels>(acc, acc_step, init);
    rest.template rows<false>(r, sums, sums);
  }
}

using EndFn = void (*)(const int32_t*, int64_t, const Epilogue&, const TileOut&);
template <bool kSigned, bool kResidual>
constexpr EndFn kEnds[2] = {end_codes<kSigned, kResidual, 1>, end_codes<kSigned, kResidual, 2>};

} // namespace
} // namespace avx512

void end_codes_avx512(const int32_t* acc,
                      int64_t acc_step,
                      int64_t panel_count,
                      const Epilogue& e,
                      const TileOut& tile) {
  const bool adds = e.residual != nullptr;
  const avx512::EndFn* ends = e.type == YType::kInt8
                                  ? adds ? avx512::kEnds<true, true> : avx512::kEnds<true, false>
                              : adds ? avx512::kEnds<false, true>
                                     : avx512::kEnds<false, false>;
  ends[panel_count - 1](acc, acc_step, e, tile);
}

void epilogue_tile_avx512(const Epilogue& epilogue, const TileOut& tile) {
  switch (epilogue.type) {
  case YType::kInt32:
    return avx512::store_int32(tile);
  case YType::kFloat:
    return avx512::store_float(epilogue, tile);
  case YType::kInt8:
    return avx512::store_bytes<true>(epilogue, tile);
  case YType::kUint8:
    return avx512::store_bytes<false>(epilogue, tile);
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
