// SPDX-License-Identifier: Apache-2.0
// Sums with AVX2, of an 8 x 8 tile of split panels (igemm_int16-inl.h), or by the same steps of a
// 4 x 16 tile. Contract: igemm_tile.h.
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
namespace avx2 {
namespace {

using Vector = __m256i;

inline Vector load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// 4 bytes at p in every lane.
inline Vector broadcast(const void* p) {
  int bits = 0;
  __builtin_memcpy(&bits, p, 4);
  return _mm256_set1_epi32(bits);
}

inline void store(Vector v, int32_t* out) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), v);
}

inline Vector zeros() {
  return _mm256_setzero_si256();
}

inline Vector words(int16_t v) {
  return _mm256_set1_epi16(v);
}

inline Vector multiply_bytes(Vector x, Vector w) {
  return _mm256_maddubs_epi16(x, w);
}

inline Vector multiply_words(Vector x, Vector w) {
  return _mm256_madd_epi16(x, w);
}

inline Vector add_words(Vector a, Vector b) {
  return _mm256_add_epi16(a, b);
}

inline Vector add_ints(Vector a, Vector b) {
  return _mm256_add_epi32(a, b);
}

inline Vector flip(Vector x, Vector mask) {
  return _mm256_xor_si256(x, mask);
}

inline Vector even_bytes(Vector x, Vector mask) {
  return _mm256_and_si256(x, mask);
}

inline Vector odd_bytes(Vector x) {
  return _mm256_srli_epi16(x, 8);
}

#include "runtime/kernels/igemm_int16-inl.h"

struct Pair {
  __m256i a, b;
};

inline void add_paired(Pair& acc,
                       const uint8_t* x0,
                       const uint8_t* x1,
                       __m256i w0a,
                       __m256i w0b,
                       __m256i w1a,
                       __m256i w1b,
                       __m256i ones) {
  const __m256i v0 = broadcast(x0);
  const __m256i v1 = broadcast(x1);
  const __m256i a = _mm256_add_epi16(_mm256_maddubs_epi16(v0, w0a), _mm256_maddubs_epi16(v1, w1a));
  acc.a = _mm256_add_epi32(acc.a, _mm256_madd_epi16(a, ones));
  const __m256i b = _mm256_add_epi16(_mm256_maddubs_epi16(v0, w0b), _mm256_maddubs_epi16(v1, w1b));
  acc.b = _mm256_add_epi32(acc.b, _mm256_madd_epi16(b, ones));
}

inline void add_plain(Pair& acc, const uint8_t* x, __m256i wa, __m256i wb, __m256i ones) {
  const __m256i v = broadcast(x);
  acc.a = _mm256_add_epi32(acc.a, _mm256_madd_epi16(_mm256_maddubs_epi16(v, wa), ones));
  acc.b = _mm256_add_epi32(acc.b, _mm256_madd_epi16(_mm256_maddubs_epi16(v, wb), ones));
}

inline void add_flipped(Pair& acc,
                        const uint8_t* x,
                        __m256i wa,
                        __m256i wb,
                        __m256i mask_a,
                        __m256i mask_b,
                        __m256i ones) {
  const __m256i v = broadcast(x);
  const __m256i a = _mm256_maddubs_epi16(wa, flip(v, mask_a));
  acc.a = _mm256_add_epi32(acc.a, _mm256_madd_epi16(a, ones));
  const __m256i b = _mm256_maddubs_epi16(wb, flip(v, mask_b));
  acc.b = _mm256_add_epi32(acc.b, _mm256_madd_epi16(b, ones));
  __asm__("" : "+x"(acc.a), "+x"(acc.b)); // row after row, or they would be spilled
}

// The low byte of each word. Read from memory where it is used: a register for it would be one too
// many.
alignas(32) constexpr uint16_t kEven[16] = {255, 255, 255, 255, 255, 255, 255, 255,
                                            255, 255, 255, 255, 255, 255, 255, 255};

// Even and odd bytes of x, zero-extended, meet the int16 weights of k 0 and 2, then 1 and 3.
inline void add_wide(Pair& acc,
                     const uint8_t* x,
                     __m256i w0a,
                     __m256i w0b,
                     __m256i w1a,
                     __m256i w1b,
                     const uint16_t* even) {
  const __m256i v = broadcast(x);
  const __m256i v0 = _mm256_and_si256(v, load(even));
  const __m256i v1 = _mm256_srli_epi16(v, 8);
  acc.a = _mm256_add_epi32(acc.a, _mm256_madd_epi16(v0, w0a));
  acc.a = _mm256_add_epi32(acc.a, _mm256_madd_epi16(v1, w1a));
  acc.b = _mm256_add_epi32(acc.b, _mm256_madd_epi16(v0, w0b));
  acc.b = _mm256_add_epi32(acc.b, _mm256_madd_epi16(v1, w1b));
}

inline void store(const Pair& acc, int32_t* out) {
  store(acc.a, out);
  store(acc.b, out + 8);
}

struct PairSums {
  Pair r0, r1, r2, r3;
};

/// Up to 4 rows, as dot_vector has them.
template <int kRows>
void dot(const PackedGroups& groups, const uint8_t* const* rows, int32_t* acc) {
  const auto row = [rows](int i) { return rows[i < kRows ? i : 0]; };
  const Rows x = {row(0), row(1), row(2), row(3), row(0), row(0), row(0), row(0)};
  const __m256i ones = words(1);
  const Pair zero = {zeros(), zeros()};
  PairSums sums = {zero, zero, zero, zero};
  const int8_t* w = groups.data;
  const int32_t* offset = groups.offsets;
  for (int32_t g = 0; g < groups.paired; g += 2, w += 128) {
    const __m256i w0a = load(w), w0b = load(w + 32), w1a = load(w + 64), w1b = load(w + 96);
    const int64_t o0 = *offset++, o1 = *offset++;
    each_row<kRows>(sums, x, [=](Pair sum, const uint8_t* p) {
      add_paired(sum, p + o0, p + o1, w0a, w0b, w1a, w1b, ones);
      return sum;
    });
  }
  for (int32_t g = 0; g < groups.plain; ++g, w += 64) {
    const __m256i wa = load(w), wb = load(w + 32);
    const int64_t o = *offset++;
    each_row<kRows>(sums, x, [=](Pair sum, const uint8_t* p) {
      add_plain(sum, p + o, wa, wb, ones);
      return sum;
    });
  }
  // Couples one by one: of four vectors more not all would stay in registers.
  for (int64_t g = groups.all_flipped(); g > 0; --g, w += 128) {
    const __m256i wa = load(w), wb = load(w + 32), mask_a = load(w + 64), mask_b = load(w + 96);
    const int64_t o = *offset++;
    each_row<kRows>(sums, x, [=](Pair sum, const uint8_t* p) {
      add_flipped(sum, p + o, wa, wb, mask_a, mask_b, ones);
      return sum;
    });
  }
  if (groups.all_flipped() > 0) {
    const __m256i more_a = load(w), more_b = load(w + 32);
    each_row<kRows>(sums, x, [=](Pair sum, const uint8_t*) {
      return Pair{_mm256_add_epi32(sum.a, more_a), _mm256_add_epi32(sum.b, more_b)};
    });
    w += 64;
  }
  const uint16_t* even = kEven;
  for (int32_t g = 0; g < groups.wide; ++g, w += 128) {
    __asm__("" : "+r"(even)); // or the mask would be kept, on the stack
    const __m256i w0a = load(w), w0b = load(w + 32), w1a = load(w + 64), w1b = load(w + 96);
    const int64_t o = *offset++;
    each_row<kRows>(sums, x, [=](Pair sum, const uint8_t* p) {
      add_wide(sum, p + o, w0a, w0b, w1a, w1b, even);
      return sum;
    });
  }
  each_row<kRows>(sums, x, [&acc](Pair sum, const uint8_t*) {
    store(sum, acc);
    acc += kColumnsPerPanel;
    return sum;
  });
}

void dot_rows(const PackedGroups& groups, const uint8_t* const* rows, int64_t count, int32_t* acc) {
  for (; count >= 4; count -= 4, rows += 4, acc += 4 * kColumnsPerPanel) {
    dot<4>(groups, rows, acc);
  }
  if (count == 3) dot<3>(groups, rows, acc);
  if (count == 2) dot<2>(groups, rows, acc);
  if (count == 1) dot<1>(groups, rows, acc);
}

void dot_halves(const PackedPanel& panel, const uint8_t* const* rows, int64_t count, int32_t* acc) {
  for (; count > 0; count -= kTileRows, rows += kTileRows, acc += kTileRows * kColumnsPerPanel) {
    const VectorTileFn tile = kVectorTiles[std::min(count, kTileRows) - 1];
    tile(panel.groups, rows, acc);
    if (!panel.half) tile(panel.right, rows, acc + kColumnsPerPanel / 2);
  }
}

} // namespace
} // namespace avx2

void dot_tile_avx2(const PackedPanel& panel,
                   const uint8_t* const* rows,
                   int64_t count,
                   int32_t* acc) {
  if (panel.split) return avx2::dot_halves(panel, rows, count, acc);
  avx2::dot_rows(panel.groups, rows, count, acc);
}

void shift_copy_avx2(const uint8_t* from, int64_t count, int32_t shift, uint8_t* to) {
  const __m256i more = _mm256_set1_epi8(static_cast<char>(shift));
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_add_epi8(avx2::load(from + i), more));
  }
  for (; i + 8 <= count; i += 8) {
    const __m128i some = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + i));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to + i),
                     _mm_add_epi8(some, _mm256_castsi256_si128(more)));
  }
  for (; i < count; ++i) {
    to[i] = static_cast<uint8_t>(from[i] + shift);
  }
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
