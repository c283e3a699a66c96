// SPDX-License-Identifier: Apache-2.0
// The k best of a line by comparing its elements with a threshold that about k of them reach.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/top_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/kernels/top.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Of = hn::CappedTag<T, 64 / sizeof(T)>;
template <typename T>
using VecOf = hn::Vec<Of<T>>;
template <typename T>
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Of<T>()));
template <typename K>
constexpr K kLowest = std::numeric_limits<K>::min();
template <typename K>
constexpr K kHighest = std::numeric_limits<K>::max();

// Of floats the bits, which but for the sign are ordered as the numbers; NaN is above all.
template <typename T, typename K>
HWY_INLINE VecOf<K> keys_of(VecOf<T> x) {
  if constexpr (std::is_same_v<T, float>) {
    const Of<K> d;
    const VecOf<K> bits = hn::BitCast(d, hn::Add(x, hn::Zero(Of<T>()))); // -0 becomes 0
    const VecOf<K> flip = hn::And(hn::ShiftRight<31>(bits), hn::Set(d, kHighest<K>));
    return hn::IfThenElse(hn::RebindMask(d, hn::Eq(x, x)), hn::Xor(bits, flip),
                          hn::Set(d, kHighest<K>));
  } else {
    return x;
  }
}

template <typename T>
void make_keys(const T* x, int64_t n, Rank rank, typename TopForms<T>::Key* keys) {
  using K = typename TopForms<T>::Key;
  const Of<K> d;
  const VecOf<K> turned = hn::Set(d, rank == Rank::kLargest ? K{0} : K{-1});
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    hn::StoreU(hn::Xor(keys_of<T, K>(hn::LoadU(Of<T>(), x + i)), turned), d, keys + i);
  }
  if (i == n) return;
  HWY_ALIGN T last[kLanes<T>] = {};
  std::memcpy(last, x + i, static_cast<size_t>(n - i) * sizeof(T));
  hn::StoreU(hn::Xor(keys_of<T, K>(hn::Load(Of<T>(), last)), turned), d, keys + i);
}

// The lowest key behind the last one, to a whole vector; gives the number with them.
template <typename K>
HWY_INLINE int64_t pad(K* keys, int64_t n) {
  hn::StoreU(hn::Set(Of<K>(), kLowest<K>), Of<K>(), keys + n);
  return (n + kLanes<K> - 1) / kLanes<K> * kLanes<K>;
}

// How many of `count` keys, in whole vectors, reach t.
template <typename K>
HWY_INLINE int64_t count_reaching(const K* keys, int64_t count, K t) {
  const Of<K> d;
  const VecOf<K> least = hn::Set(d, t);
  size_t below = 0;
  for (int64_t i = 0; i < count; i += kLanes<K>) {
    below += hn::CountTrue(d, hn::Lt(hn::LoadU(d, keys + i), least));
  }
  return count - static_cast<int64_t>(below);
}

template <typename K>
HWY_INLINE K last_lane(VecOf<K> v, bool highest) {
  HWY_ALIGN K lanes[kLanes<K>];
  hn::Store(v, Of<K>(), lanes);
  K best = lanes[0];
  for (const K lane : lanes) {
    if (highest ? lane > best : lane < best) best = lane;
  }
  return best;
}

// A key that at least k of `count`, in whole vectors, reach, and at most k + more, unless keys are
// equal. At least k reach `low`.
template <typename K>
K threshold(const K* keys, int64_t count, int64_t k, int64_t more, K low) {
  using U = std::make_unsigned_t<K>;
  const Of<K> d;
  VecOf<K> most = hn::Set(d, low);
  for (int64_t i = 0; i < count; i += kLanes<K>) {
    most = hn::Max(most, hn::LoadU(d, keys + i));
  }
  K high = last_lane<K>(most, true);
  while (low < high) {
    const U width = static_cast<U>(high) - static_cast<U>(low);
    const K middle = static_cast<K>(static_cast<U>(low) + width / 2 + width % 2);
    const int64_t reaching = count_reaching(keys, count, middle);
    if (reaching < k) {
      high = static_cast<K>(middle - 1);
      continue;
    }
    low = middle;
    if (reaching <= k + more) break;
  }
  return low;
}

// A key that at least k of n keys reach, and not many more: a line is cut into groups, and where
// k of their best reach it, so do k of the line. `best` has room for n keys.
template <typename K>
K rough_threshold(const K* keys, int64_t n, int64_t k, K* best) {
  const Of<K> d;
  const int64_t whole = n / kLanes<K>; // vectors
  const int64_t beside = (3 * k + kLanes<K> - 1) / kLanes<K>;
  if (whole * kLanes<K> < k) return kLowest<K>;
  const bool grouped = whole >= 2 * beside;
  const int64_t groups = grouped ? beside : whole;
  VecOf<K> least = hn::Set(d, kHighest<K>);
  for (int64_t g = 0; g < groups; ++g) {
    VecOf<K> v = hn::LoadU(d, keys + g * kLanes<K>);
    for (int64_t i = g + groups; i < whole; i += groups) {
      v = hn::Max(v, hn::LoadU(d, keys + i * kLanes<K>));
    }
    if (grouped) hn::StoreU(v, d, best + g * kLanes<K>);
    least = hn::Min(least, v);
  }
  return threshold(grouped ? best : keys, groups * kLanes<K>, k, k / 8 + 1,
                   last_lane<K>(least, false));
}

#if defined(__x86_64__) && HWY_TARGET == HWY_AVX3
// The lanes that a mask names, moved to the front. Highway's Compress copies its table, where it
// has one, for each call.
template <typename M>
HWY_INLINE VecOf<int32_t> packed(VecOf<int32_t> v, M mask) {
  return VecOf<int32_t>{_mm512_maskz_compress_epi32(mask.raw, v.raw)};
}
template <typename M>
HWY_INLINE VecOf<int64_t> packed(VecOf<int64_t> v, M mask) {
  return VecOf<int64_t>{_mm512_maskz_compress_epi64(mask.raw, v.raw)};
}
#elif defined(__x86_64__)
// By the bits of a mask, which of eight lanes it names, a byte each.
struct PackedLanes {
  uint64_t by_mask[256] = {};
  constexpr PackedLanes() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      int to = 0;
      for (unsigned lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1U) != 0) by_mask[mask] |= uint64_t{lane} << (8 * to++);
      }
    }
  }
};
constexpr PackedLanes kPackedLanes;

template <typename K, typename M>
HWY_INLINE hn::Vec256<K> packed(hn::Vec256<K> v, M mask) {
  const int bits = _mm256_movemask_ps(_mm256_castsi256_ps(hn::VecFromMask(Of<K>(), mask).raw));
  const __m256i lanes =
      _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<int64_t>(kPackedLanes.by_mask[bits])));
  return hn::Vec256<K>{_mm256_permutevar8x32_epi32(v.raw, lanes)};
}
#else
template <typename V, typename M>
HWY_INLINE V packed(V v, M mask) {
  return hn::Compress(v, mask);
}
#endif

// Keys that reach t and their places. Where few do, a vector without one is passed over; else a
// branch that goes either way costs more than it saves.
template <typename K, bool kFew>
int64_t gather(const K* keys, int64_t n, int64_t padded, K t, K* kept, K* places) {
  const Of<K> d;
  const VecOf<K> least = hn::Set(d, t);
  const VecOf<K> end = hn::Set(d, static_cast<K>(n));
  const VecOf<K> step = hn::Set(d, static_cast<K>(kLanes<K>));
  VecOf<K> next = hn::Iota(d, K{0});
  int64_t count = 0;
  for (int64_t i = 0; i < padded; i += kLanes<K>) {
    const VecOf<K> v = hn::LoadU(d, keys + i);
    const VecOf<K> at = next;
    next = hn::Add(next, step);
    auto reaches = hn::Not(hn::Lt(v, least));
    if (kFew && hn::AllFalse(d, reaches)) continue;
    reaches = hn::And(reaches, hn::Lt(at, end));
    hn::StoreU(packed(v, reaches), d, kept + count);
    hn::StoreU(packed(at, reaches), d, places + count);
    count += static_cast<int64_t>(hn::CountTrue(d, reaches));
  }
  return count;
}

template <typename K>
int64_t select_best(K* keys, int64_t n, int64_t k, int64_t most, K* kept, K* places) {
  const int64_t padded = pad(keys, n);
  const K rough = rough_threshold(keys, n, k, kept);
  const bool few = padded / kLanes<K> > 4 * k;
  const int64_t count = few ? gather<K, true>(keys, n, padded, rough, kept, places)
                            : gather<K, false>(keys, n, padded, rough, kept, places);
  if (count <= most) return count;
  // What is above the k-th key, and of what equals it the first.
  const int64_t whole = pad(kept, count);
  const K exact = threshold(kept, whole, k, 0, rough);
  const int64_t above =
      exact == kHighest<K> ? 0 : count_reaching(kept, whole, static_cast<K>(exact + 1));
  int64_t to = 0;
  int64_t equal = k - above;
  for (int64_t i = 0; i < count && to < k; ++i) {
    const K key = kept[i];
    const bool is_equal = key == exact && equal > 0;
    kept[to] = key;
    places[to] = places[i];
    to += key > exact || is_equal ? 1 : 0;
    equal -= is_equal ? 1 : 0;
  }
  return to;
}

template <typename K>
void rank_all(K* keys, int64_t n, K* ranks) {
  const Of<K> d;
  const VecOf<K> lanes = hn::Iota(d, K{0});
  pad(keys, n);
  for (int64_t b = 0; b < n; b += kLanes<K>) {
    const VecOf<K> own = hn::LoadU(d, keys + b);
    const int64_t behind = b + kLanes<K>;
    // Of those before, all that are not below.
    VecOf<K> rank = hn::Set(d, static_cast<K>(b));
    for (int64_t j = 0; j < b; ++j) {
      rank = hn::Add(rank, hn::VecFromMask(d, hn::Lt(hn::Set(d, keys[j]), own)));
    }
    for (int64_t j = b; j < behind && j < n; ++j) {
      const VecOf<K> other = hn::Set(d, keys[j]);
      const auto later = hn::Gt(lanes, hn::Set(d, static_cast<K>(j - b)));
      const auto before = hn::Or(hn::Gt(other, own), hn::And(hn::Eq(other, own), later));
      rank = hn::Sub(rank, hn::VecFromMask(d, before));
    }
    for (int64_t j = behind; j < n; ++j) {
      rank = hn::Sub(rank, hn::VecFromMask(d, hn::Gt(hn::Set(d, keys[j]), own)));
    }
    hn::StoreU(rank, d, ranks + b);
  }
}

template <typename T>
TopForms<T> top_forms() {
  using K = typename TopForms<T>::Key;
  return {.keys = make_keys<T>,
          .select = select_best<K>,
          .ranks = rank_all<K>,
          .most_ranked = 32 * kLanes<K>};
}

} // namespace

TopTable top_table() {
  return {top_forms<float>(), top_forms<int32_t>(), top_forms<int64_t>()};
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
TopTable top_table_avx2() {
  return N_AVX2::top_table();
}
TopTable top_table_avx512() {
  return N_AVX3::top_table();
}
} // namespace octet::kernels
#endif
