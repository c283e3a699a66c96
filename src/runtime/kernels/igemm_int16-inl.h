// SPDX-License-Identifier: Apache-2.0
// Sums of 8 rows and as many columns as a vector has int32 lanes. Proven groups: vpmaddubsw (u8 x s8
// pairs in int16), vpmaddwd with ones, vpaddd; couples are added in int16 first. Flipped groups: the same of
// |w| and x with its bits flipped. Wide groups: vpmaddwd on int16. Contract: igemm_tile.h. Included within
// the target region, and the namespace, of an instruction set, which supplies Vector, load, broadcast (4
// bytes in every lane), store, zeros, words, multiply_bytes, multiply_words, add_words, add_ints, flip,
// even_bytes (by a mask of words) and odd_bytes. Accumulators are named variables: in an array they would
// be spilled.

#if defined(__x86_64__)

inline Vector
add_paired(Vector acc, const uint8_t* x0, const uint8_t* x1, Vector w0, Vector w1, Vector ones) {
  const Vector sum =
      add_words(multiply_bytes(broadcast(x0), w0), multiply_bytes(broadcast(x1), w1));
  return add_ints(acc, multiply_words(sum, ones));
}

inline Vector add_plain(Vector acc, const uint8_t* x, Vector w, Vector ones) {
  return add_ints(acc, multiply_words(multiply_bytes(broadcast(x), w), ones));
}

inline Vector add_flipped_paired(Vector acc,
                                 const uint8_t* x0,
                                 const uint8_t* x1,
                                 Vector w0,
                                 Vector mask0,
                                 Vector w1,
                                 Vector mask1,
                                 Vector ones) {
  const Vector sum = add_words(multiply_bytes(w0, flip(broadcast(x0), mask0)),
                               multiply_bytes(w1, flip(broadcast(x1), mask1)));
  acc = add_ints(acc, multiply_words(sum, ones));
  __asm__("" : "+v"(acc)); // row after row, or accumulators would be spilled
  return acc;
}

inline Vector add_flipped(Vector acc, const uint8_t* x, Vector w, Vector mask, Vector ones) {
  return add_ints(acc, multiply_words(multiply_bytes(w, flip(broadcast(x), mask)), ones));
}

// Even and odd bytes of x, zero-extended, meet the int16 weights of k 0 and 2, then 1 and 3.
inline Vector add_wide(Vector acc, const uint8_t* x, Vector w0, Vector w1, Vector even) {
  const Vector v = broadcast(x);
  acc = add_ints(acc, multiply_words(even_bytes(v, even), w0));
  return add_ints(acc, multiply_words(odd_bytes(v), w1));
}

/// Rows of sums are 16 apart.
template <int kRows>
void dot_vector(const PackedGroups& groups, const uint8_t* const* rows, int32_t* acc) {
  constexpr int64_t kBytes = sizeof(Vector);
  const Vector ones = words(1);
  Vector s0 = zeros();
  Vector s1 = zeros();
  Vector s2 = zeros();
  Vector s3 = zeros();
  Vector s4 = zeros();
  Vector s5 = zeros();
  Vector s6 = zeros();
  Vector s7 = zeros();
  const uint8_t* r0 = rows[0];
  const uint8_t* r1 = kRows > 1 ? rows[1] : r0;
  const uint8_t* r2 = kRows > 2 ? rows[2] : r0;
  const uint8_t* r3 = kRows > 3 ? rows[3] : r0;
  const uint8_t* r4 = kRows > 4 ? rows[4] : r0;
  const uint8_t* r5 = kRows > 5 ? rows[5] : r0;
  const uint8_t* r6 = kRows > 6 ? rows[6] : r0;
  const uint8_t* r7 = kRows > 7 ? rows[7] : r0;
  const int8_t* w = groups.data;
  const int32_t* offset = groups.offsets;
  for (int32_t g = 0; g < groups.paired; g += 2) {
    const Vector w0 = load(w);
    const Vector w1 = load(w + kBytes);
    const int64_t o0 = offset[0];
    const int64_t o1 = offset[1];
    s0 = add_paired(s0, r0 + o0, r0 + o1, w0, w1, ones);
    if constexpr (kRows > 1) s1 = add_paired(s1, r1 + o0, r1 + o1, w0, w1, ones);
    if constexpr (kRows > 2) s2 = add_paired(s2, r2 + o0, r2 + o1, w0, w1, ones);
    if constexpr (kRows > 3) s3 = add_paired(s3, r3 + o0, r3 + o1, w0, w1, ones);
    if constexpr (kRows > 4) s4 = add_paired(s4, r4 + o0, r4 + o1, w0, w1, ones);
    if constexpr (kRows > 5) s5 = add_paired(s5, r5 + o0, r5 + o1, w0, w1, ones);
    if constexpr (kRows > 6) s6 = add_paired(s6, r6 + o0, r6 + o1, w0, w1, ones);
    if constexpr (kRows > 7) s7 = add_paired(s7, r7 + o0, r7 + o1, w0, w1, ones);
    w += 2 * kBytes;
    offset += 2;
  }
  for (int32_t g = 0; g < groups.plain; ++g) {
    const Vector ws = load(w);
    const int64_t o = *offset++;
    s0 = add_plain(s0, r0 + o, ws, ones);
    if constexpr (kRows > 1) s1 = add_plain(s1, r1 + o, ws, ones);
    if constexpr (kRows > 2) s2 = add_plain(s2, r2 + o, ws, ones);
    if constexpr (kRows > 3) s3 = add_plain(s3, r3 + o, ws, ones);
    if constexpr (kRows > 4) s4 = add_plain(s4, r4 + o, ws, ones);
    if constexpr (kRows > 5) s5 = add_plain(s5, r5 + o, ws, ones);
    if constexpr (kRows > 6) s6 = add_plain(s6, r6 + o, ws, ones);
    if constexpr (kRows > 7) s7 = add_plain(s7, r7 + o, ws, ones);
    w += kBytes;
  }
  for (int32_t g = 0; g < groups.flipped_paired; g += 2) {
    const Vector w0 = load(w);
    const Vector mask0 = load(w + kBytes);
    const Vector w1 = load(w + 2 * kBytes);
    const Vector mask1 = load(w + 3 * kBytes);
    const int64_t o0 = offset[0];
    const int64_t o1 = offset[1];
    s0 = add_flipped_paired(s0, r0 + o0, r0 + o1, w0, mask0, w1, mask1, ones);
    if constexpr (kRows > 1)
      s1 = add_flipped_paired(s1, r1 + o0, r1 + o1, w0, mask0, w1, mask1, ones);
    if constexpr (kRows > 2)
      s2 = add_flipped_paired(s2, r2 + o0, r2 + o1, w0, mask0, w1, mask1, ones);
    if constexpr (kRows > 3)
      s3 = add_flipped_paired(s3, r3 + o0, r3 + o1, w0, mask0, w1, mask1, ones);
    if constexpr (kRows > 4)
      s4 = add_flipped_paired(s4, r4 + o0, r4 + o1, w0, mask0, w1, mask1, ones);
    if constexpr (kRows > 5)
      s5 = add_flipped_paired(s5, r5 + o0, r5 + o1, w0, mask0, w1, mask1, ones);
    if constexpr (kRows > 6)
      s6 = add_flipped_paired(s6, r6 + o0, r6 + o1, w0, mask0, w1, mask1, ones);
    if constexpr (kRows > 7)
      s7 = add_flipped_paired(s7, r7 + o0, r7 + o1, w0, mask0, w1, mask1, ones);
    w += 4 * kBytes;
    offset += 2;
  }
  for (int32_t g = 0; g < groups.flipped; ++g) {
    const Vector ws = load(w);
    const Vector mask = load(w + kBytes);
    const int64_t o = *offset++;
    s0 = add_flipped(s0, r0 + o, ws, mask, ones);
    if constexpr (kRows > 1) s1 = add_flipped(s1, r1 + o, ws, mask, ones);
    if constexpr (kRows > 2) s2 = add_flipped(s2, r2 + o, ws, mask, ones);
    if constexpr (kRows > 3) s3 = add_flipped(s3, r3 + o, ws, mask, ones);
    if constexpr (kRows > 4) s4 = add_flipped(s4, r4 + o, ws, mask, ones);
    if constexpr (kRows > 5) s5 = add_flipped(s5, r5 + o, ws, mask, ones);
    if constexpr (kRows > 6) s6 = add_flipped(s6, r6 + o, ws, mask, ones);
    if constexpr (kRows > 7) s7 = add_flipped(s7, r7 + o, ws, mask, ones);
    w += 2 * kBytes;
  }
  if (groups.all_flipped() > 0) {
    const Vector more = load(w);
    s0 = add_ints(s0, more);
    if constexpr (kRows > 1) s1 = add_ints(s1, more);
    if constexpr (kRows > 2) s2 = add_ints(s2, more);
    if constexpr (kRows > 3) s3 = add_ints(s3, more);
    if constexpr (kRows > 4) s4 = add_ints(s4, more);
    if constexpr (kRows > 5) s5 = add_ints(s5, more);
    if constexpr (kRows > 6) s6 = add_ints(s6, more);
    if constexpr (kRows > 7) s7 = add_ints(s7, more);
    w += kBytes;
  }
  const Vector even = words(0xFF);
  for (int32_t g = 0; g < groups.wide; ++g) {
    const Vector w0 = load(w);
    const Vector w1 = load(w + kBytes);
    const int64_t o = *offset++;
    s0 = add_wide(s0, r0 + o, w0, w1, even);
    if constexpr (kRows > 1) s1 = add_wide(s1, r1 + o, w0, w1, even);
    if constexpr (kRows > 2) s2 = add_wide(s2, r2 + o, w0, w1, even);
    if constexpr (kRows > 3) s3 = add_wide(s3, r3 + o, w0, w1, even);
    if constexpr (kRows > 4) s4 = add_wide(s4, r4 + o, w0, w1, even);
    if constexpr (kRows > 5) s5 = add_wide(s5, r5 + o, w0, w1, even);
    if constexpr (kRows > 6) s6 = add_wide(s6, r6 + o, w0, w1, even);
    if constexpr (kRows > 7) s7 = add_wide(s7, r7 + o, w0, w1, even);
    w += 2 * kBytes;
  }
  store(s0, acc);
  if constexpr (kRows > 1) store(s1, acc + 16);
  if constexpr (kRows > 2) store(s2, acc + 32);
  if constexpr (kRows > 3) store(s3, acc + 48);
  if constexpr (kRows > 4) store(s4, acc + 64);
  if constexpr (kRows > 5) store(s5, acc + 80);
  if constexpr (kRows > 6) store(s6, acc + 96);
  if constexpr (kRows > 7) store(s7, acc + 112);
}

using VectorTileFn = void (*)(const PackedGroups&, const uint8_t* const*, int32_t*);
// By rows less 1.
inline constexpr VectorTileFn kVectorTiles[kTileRows] = {
    dot_vector<1>, dot_vector<2>, dot_vector<3>, dot_vector<4>,
    dot_vector<5>, dot_vector<6>, dot_vector<7>, dot_vector<8>};

#endif
