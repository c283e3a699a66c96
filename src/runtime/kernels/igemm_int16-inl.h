// SPDX-License-Identifier: Apache-2.0
// Sums of 8 rows and as many columns as a vector has int32 lanes. Proven groups: vpmaddubsw (u8 x s8
// pairs in int16), vpmaddwd with ones, vpaddd; couples are added in int16 first. Flipped groups: the same of
// |w| and x with its bits flipped. Wide groups: vpmaddwd on int16. Contract: igemm_tile.h. Included within
// the target region, and the namespace, of an instruction set, which supplies Vector, load, broadcast (4
// bytes in every lane), store, zeros, words, multiply_bytes, multiply_words, add_words, add_ints, flip,
// even_bytes (by a mask of words) and odd_bytes.

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

/// Of eight rows; named, since of an array they would be spilled.
struct Sums {
  Vector r0, r1, r2, r3, r4, r5, r6, r7;
};
struct Rows {
  const uint8_t *r0, *r1, *r2, *r3, *r4, *r5, *r6, *r7;
};

/// The sum of each row becomes `next` of it and of where its x starts.
template <int kRows, typename SumsOfRows, typename Next>
[[gnu::always_inline]] inline void each_row(SumsOfRows& sums, const Rows& x, const Next& next) {
  sums.r0 = next(sums.r0, x.r0);
  if constexpr (kRows > 1) sums.r1 = next(sums.r1, x.r1);
  if constexpr (kRows > 2) sums.r2 = next(sums.r2, x.r2);
  if constexpr (kRows > 3) sums.r3 = next(sums.r3, x.r3);
  if constexpr (kRows > 4) sums.r4 = next(sums.r4, x.r4);
  if constexpr (kRows > 5) sums.r5 = next(sums.r5, x.r5);
  if constexpr (kRows > 6) sums.r6 = next(sums.r6, x.r6);
  if constexpr (kRows > 7) sums.r7 = next(sums.r7, x.r7);
}

/// Rows of sums are 16 apart.
template <int kRows>
void dot_vector(const PackedGroups& groups, const uint8_t* const* rows, int32_t* acc) {
  constexpr int64_t kBytes = sizeof(Vector);
  const auto row = [rows](int i) { return rows[i < kRows ? i : 0]; };
  const Rows x = {row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)};
  const Vector ones = words(1), zero = zeros();
  Sums sums = {zero, zero, zero, zero, zero, zero, zero, zero};
  const int8_t* w = groups.data;
  const int32_t* offset = groups.offsets;
  for (int32_t g = 0; g < groups.paired; g += 2, w += 2 * kBytes) {
    const Vector w0 = load(w), w1 = load(w + kBytes);
    const int64_t o0 = *offset++, o1 = *offset++;
    each_row<kRows>(sums, x, [=](Vector sum, const uint8_t* p) {
      return add_paired(sum, p + o0, p + o1, w0, w1, ones);
    });
  }
  for (int32_t g = 0; g < groups.plain; ++g, w += kBytes) {
    const Vector some = load(w);
    const int64_t o = *offset++;
    each_row<kRows>(
        sums, x, [=](Vector sum, const uint8_t* p) { return add_plain(sum, p + o, some, ones); });
  }
  for (int32_t g = 0; g < groups.flipped_paired; g += 2, w += 4 * kBytes) {
    const Vector w0 = load(w), mask0 = load(w + kBytes);
    const Vector w1 = load(w + 2 * kBytes), mask1 = load(w + 3 * kBytes);
    const int64_t o0 = *offset++, o1 = *offset++;
    each_row<kRows>(sums, x, [=](Vector sum, const uint8_t* p) {
      return add_flipped_paired(sum, p + o0, p + o1, w0, mask0, w1, mask1, ones);
    });
  }
  for (int32_t g = 0; g < groups.flipped; ++g, w += 2 * kBytes) {
    const Vector some = load(w), mask = load(w + kBytes);
    const int64_t o = *offset++;
    each_row<kRows>(sums, x, [=](Vector sum, const uint8_t* p) {
      return add_flipped(sum, p + o, some, mask, ones);
    });
  }
  if (groups.all_flipped() > 0) {
    const Vector more = load(w);
    each_row<kRows>(sums, x, [=](Vector sum, const uint8_t*) { return add_ints(sum, more); });
    w += kBytes;
  }
  const Vector even = words(0xFF);
  for (int32_t g = 0; g < groups.wide; ++g, w += 2 * kBytes) {
    const Vector w0 = load(w), w1 = load(w + kBytes);
    const int64_t o = *offset++;
    each_row<kRows>(
        sums, x, [=](Vector sum, const uint8_t* p) { return add_wide(sum, p + o, w0, w1, even); });
  }
  each_row<kRows>(sums, x, [&acc](Vector sum, const uint8_t*) {
    store(sum, acc);
    acc += kColumnsPerPanel;
    return sum;
  });
}

using VectorTileFn = void (*)(const PackedGroups&, const uint8_t* const*, int32_t*);
// By rows less 1.
inline constexpr VectorTileFn kVectorTiles[kTileRows] = {
    dot_vector<1>, dot_vector<2>, dot_vector<3>, dot_vector<4>,
    dot_vector<5>, dot_vector<6>, dot_vector<7>, dot_vector<8>};

#endif
