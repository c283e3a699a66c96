// SPDX-License-Identifier: Apache-2.0
// Codes of the sums of rows, in registers, 32 columns at a time; included where the target is AVX-512
// (F, BW, DQ, VL), in a namespace of its own.

#if defined(__x86_64__)

// A row or a group of weights of up to four panels.
struct Panels {
  __m512i a, b, c, d;
};

// An Out of one or two panels: bit for bit core/numerics/epilogue.h where scaled sums are bounded
// (IgemmColumns::bounded), with residuals too.
template <bool kSigned, bool kResidual>
struct ToCodes {
  const Epilogue& e;
  const int32_t* init; // arrays at the first column of the tile
  const float* m;
  const float* b;
  uint8_t* y; // at row 0 of the tile, as is `residual`
  int64_t y_stride;
  const uint8_t* residual;
  int64_t residual_stride;
  const int64_t* places;
  __mmask32 mask; // columns

  /// Rows of `t` come to its places.
  static ToCodes of(const Epilogue& e, const TileOut& t) {
    const uint8_t* residual = nullptr;
    if constexpr (kResidual)
      residual = static_cast<const uint8_t*>(e.residual) + t.row * e.residual_stride + t.column;
    return {e,
            t.init + t.column,
            t.multiplier + t.column,
            t.bias + t.column,
            static_cast<uint8_t*>(t.y) + t.row * t.y_stride + t.column,
            t.y_stride,
            residual,
            e.residual_stride,
            t.places,
            static_cast<__mmask32>((uint64_t{1} << t.columns) - 1)};
  }

  void skip(int64_t rows) { places += rows; }
  template <int kPanels>
  inline Panels begin() const {
    Panels out;
    out.a = out.b = out.c = out.d = _mm512_loadu_si512(init);
    if constexpr (kPanels > 1) out.b = _mm512_loadu_si512(init + kColumnsPerPanel);
    return out;
  }
  // What the tile will read has the time of its products to arrive.
  template <int kRows>
  inline void fetch() const {
    if constexpr (kResidual) {
      for (int r = 0; r < kRows; ++r)
        _mm_prefetch(reinterpret_cast<const char*>(residual + places[r] * residual_stride),
                     _MM_HINT_T0);
    }
  }

  // Of all rows of a tile: stores to y would have them read again.
  template <int kPanels>
  struct Rest {
    __m512 m[kPanels], b[kPanels];
    __m512i zero_point, lo, hi, order;
    __m512 residual_m;
    __m512i residual_zero;
    __m256i flip;
    uint8_t* y;
    int64_t y_stride;
    const uint8_t* residual;
    int64_t residual_stride;
    const int64_t* places;
    __mmask32 mask;

    explicit Rest(const ToCodes& o)
        : zero_point(_mm512_set1_epi16(static_cast<int16_t>(o.e.zero_point))),
          lo(_mm512_set1_epi8(static_cast<char>(o.e.lo))),
          hi(_mm512_set1_epi8(static_cast<char>(o.e.hi))),
          // Packing works within 128-bit lanes, 4 bytes of each row and panel at a time.
          order(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)), y(o.y),
          y_stride(o.y_stride), residual(o.residual), residual_stride(o.residual_stride),
          places(o.places), mask(o.mask) {
      for (int p = 0; p < kPanels; ++p) {
        m[p] = _mm512_loadu_ps(o.m + p * kColumnsPerPanel);
        b[p] = _mm512_loadu_ps(o.b + p * kColumnsPerPanel);
      }
      if constexpr (kResidual) {
        // Its codes are read as unsigned.
        const int32_t shift = o.e.residual_signed ? 128 : 0;
        residual_m = _mm512_set1_ps(o.e.residual_multiplier);
        residual_zero = _mm512_set1_epi32(o.e.residual_zero_point + shift);
        flip = _mm256_set1_epi8(static_cast<char>(shift));
      }
    }
    [[gnu::always_inline]] inline __m512 added(__m512 v, __m128i codes) const {
      const __m512i wide = _mm512_sub_epi32(_mm512_cvtepu8_epi32(codes), residual_zero);
      return _mm512_fmadd_ps(_mm512_cvtepi32_ps(wide), residual_m, v);
    }
    // Int16 of a row: 4 columns of each panel in each 128-bit lane.
    [[gnu::always_inline]] inline __m512i narrowed(const Panels& sum, int64_t r) const {
      constexpr int kLast = kPanels - 1;
      __m512 first = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum.a), m[0], b[0]);
      __m512 second = first;
      if constexpr (kPanels > 1)
        second = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum.b), m[kLast], b[kLast]);
      if constexpr (kResidual) {
        const uint8_t* from = residual + places[r] * residual_stride;
        const __m256i codes = _mm256_xor_si256(_mm256_maskz_loadu_epi8(mask, from), flip);
        first = added(first, _mm256_castsi256_si128(codes));
        if constexpr (kPanels > 1) second = added(second, _mm256_extracti128_si256(codes, 1));
      }
      const __m512i low = _mm512_cvtps_epi32(first);
      const __m512i high = kPanels > 1 ? _mm512_cvtps_epi32(second) : low;
      return _mm512_adds_epi16(_mm512_packs_epi32(low, high), zero_point);
    }
    [[gnu::always_inline]] inline void store(__m256i codes, int64_t r) const {
      uint8_t* to = y + places[r] * y_stride;
      if (mask == 0xFFFFFFFF)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), codes);
      else
        _mm256_mask_storeu_epi8(to, mask, codes);
    }
    template <bool kBoth>
    [[gnu::always_inline]] inline void
    rows(int64_t r, const Panels& sum, const Panels& next) const {
      const __m512i one = narrowed(sum, r);
      const __m512i two = kBoth ? narrowed(next, r + 1) : one;
      __m512i codes;
      if constexpr (kSigned)
        codes = _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(one, two), lo), hi);
      else
        codes = _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(one, two), lo), hi);
      codes = _mm512_permutexvar_epi32(order, codes);
      store(_mm512_castsi512_si256(codes), r);
      if constexpr (kBoth) store(_mm512_extracti64x4_epi64(codes, 1), r + 1);
    }
  };
};

#endif
