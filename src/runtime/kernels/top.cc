// SPDX-License-Identifier: Apache-2.0
// The k best of a line: each element becomes a key, larger for a better rank and, of equal ones,
// for a lower index, so that selection and order are those of unsigned integers.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "core/threads.h"
#include "runtime/kernels/buffer.h"
#include "runtime/kernels/scan.h"

namespace octet::kernels {
namespace {

constexpr double kElementNs = 4.0;

struct WideKey {
  uint64_t rank;
  uint64_t place; ///< from the end
  bool operator>(const WideKey& other) const {
    return rank != other.rank ? rank > other.rank : place > other.place;
  }
};

/// Order of the numbers as that of unsigned integers, NaN above all.
uint32_t ordered(float v) {
  if (v != v) return std::numeric_limits<uint32_t>::max();
  const auto bits = std::bit_cast<uint32_t>(v + 0.0F); // -0 becomes 0
  // Signs are as good as random: without a branch.
  const auto negative = static_cast<uint32_t>(std::bit_cast<int32_t>(bits) >> 31);
  return bits ^ (negative | 0x80000000U);
}
uint32_t ordered(int32_t v) {
  return static_cast<uint32_t>(v) ^ 0x80000000U;
}
uint64_t ordered(int64_t v) {
  return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63);
}

/// Keys of lines whose places and ranks fit 32 bits each.
struct Narrow {
  using Key = uint64_t;
  template <typename T>
  static Key key(T v, int64_t at, Rank rank) {
    const uint32_t order = rank == Rank::kLargest ? ordered(v) : ~ordered(v);
    return uint64_t{order} << 32 |
           (std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(at));
  }
  static int64_t place(Key key) {
    return std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(key);
  }
};
struct Broad {
  using Key = WideKey;
  template <typename T>
  static Key key(T v, int64_t at, Rank rank) {
    const auto order = static_cast<uint64_t>(rank == Rank::kLargest ? ordered(v) : ~ordered(v));
    return {order, ~static_cast<uint64_t>(at)};
  }
  static int64_t place(const Key& key) { return static_cast<int64_t>(~key.place); }
};

/// Few of many: the k best so far are a heap, whose top most elements do not reach.
constexpr int64_t kFew = 32;

/// The k best keys of a line, in order, to `keys`, which holds k of them or all of the line's.
template <typename Keys, typename T>
void best_keys(const T* x, const TopArgs& a, typename Keys::Key* keys) {
  using Key = typename Keys::Key;
  const auto greater = [](const Key& p, const Key& q) { return p > q; };
  const int64_t size = a.lines.size, inner = a.lines.inner;
  const bool few = a.k <= kFew && a.k < size;
  const int64_t held = few ? a.k : size;
  for (int64_t i = 0; i < held; ++i)
    keys[i] = Keys::template key<T>(x[i * inner], i, a.rank);
  if (few) {
    std::make_heap(keys, keys + a.k, greater);
    for (int64_t i = held; i < size; ++i) {
      const Key key = Keys::template key<T>(x[i * inner], i, a.rank);
      if (!(key > keys[0])) continue;
      std::pop_heap(keys, keys + a.k, greater);
      keys[a.k - 1] = key;
      std::push_heap(keys, keys + a.k, greater);
    }
  } else if (a.k < size) {
    std::nth_element(keys, keys + a.k, keys + size, greater);
  }
  std::sort(keys, keys + a.k, greater);
}

template <typename Keys, typename T>
void top_as(const TopArgs& a, const T* x, T* values, int64_t* indices, ParallelFor& parallel) {
  using Key = typename Keys::Key;
  const Lines& l = a.lines;
  parallel.run(l.outer * l.inner, grain_for(kElementNs * static_cast<double>(l.size)),
               [&](int64_t begin, int64_t end) {
                 auto* keys = reinterpret_cast<Key*>(
                     chunk_scratch(Scratch::kRows, static_cast<size_t>(l.size) * sizeof(Key)));
                 for (int64_t line = begin; line < end; ++line) {
                   const int64_t image = line / l.inner, within = line % l.inner;
                   const T* from = x + image * l.size * l.inner + within;
                   best_keys<Keys>(from, a, keys);
                   const int64_t to = image * a.k * l.inner + within;
                   for (int64_t i = 0; i < a.k; ++i) {
                     const int64_t at = Keys::place(keys[i]);
                     if (values != nullptr) values[to + i * l.inner] = from[at * l.inner];
                     if (indices != nullptr) indices[to + i * l.inner] = at;
                   }
                 }
               });
}

} // namespace

template <typename T>
void top_best(const TopArgs& a, const T* x, T* values, int64_t* indices, ParallelFor& parallel) {
  if (a.k == 0) return;
  if constexpr (sizeof(T) == 4)
    if (a.lines.size < std::numeric_limits<uint32_t>::max())
      return top_as<Narrow>(a, x, values, indices, parallel);
  top_as<Broad>(a, x, values, indices, parallel);
}

template void top_best(const TopArgs&, const float*, float*, int64_t*, ParallelFor&);
template void top_best(const TopArgs&, const int32_t*, int32_t*, int64_t*, ParallelFor&);
template void top_best(const TopArgs&, const int64_t*, int64_t*, int64_t*, ParallelFor&);

} // namespace octet::kernels
