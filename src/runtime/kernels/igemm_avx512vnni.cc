// SPDX-License-Identifier: Apache-2.0
// Sums with AVX-512 VNNI: vpdpbusd adds four u8 x s8 products to int32 without saturation, so every
// group is plain and panels are in one order. Tiles of 8 rows x 2 panels share each broadcast of x
// between two products; one or two rows take 4 panels, which keeps as many sums in flight. Half
// panels use 256-bit vectors. Sums that become codes do so in registers: with few k, as many steps
// are spent on that as on products, and those of one tile run beside the products of the next. Sign
// bits of x are flipped as it is read, which saves a copy and costs nothing beside two products where
// there are more than two units for vectors of 512 bits (rows_are_shifted).
// While a tile multiplies, weights of the next panels are brought near: few rows wait for them longer
// than they multiply. Contract: igemm_tile.h. Accumulators are named variables: in an array they
// would be spilled.
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
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))),             \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif

namespace octet::kernels {
namespace avx512vnni {
namespace {

inline int four_bytes(const void* p) {
  int bits = 0;
  __builtin_memcpy(&bits, p, 4);
  return bits;
}

#include "runtime/kernels/igemm_codes_avx512-inl.h"

template <int kPanels>
inline Panels load_weights(const int8_t* w, int64_t step) {
  Panels out;
  out.a = out.b = out.c = out.d = _mm512_loadu_si512(w);
  if constexpr (kPanels > 1) out.b = _mm512_loadu_si512(w + step);
  if constexpr (kPanels > 2) out.c = _mm512_loadu_si512(w + 2 * step);
  if constexpr (kPanels > 3) out.d = _mm512_loadu_si512(w + 3 * step);
  return out;
}

template <int kPanels, bool kFlips>
inline void add(Panels& sum, const uint8_t* x, __m512i flip, const Panels& w) {
  __m512i v = _mm512_set1_epi32(four_bytes(x));
  if constexpr (kFlips) v = _mm512_xor_si512(v, flip);
  sum.a = _mm512_dpbusd_epi32(sum.a, v, w.a);
  if constexpr (kPanels > 1) sum.b = _mm512_dpbusd_epi32(sum.b, v, w.b);
  if constexpr (kPanels > 2) sum.c = _mm512_dpbusd_epi32(sum.c, v, w.c);
  if constexpr (kPanels > 3) sum.d = _mm512_dpbusd_epi32(sum.d, v, w.d);
}

// Ends what the compiler knows of a sum: where it is read as floats, GCC 12 would keep it twice in
// the loop before, as a vector of 32-bit and one of 64-bit numbers, and copy it at each turn.
template <int kPanels>
inline void settle(Panels& sum) {
  asm("" : "+v"(sum.a));
  if constexpr (kPanels > 1) asm("" : "+v"(sum.b));
  if constexpr (kPanels > 2) asm("" : "+v"(sum.c));
  if constexpr (kPanels > 3) asm("" : "+v"(sum.d));
}

// What becomes of the sums of a tile: an Out says where they begin, and its Rest, made when they are
// there, takes row r and the next one (the same again for an odd last row, of which it keeps one).

struct ToSums {
  int32_t* acc;
  int64_t acc_step;

  void skip(int64_t rows) { acc += rows * kColumnsPerPanel; }
  template <int kRows>
  inline void fetch() const {}
  template <int kPanels>
  inline Panels begin() const {
    const __m512i zero = _mm512_setzero_si512();
    return {zero, zero, zero, zero};
  }

  template <int kPanels>
  struct Rest {
    int32_t* acc;
    int64_t acc_step;

    explicit Rest(const ToSums& o) : acc(o.acc), acc_step(o.acc_step) {}
    inline void store(const Panels& sum, int64_t r) const {
      int32_t* to = acc + r * kColumnsPerPanel;
      _mm512_storeu_si512(to, sum.a);
      if constexpr (kPanels > 1) _mm512_storeu_si512(to + acc_step, sum.b);
      if constexpr (kPanels > 2) _mm512_storeu_si512(to + 2 * acc_step, sum.c);
      if constexpr (kPanels > 3) _mm512_storeu_si512(to + 3 * acc_step, sum.d);
    }
    template <bool kBoth>
    inline void rows(int64_t r, const Panels& sum, const Panels& next) const {
      store(sum, r);
      if constexpr (kBoth) store(next, r + 1);
    }
  };
};

// The groups of a panel that are multiplied.
struct Runs {
  const GroupRun* begin;
  const GroupRun* end;

  // `all` says all of them.
  Runs(const PackedPanel& panel, const GroupRun& all)
      : begin(panel.runs == nullptr ? &all : panel.runs),
        end(begin + (panel.runs == nullptr ? 1 : panel.run_count)) {}
};

// `step` bytes of weights lie between panels, and `ahead` to those that are brought near meanwhile.
template <int kRows, int kPanels, typename Out, bool kFlips>
void dot(const PackedPanel& panel,
         int64_t step,
         int64_t ahead,
         const uint8_t* const* rows,
         const Out& out) {
  out.template fetch<kRows>();
  const Panels begin = out.template begin<kPanels>();
  Panels s0 = begin;
  Panels s1 = begin;
  Panels s2 = begin;
  Panels s3 = begin;
  Panels s4 = begin;
  Panels s5 = begin;
  Panels s6 = begin;
  Panels s7 = begin;
  const uint8_t* r0 = rows[0];
  const uint8_t* r1 = kRows > 1 ? rows[1] : r0;
  const uint8_t* r2 = kRows > 2 ? rows[2] : r0;
  const uint8_t* r3 = kRows > 3 ? rows[3] : r0;
  const uint8_t* r4 = kRows > 4 ? rows[4] : r0;
  const uint8_t* r5 = kRows > 5 ? rows[5] : r0;
  const uint8_t* r6 = kRows > 6 ? rows[6] : r0;
  const uint8_t* r7 = kRows > 7 ? rows[7] : r0;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(panel.flip));
  const GroupRun all{0, panel.groups.plain};
  const Runs runs(panel, all);
  const int64_t shift = panel.shift;
  for (const GroupRun* run = runs.begin; run != runs.end; ++run) {
    const int8_t* w = panel.groups.data + int64_t{64} * run->first;
    const int32_t* offset = panel.groups.offsets + run->first;
    const int32_t* end = offset + run->count;
    for (; offset != end; ++offset, w += 64) {
      const Panels ws = load_weights<kPanels>(w, step);
      _mm_prefetch(reinterpret_cast<const char*>(w + ahead), _MM_HINT_T1);
      const int64_t o = *offset + shift;
      add<kPanels, kFlips>(s0, r0 + o, flip, ws);
      if constexpr (kRows > 1) add<kPanels, kFlips>(s1, r1 + o, flip, ws);
      if constexpr (kRows > 2) add<kPanels, kFlips>(s2, r2 + o, flip, ws);
      if constexpr (kRows > 3) add<kPanels, kFlips>(s3, r3 + o, flip, ws);
      if constexpr (kRows > 4) add<kPanels, kFlips>(s4, r4 + o, flip, ws);
      if constexpr (kRows > 5) add<kPanels, kFlips>(s5, r5 + o, flip, ws);
      if constexpr (kRows > 6) add<kPanels, kFlips>(s6, r6 + o, flip, ws);
      if constexpr (kRows > 7) add<kPanels, kFlips>(s7, r7 + o, flip, ws);
    }
  }
  settle<kPanels>(s0);
  if constexpr (kRows > 1) settle<kPanels>(s1);
  if constexpr (kRows > 2) settle<kPanels>(s2);
  if constexpr (kRows > 3) settle<kPanels>(s3);
  if constexpr (kRows > 4) settle<kPanels>(s4);
  if constexpr (kRows > 5) settle<kPanels>(s5);
  if constexpr (kRows > 6) settle<kPanels>(s6);
  if constexpr (kRows > 7) settle<kPanels>(s7);
  const typename Out::template Rest<kPanels> rest(out);
  rest.template rows<(kRows > 1)>(0, s0, s1);
  if constexpr (kRows > 2) rest.template rows<(kRows > 3)>(2, s2, s3);
  if constexpr (kRows > 4) rest.template rows<(kRows > 5)>(4, s4, s5);
  if constexpr (kRows > 6) rest.template rows<(kRows > 7)>(6, s6, s7);
}

inline __m256i add_half(__m256i sum, const uint8_t* x, __m256i flip, __m256i w) {
  const __m256i v = _mm256_xor_si256(_mm256_set1_epi32(four_bytes(x)), flip);
  return _mm256_dpbusd_epi32(sum, v, w);
}

inline void store_half(__m256i sum, int32_t* acc) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc), sum);
}

// The same of a half panel, whose groups are as far apart as those of whole ones.
template <int kRows>
void dot_half(const PackedPanel& panel,
              int64_t /*step*/,
              int64_t /*ahead*/,
              const uint8_t* const* rows,
              const ToSums& out) {
  int32_t* acc = out.acc;
  __m256i s0 = _mm256_setzero_si256();
  __m256i s1 = s0;
  __m256i s2 = s0;
  __m256i s3 = s0;
  __m256i s4 = s0;
  __m256i s5 = s0;
  __m256i s6 = s0;
  __m256i s7 = s0;
  const uint8_t* r0 = rows[0];
  const uint8_t* r1 = kRows > 1 ? rows[1] : r0;
  const uint8_t* r2 = kRows > 2 ? rows[2] : r0;
  const uint8_t* r3 = kRows > 3 ? rows[3] : r0;
  const uint8_t* r4 = kRows > 4 ? rows[4] : r0;
  const uint8_t* r5 = kRows > 5 ? rows[5] : r0;
  const uint8_t* r6 = kRows > 6 ? rows[6] : r0;
  const uint8_t* r7 = kRows > 7 ? rows[7] : r0;
  const __m256i flip = _mm256_set1_epi8(static_cast<char>(panel.flip));
  const GroupRun all{0, panel.groups.plain};
  const Runs runs(panel, all);
  const int64_t shift = panel.shift;
  for (const GroupRun* run = runs.begin; run != runs.end; ++run) {
    const int8_t* w = panel.groups.data + int64_t{64} * run->first;
    const int32_t* offset = panel.groups.offsets + run->first;
    const int32_t* end = offset + run->count;
    for (; offset != end; ++offset, w += 64) {
      const __m256i ws = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
      const int64_t o = *offset + shift;
      s0 = add_half(s0, r0 + o, flip, ws);
      if constexpr (kRows > 1) s1 = add_half(s1, r1 + o, flip, ws);
      if constexpr (kRows > 2) s2 = add_half(s2, r2 + o, flip, ws);
      if constexpr (kRows > 3) s3 = add_half(s3, r3 + o, flip, ws);
      if constexpr (kRows > 4) s4 = add_half(s4, r4 + o, flip, ws);
      if constexpr (kRows > 5) s5 = add_half(s5, r5 + o, flip, ws);
      if constexpr (kRows > 6) s6 = add_half(s6, r6 + o, flip, ws);
      if constexpr (kRows > 7) s7 = add_half(s7, r7 + o, flip, ws);
    }
  }
  store_half(s0, acc);
  if constexpr (kRows > 1) store_half(s1, acc + 16);
  if constexpr (kRows > 2) store_half(s2, acc + 32);
  if constexpr (kRows > 3) store_half(s3, acc + 48);
  if constexpr (kRows > 4) store_half(s4, acc + 64);
  if constexpr (kRows > 5) store_half(s5, acc + 80);
  if constexpr (kRows > 6) store_half(s6, acc + 96);
  if constexpr (kRows > 7) store_half(s7, acc + 112);
}

template <typename Out>
using TileFn = void (*)(const PackedPanel&, int64_t, int64_t, const uint8_t* const*, const Out&);

// By rows less 1.
constexpr TileFn<ToSums> kHalf[8] = {dot_half<1>, dot_half<2>, dot_half<3>, dot_half<4>,
                                     dot_half<5>, dot_half<6>, dot_half<7>, dot_half<8>};
template <int kPanels, typename Out, bool kFlips>
constexpr TileFn<Out> kTiles[8] = {dot<1, kPanels, Out, kFlips>, dot<2, kPanels, Out, kFlips>,
                                   dot<3, kPanels, Out, kFlips>, dot<4, kPanels, Out, kFlips>,
                                   dot<5, kPanels, Out, kFlips>, dot<6, kPanels, Out, kFlips>,
                                   dot<7, kPanels, Out, kFlips>, dot<8, kPanels, Out, kFlips>};
constexpr TileFn<ToSums> kFour[kFewRows] = {dot<1, 4, ToSums, true>, dot<2, 4, ToSums, true>};

template <int kPanels, typename Out>
const TileFn<Out>* tiles_of(const PackedPanel& panel) {
  return panel.flip != 0 ? kTiles<kPanels, Out, true> : kTiles<kPanels, Out, false>;
}

template <typename Out>
void dot_rows(const TileFn<Out>* tiles,
              const PackedPanel& panel,
              int64_t step,
              const uint8_t* const* rows,
              int64_t count,
              Out out) {
  // The next two panels, in turn: a tile has half as many steps as they have lines.
  int64_t ahead = panel.more ? 2 * step : 0;
  while (count > 0) {
    // The rest in two equal parts: few sums in flight would wait for each other.
    const int64_t some = count >= 16 ? 8 : count > 8 ? (count + 1) / 2 : count;
    tiles[some - 1](panel, step, ahead, rows, out);
    if (panel.more) ahead = 5 * step - ahead;
    rows += some;
    count -= some;
    out.skip(some);
  }
}

template <bool kSigned, bool kResidual>
void dot_codes(const PackedPanel* panels,
               int64_t panel_count,
               const uint8_t* const* rows,
               const Epilogue& e,
               const TileOut& t) {
  using Out = ToCodes<kSigned, kResidual>;
  const auto out = Out::of(e, t);
  const TileFn<Out>* tiles =
      panel_count > 1 ? tiles_of<2, Out>(panels[0]) : tiles_of<1, Out>(panels[0]);
  dot_rows(tiles, panels[0], int64_t{64} * panels->groups.plain, rows, t.rows, out);
}

template <bool kSigned>
constexpr DotCodesFn kDotCodes[2] = {dot_codes<kSigned, false>, dot_codes<kSigned, true>};

} // namespace
} // namespace avx512vnni

void dot_tile_avx512vnni(const PackedPanel& panel,
                         const uint8_t* const* rows,
                         int64_t count,
                         int32_t* acc) {
  using avx512vnni::ToSums;
  const auto* tiles = panel.half ? avx512vnni::kHalf : avx512vnni::tiles_of<1, ToSums>(panel);
  avx512vnni::dot_rows(tiles, panel, 0, rows, count, ToSums{acc, 0});
}

void dot_panels_avx512vnni(const PackedPanel* panels,
                           int64_t panel_count,
                           const uint8_t* const* rows,
                           int64_t count,
                           int32_t* acc,
                           int64_t acc_step) {
  using avx512vnni::ToSums;
  const int64_t step = int64_t{64} * panels->groups.plain;
  int64_t p = 0;
  if (panel_count == 4 && count <= kFewRows) {
    return avx512vnni::kFour[count - 1](panels[0], step, 0, rows, ToSums{acc, acc_step});
  }
  for (; p + 2 <= panel_count; p += 2) {
    avx512vnni::dot_rows(avx512vnni::tiles_of<2, ToSums>(panels[p]), panels[p], step, rows, count,
                         ToSums{acc + p * acc_step, acc_step});
  }
  if (p < panel_count) dot_tile_avx512vnni(panels[p], rows, count, acc + p * acc_step);
}

void dot_codes_avx512vnni(const PackedPanel* panels,
                          int64_t panel_count,
                          const uint8_t* const* rows,
                          const Epilogue& e,
                          const TileOut& tile) {
  const DotCodesFn* forms =
      e.type == YType::kInt8 ? avx512vnni::kDotCodes<true> : avx512vnni::kDotCodes<false>;
  const DotCodesFn run = forms[e.residual != nullptr ? 1 : 0];
  run(panels, panel_count, rows, e, tile);
}

} // namespace octet::kernels

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
