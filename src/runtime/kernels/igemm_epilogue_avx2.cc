// SPDX-License-Identifier: Apache-2.0
// Epilogue of a tile with AVX2; bit for bit core/numerics/epilogue.h. Also used with AVX-512.
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

struct Wide {
  __m256i a, b; // columns 0-7 and 8-15
};

struct WideF {
  __m256 a, b;
};

inline Wide sums(const TileOut& t, int64_t row) {
  const auto* acc = reinterpret_cast<const __m256i*>(t.acc + row * kColumnsPerPanel);
  const auto* init = reinterpret_cast<const __m256i*>(t.init + t.column);
  return {_mm256_add_epi32(_mm256_loadu_si256(acc), _mm256_loadu_si256(init)),
          _mm256_add_epi32(_mm256_loadu_si256(acc + 1), _mm256_loadu_si256(init + 1))};
}

inline WideF scaled(const Wide& s, const WideF& m, const WideF& b) {
  return {_mm256_fmadd_ps(_mm256_cvtepi32_ps(s.a), m.a, b.a),
          _mm256_fmadd_ps(_mm256_cvtepi32_ps(s.b), m.b, b.b)};
}

inline WideF load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

template <typename T>
inline void copy_some(const T* from, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from[i];
  }
}

template <typename Word>
inline uint64_t word(const uint8_t* p) {
  Word w = 0;
  __builtin_memcpy(&w, p, sizeof(w));
  return w;
}

// 1 to 8 bytes without going through memory again: words that may overlap.
inline uint64_t few_bytes(const uint8_t* p, int64_t count) {
  if (count == 8) return word<uint64_t>(p);
  if (count >= 4) return word<uint32_t>(p) | word<uint32_t>(p + count - 4) << (8 * (count - 4));
  if (count >= 2) return word<uint16_t>(p) | word<uint16_t>(p + count - 2) << (8 * (count - 2));
  return *p;
}

inline void store_few_bytes(uint64_t bytes, int64_t count, uint8_t* p) {
  const auto put = [&](auto w, int64_t at) {
    w = static_cast<decltype(w)>(bytes >> (8 * at));
    __builtin_memcpy(p + at, &w, sizeof(w));
  };
  if (count == 8) return put(uint64_t{0}, 0);
  if (count >= 4) {
    put(uint32_t{0}, 0);
    put(uint32_t{0}, count - 4);
  } else if (count >= 2) {
    put(uint16_t{0}, 0);
    put(uint16_t{0}, count - 2);
  } else {
    put(uint8_t{0}, 0);
  }
}

// 1 to 16 bytes, and 0 behind them.
inline __m128i some_bytes(const uint8_t* p, int64_t count) {
  if (count <= 8) return _mm_cvtsi64_si128(static_cast<int64_t>(few_bytes(p, count)));
  return _mm_set_epi64x(static_cast<int64_t>(few_bytes(p + 8, count - 8)),
                        static_cast<int64_t>(word<uint64_t>(p)));
}

inline void store_some_bytes(__m128i bytes, int64_t count, uint8_t* p) {
  const auto low = static_cast<uint64_t>(_mm_cvtsi128_si64(bytes));
  store_few_bytes(low, count < 8 ? count : 8, p);
  if (count > 8)
    store_few_bytes(static_cast<uint64_t>(_mm_extract_epi64(bytes, 1)), count - 8, p + 8);
}

void store_int32(const TileOut& t) {
  for (int64_t r = 0; r < t.rows; ++r) {
    const Wide s = sums(t, r);
    auto* y = static_cast<int32_t*>(t.y) + (t.row + r) * t.y_stride + t.column;
    alignas(32) int32_t part[16];
    int32_t* out = t.columns == kColumnsPerPanel ? y : part;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), s.a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8), s.b);
    if (out == part) copy_some(part, y, t.columns);
  }
}

void store_float(const Epilogue& e, const TileOut& t) {
  const WideF m = load(t.multiplier + t.column);
  const WideF b = load(t.bias + t.column);
  const __m256 lo = _mm256_set1_ps(e.float_lo);
  const __m256 hi = _mm256_set1_ps(e.float_hi);
  for (int64_t r = 0; r < t.rows; ++r) {
    WideF mr = m;
    if (e.row_multiplier != nullptr) {
      const __m256 row = _mm256_set1_ps(e.row_multiplier[t.row + r]);
      mr = {_mm256_mul_ps(row, m.a), _mm256_mul_ps(row, m.b)};
    }
    WideF v = scaled(sums(t, r), mr, b);
    // With the bound first, vmaxps and vminps return the value when it is NaN or an equal zero.
    v.a = _mm256_min_ps(hi, _mm256_max_ps(lo, v.a));
    v.b = _mm256_min_ps(hi, _mm256_max_ps(lo, v.b));
    auto* y = static_cast<float*>(t.y) + (t.row + r) * t.y_stride + t.column;
    alignas(32) float part[16];
    float* out = t.columns == kColumnsPerPanel ? y : part;
    _mm256_storeu_ps(out, v.a);
    _mm256_storeu_ps(out + 8, v.b);
    if (out == part) copy_some(part, y, t.columns);
  }
}

inline __m256 bounded(__m256 v, __m256 lo, __m256 hi) {
  v = _mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q));
  return _mm256_min_ps(_mm256_max_ps(v, lo), hi);
}

inline WideF residual_row(const Epilogue& e, const TileOut& t, int64_t row) {
  const auto* p =
      static_cast<const uint8_t*>(e.residual) + (t.row + row) * e.residual_stride + t.column;
  const __m128i bytes = t.columns == kColumnsPerPanel
                            ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))
                            : some_bytes(p, t.columns);
  const __m128i high = _mm_srli_si128(bytes, 8);
  const __m256i zero = _mm256_set1_epi32(e.residual_zero_point);
  const __m256i a = e.residual_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
  const __m256i b = e.residual_signed ? _mm256_cvtepi8_epi32(high) : _mm256_cvtepu8_epi32(high);
  return {_mm256_cvtepi32_ps(_mm256_sub_epi32(a, zero)),
          _mm256_cvtepi32_ps(_mm256_sub_epi32(b, zero))};
}

struct ByteConstants {
  __m256 lo, hi, m_res;
  __m256i zero_point; // int16
  bool is_signed;
};

// Rounded and saturated, less the zero point: int32 that fit int16.
inline __m256i rounded(__m256 v, const ByteConstants& k) {
  return _mm256_cvtps_epi32(bounded(v, k.lo, k.hi));
}

// Four vectors of 8 to 32 bytes, in order.
inline __m256i narrow(__m256i a, __m256i b, __m256i c, __m256i d, const ByteConstants& k) {
  const __m256i ab = _mm256_add_epi16(_mm256_packs_epi32(a, b), k.zero_point);
  const __m256i cd = _mm256_add_epi16(_mm256_packs_epi32(c, d), k.zero_point);
  const __m256i bytes = k.is_signed ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd);
  // Packing works within 128-bit halves, 4 bytes of each vector at a time.
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

inline void store_row(const TileOut& t, int64_t row, __m128i bytes) {
  auto* y = static_cast<uint8_t*>(t.y) + (t.row + row) * t.y_stride + t.column;
  if (t.columns == kColumnsPerPanel) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
    return;
  }
  store_some_bytes(bytes, t.columns, y);
}

inline WideF byte_row(const Epilogue& e,
                      const TileOut& t,
                      int64_t row,
                      const WideF& m,
                      const WideF& b,
                      const ByteConstants& k) {
  WideF v = scaled(sums(t, row), m, b);
  if (e.residual != nullptr) {
    const WideF res = residual_row(e, t, row);
    v = {_mm256_fmadd_ps(res.a, k.m_res, v.a), _mm256_fmadd_ps(res.b, k.m_res, v.b)};
  }
  return v;
}

// Panels with exactly 8 columns: four rows at a time.
void store_narrow(const TileOut& t, const ByteConstants& k) {
  const __m256 m = _mm256_loadu_ps(t.multiplier + t.column);
  const __m256 b = _mm256_loadu_ps(t.bias + t.column);
  const __m256i init = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t.init + t.column));
  const auto row = [&](int64_t r) {
    const auto* acc = reinterpret_cast<const __m256i*>(t.acc + r * kColumnsPerPanel);
    const __m256i sum = _mm256_add_epi32(_mm256_loadu_si256(acc), init);
    return rounded(_mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), m, b), k);
  };
  for (int64_t r = 0; r < t.rows; r += 4) {
    // Rows past the end repeat the last one.
    const int64_t last = t.rows - 1;
    const __m256i bytes =
        narrow(row(r), row(r + 1 < last ? r + 1 : last), row(r + 2 < last ? r + 2 : last),
               row(r + 3 < last ? r + 3 : last), k);
    alignas(32) uint8_t part[32];
    _mm256_store_si256(reinterpret_cast<__m256i*>(part), bytes);
    for (int64_t i = 0; i < 4 && r + i < t.rows; ++i) {
      __builtin_memcpy(static_cast<uint8_t*>(t.y) + (t.row + r + i) * t.y_stride + t.column,
                       part + 8 * i, 8);
    }
  }
}

// Sums whose scaled values stay within int32 are rounded first and saturate as they are narrowed:
// bounds that are integers commute with rounding.
template <bool kSigned>
struct Narrow {
  __m256i zero_point; // int16
  __m256i lo, hi;     // bytes

  __m256i operator()(__m256i a, __m256i b, __m256i c, __m256i d) const {
    const __m256i ab = _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero_point);
    const __m256i cd = _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero_point);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes;
    if constexpr (kSigned) {
      bytes = _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(ab, cd), lo), hi);
    } else {
      bytes = _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(ab, cd), lo), hi);
    }
    return _mm256_permutevar8x32_epi32(bytes, order);
  }
};

inline __m256 scaled_sum(const int32_t* acc, __m256i init, __m256 m, __m256 b) {
  const __m256i sum =
      _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(acc)), init);
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), m, b);
}

// 8 columns, four rows at a time.
template <bool kSigned>
void store_narrow_bounded(const TileOut& t, const Narrow<kSigned> narrow) {
  const __m256 m = _mm256_loadu_ps(t.multiplier + t.column);
  const __m256 b = _mm256_loadu_ps(t.bias + t.column);
  const __m256i init = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t.init + t.column));
  const int64_t stride = t.y_stride;
  const int64_t rows = t.rows;
  auto* y = static_cast<uint8_t*>(t.y) + t.row * stride + t.column;
  const int32_t* acc = t.acc;
  const auto row = [&](int64_t r) {
    return _mm256_cvtps_epi32(scaled_sum(acc + r * kColumnsPerPanel, init, m, b));
  };
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, y += 4 * stride) {
    const __m256i bytes = narrow(row(r), row(r + 1), row(r + 2), row(r + 3));
    if (stride == kColumnsPerPanel / 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), bytes);
      continue;
    }
    const __m128i low = _mm256_castsi256_si128(bytes);
    const __m128i high = _mm256_extracti128_si256(bytes, 1);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), low);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + stride), _mm_srli_si128(low, 8));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + 2 * stride), high);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + 3 * stride), _mm_srli_si128(high, 8));
  }
  for (; r < rows; ++r, y += stride) {
    const __m256i v = row(r);
    const __m256i bytes = narrow(v, v, v, v);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(bytes));
  }
}

struct NoResidual {
  NoResidual(const Epilogue& /*e*/, const TileOut& /*t*/) {}
  void add_to(WideF& /*v*/, int64_t /*row*/) const {}
};

// Of a tile whose scaled sums stay bounded with it.
struct Residual {
  const uint8_t* p; // at the first row and column of the tile
  int64_t stride;
  int64_t columns;
  __m128i flip; // its codes are read as unsigned
  __m256i zero;
  __m256 m;

  Residual(const Epilogue& e, const TileOut& t)
      : p(static_cast<const uint8_t*>(e.residual) + t.row * e.residual_stride + t.column),
        stride(e.residual_stride), columns(t.columns),
        flip(_mm_set1_epi8(static_cast<char>(e.residual_signed ? 128 : 0))),
        zero(_mm256_set1_epi32(e.residual_zero_point + (e.residual_signed ? 128 : 0))),
        m(_mm256_set1_ps(e.residual_multiplier)) {}

  __m256 added(__m256 v, __m128i codes) const {
    const __m256i wide = _mm256_sub_epi32(_mm256_cvtepu8_epi32(codes), zero);
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(wide), m, v);
  }
  void add_to(WideF& v, int64_t row) const {
    const uint8_t* from = p + row * stride;
    const __m128i bytes = columns == kColumnsPerPanel
                              ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                              : some_bytes(from, columns);
    const __m128i codes = _mm_xor_si128(bytes, flip);
    v = {added(v.a, codes), added(v.b, _mm_srli_si128(codes, 8))};
  }
};

template <bool kSigned, typename Added>
void store_bounded(const Epilogue& e, const TileOut& t, const Narrow<kSigned> narrow) {
  const WideF m = load(t.multiplier + t.column);
  const WideF b = load(t.bias + t.column);
  const auto* init = reinterpret_cast<const __m256i*>(t.init + t.column);
  const __m256i ia = _mm256_loadu_si256(init);
  const __m256i ib = _mm256_loadu_si256(init + 1);
  const Added residual(e, t);
  const bool whole = t.columns == kColumnsPerPanel;
  const int64_t stride = t.y_stride;
  const int64_t rows = t.rows;
  auto* y = static_cast<uint8_t*>(t.y) + t.row * stride + t.column;
  const int32_t* acc = t.acc;
  const auto row = [&](int64_t r, __m256i& low, __m256i& high) {
    WideF v = {scaled_sum(acc + r * kColumnsPerPanel, ia, m.a, b.a),
               scaled_sum(acc + r * kColumnsPerPanel + 8, ib, m.b, b.b)};
    residual.add_to(v, r);
    low = _mm256_cvtps_epi32(v.a);
    high = _mm256_cvtps_epi32(v.b);
  };
  for (int64_t r = 0; r < rows; r += 2, y += 2 * stride) {
    const bool two = r + 1 < rows;
    __m256i low, high, next_low, next_high;
    row(r, low, high);
    row(two ? r + 1 : r, next_low, next_high);
    const __m256i bytes = narrow(low, high, next_low, next_high);
    if (whole && two) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(bytes));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + stride), _mm256_extracti128_si256(bytes, 1));
      continue;
    }
    store_row(t, r, _mm256_castsi256_si128(bytes));
    if (two) store_row(t, r + 1, _mm256_extracti128_si256(bytes, 1));
  }
}

template <bool kSigned>
void store_bounded(const Epilogue& e, const TileOut& t) {
  const Narrow<kSigned> narrow{_mm256_set1_epi16(static_cast<int16_t>(e.zero_point)),
                               _mm256_set1_epi8(static_cast<char>(e.lo)),
                               _mm256_set1_epi8(static_cast<char>(e.hi))};
  if (e.residual != nullptr) return store_bounded<kSigned, Residual>(e, t, narrow);
  if (t.columns == kColumnsPerPanel / 2) return store_narrow_bounded<kSigned>(t, narrow);
  store_bounded<kSigned, NoResidual>(e, t, narrow);
}

void store_bytes(const Epilogue& e, const TileOut& t) {
  if (t.bounded && (e.residual == nullptr || has_bounded_residual(e)))
    return e.type == YType::kInt8 ? store_bounded<true>(e, t) : store_bounded<false>(e, t);
  const ByteConstants k{_mm256_set1_ps(static_cast<float>(e.lo - e.zero_point)),
                        _mm256_set1_ps(static_cast<float>(e.hi - e.zero_point)),
                        _mm256_set1_ps(e.residual_multiplier),
                        _mm256_set1_epi16(static_cast<int16_t>(e.zero_point)),
                        e.type == YType::kInt8};
  if (t.columns == kColumnsPerPanel / 2 && e.residual == nullptr) return store_narrow(t, k);
  const WideF m = load(t.multiplier + t.column);
  const WideF b = load(t.bias + t.column);
  for (int64_t r = 0; r < t.rows; r += 2) {
    const WideF v = byte_row(e, t, r, m, b, k);
    const WideF u = r + 1 < t.rows ? byte_row(e, t, r + 1, m, b, k) : v;
    const __m256i bytes =
        narrow(rounded(v.a, k), rounded(v.b, k), rounded(u.a, k), rounded(u.b, k), k);
    store_row(t, r, _mm256_castsi256_si128(bytes));
    if (r + 1 < t.rows) store_row(t, r + 1, _mm256_extracti128_si256(bytes, 1));
  }
}

} // namespace

void epilogue_tile_avx2(const Epilogue& epilogue, const TileOut& tile) {
  switch (epilogue.type) {
  case YType::kInt32:
    return store_int32(tile);
  case YType::kFloat:
    return store_float(epilogue, tile);
  case YType::kInt8:
  case YType::kUint8:
    return store_bytes(epilogue, tile);
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
