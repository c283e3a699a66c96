// SPDX-License-Identifier: Apache-2.0
// Sums with vpdpbusd of 256 bits, which adds four u8 x s8 products to int32 without saturation:
// every group is plain. Tiles of 6 rows x 16 columns fill the 16 registers that AVX has. Contract:
// igemm_tile.h. Included within the target region, and the namespace, of an encoding of the
// instruction, which supplies dpbusd(sum, x, w). Accumulators are named variables: in an array they
// would be spilled.

#if defined(__x86_64__)

inline __m256i load(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// 4 bytes at p in every lane.
inline __m256i broadcast(const void* p) {
  int bits = 0;
  __builtin_memcpy(&bits, p, 4);
  return _mm256_set1_epi32(bits);
}

struct Pair {
  __m256i a, b;
};

template <bool kHalf>
inline void add(Pair& sum, const uint8_t* x, const Pair& w) {
  const __m256i v = broadcast(x);
  sum.a = dpbusd(sum.a, v, w.a);
  if constexpr (!kHalf) sum.b = dpbusd(sum.b, v, w.b);
}

template <bool kHalf>
inline void store(const Pair& sum, int32_t* acc) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc), sum.a);
  if constexpr (!kHalf) _mm256_storeu_si256(reinterpret_cast<__m256i*>(acc + 8), sum.b);
}

template <int kRows, bool kHalf>
void dot(const PackedPanel& panel, const uint8_t* const* rows, int32_t* acc) {
  const __m256i zero = _mm256_setzero_si256();
  const Pair zeros{zero, zero};
  Pair s0 = zeros;
  Pair s1 = zeros;
  Pair s2 = zeros;
  Pair s3 = zeros;
  Pair s4 = zeros;
  Pair s5 = zeros;
  const uint8_t* r0 = rows[0];
  const uint8_t* r1 = kRows > 1 ? rows[1] : r0;
  const uint8_t* r2 = kRows > 2 ? rows[2] : r0;
  const uint8_t* r3 = kRows > 3 ? rows[3] : r0;
  const uint8_t* r4 = kRows > 4 ? rows[4] : r0;
  const uint8_t* r5 = kRows > 5 ? rows[5] : r0;
  const int8_t* w = panel.groups.data;
  const int32_t* offset = panel.groups.offsets;
  const int32_t* end = offset + panel.groups.plain;
  for (; offset != end; ++offset, w += 64) {
    Pair ws = zeros;
    ws.a = load(w);
    if constexpr (!kHalf) ws.b = load(w + 32);
    const int64_t o = *offset;
    add<kHalf>(s0, r0 + o, ws);
    if constexpr (kRows > 1) add<kHalf>(s1, r1 + o, ws);
    if constexpr (kRows > 2) add<kHalf>(s2, r2 + o, ws);
    if constexpr (kRows > 3) add<kHalf>(s3, r3 + o, ws);
    if constexpr (kRows > 4) add<kHalf>(s4, r4 + o, ws);
    if constexpr (kRows > 5) add<kHalf>(s5, r5 + o, ws);
  }
  store<kHalf>(s0, acc);
  if constexpr (kRows > 1) store<kHalf>(s1, acc + 16);
  if constexpr (kRows > 2) store<kHalf>(s2, acc + 32);
  if constexpr (kRows > 3) store<kHalf>(s3, acc + 48);
  if constexpr (kRows > 4) store<kHalf>(s4, acc + 64);
  if constexpr (kRows > 5) store<kHalf>(s5, acc + 80);
}

using TileFn = void (*)(const PackedPanel&, const uint8_t* const*, int32_t*);
inline constexpr int64_t kRowsOfTile = 6;

// By rows less 1.
inline constexpr TileFn kWhole[kRowsOfTile] = {dot<1, false>, dot<2, false>, dot<3, false>,
                                               dot<4, false>, dot<5, false>, dot<6, false>};
inline constexpr TileFn kHalf[kRowsOfTile] = {dot<1, true>, dot<2, true>, dot<3, true>,
                                              dot<4, true>, dot<5, true>, dot<6, true>};

inline void
dot_rows(const PackedPanel& panel, const uint8_t* const* rows, int64_t count, int32_t* acc) {
  const TileFn* tiles = panel.half ? kHalf : kWhole;
  while (count > 0) {
    // The rest in two equal parts: few sums in flight would wait for each other.
    const int64_t some = count >= 2 * kRowsOfTile ? kRowsOfTile
                         : count > kRowsOfTile    ? (count + 1) / 2
                                                  : count;
    tiles[some - 1](panel, rows, acc);
    rows += some;
    count -= some;
    acc += some * kColumnsPerPanel;
  }
}

#endif
