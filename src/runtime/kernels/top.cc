// SPDX-License-Identifier: Apache-2.0
// The k best of a line: each element becomes a key, larger for a better rank and, of equal ones,
// for a lower index, so that selection and order are those of unsigned integers.
#include "runtime/kernels/top.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"
#include "runtime/kernels/scan.h"
#include "runtime/kernels/turn.h"

namespace octet::kernels {
namespace {

constexpr double kElementNs = 4.0;
constexpr double kVectorElementNs = 0.5;
constexpr double kRankedNs = 10.0;

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

/// Lines where they lie, each by itself.
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

/// More than k may be kept where that saves a look for the k-th of equal keys.
int64_t most_kept(int64_t k) {
  return k + k / 4 + 32;
}
/// Lines so short are ranked as they are.
constexpr int64_t kShort = 64;
/// Lines along an axis that others lie behind are turned so many at a time.
constexpr int64_t kTurned = 16;

template <typename T>
class VectorLines {
  using Key = typename TopForms<T>::Key;
  using Packed = std::conditional_t<sizeof(T) == 4, uint64_t, WideKey>;

 public:
  VectorLines(const TopArgs& a, const TopForms<T>& forms, const T* x, T* values, int64_t* indices)
      : a_(a), forms_(forms), x_(x), values_(values), indices_(indices),
        selects_(a.k < a.lines.size && a.lines.size > std::min<int64_t>(kShort, forms.most_ranked)),
        room_(round_up(a.lines.size + kTopPad, kTopPad)),
        turned_(std::min(kTurned, a.lines.inner)) {}

  void run(int64_t begin, int64_t end) {
    const auto room = static_cast<size_t>(room_);
    const size_t turned = a_.lines.inner > 1 ? static_cast<size_t>(turned_) * room * sizeof(T) : 0;
    std::byte* memory =
        chunk_scratch(Scratch::kRows, turned + room * (sizeof(Packed) + 2 * sizeof(Key)));
    auto* lines = reinterpret_cast<T*>(memory);
    packed_ = reinterpret_cast<Packed*>(memory + turned);
    keys_ = reinterpret_cast<Key*>(packed_);
    kept_ = reinterpret_cast<Key*>(packed_ + room);
    places_ = kept_ + room;
    const Lines& l = a_.lines;
    for (int64_t line = begin; line < end;) {
      const int64_t image = line / l.inner, within = line % l.inner;
      const T* from = x_ + image * l.size * l.inner + within;
      const int64_t to = image * a_.k * l.inner + within;
      if (l.inner == 1) {
        one(from, to);
        ++line;
        continue;
      }
      const int64_t beside = std::min({turned_, l.inner - within, end - line});
      turn({.rows = l.size, .columns = beside, .from_step = l.inner, .to_step = room_}, sizeof(T),
           reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(lines));
      for (int64_t i = 0; i < beside; ++i)
        one(lines + i * room_, to + i);
      line += beside;
    }
  }

 private:
  /// A line whose elements lie side by side, to results that begin at `to`.
  void one(const T* line, int64_t to) {
    forms_.keys(line, a_.lines.size, a_.rank, keys_);
    int64_t count = a_.lines.size;
    Key* kept = keys_;
    if (selects_) {
      kept = kept_;
      count = forms_.select(keys_, count, a_.k, most_kept(a_.k), kept_, places_);
    }
    if (count <= forms_.most_ranked) {
      // Keys that are not kept are done with, else the places are those of the line.
      Key* ranks = selects_ ? keys_ : kept_;
      forms_.ranks(kept, count, ranks);
      for (int64_t i = 0; i < count; ++i)
        if (const auto rank = static_cast<int64_t>(ranks[i]); rank < a_.k)
          put(line, to, rank, selects_ ? static_cast<int64_t>(places_[i]) : i);
      return;
    }
    sort(kept, count);
    for (int64_t i = 0; i < a_.k; ++i)
      put(line, to, i, place(packed_[i]));
  }

  void put(const T* line, int64_t to, int64_t rank, int64_t at) {
    const int64_t y = to + rank * a_.lines.inner;
    if (values_ != nullptr) values_[y] = line[at];
    if (indices_ != nullptr) indices_[y] = at;
  }

  /// Into packed_. Where it begins with the keys themselves, they are read before they are written
  /// over: from the end.
  void sort(const Key* keys, int64_t count) {
    for (int64_t i = count; i-- > 0;) {
      Key key;
      std::memcpy(&key, keys + i, sizeof(key));
      packed_[i] = packed(key, selects_ ? static_cast<int64_t>(places_[i]) : i);
    }
    std::sort(packed_, packed_ + count, [](const Packed& p, const Packed& q) { return p > q; });
  }

  static Packed packed(Key key, int64_t at) {
    if constexpr (sizeof(T) == 4)
      return uint64_t{ordered(key)} << 32 |
             (std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(at));
    else
      return {ordered(key), ~static_cast<uint64_t>(at)};
  }
  static int64_t place(const Packed& p) {
    if constexpr (sizeof(T) == 4)
      return Narrow::place(p);
    else
      return Broad::place(p);
  }

  TopArgs a_;
  TopForms<T> forms_;
  const T* x_;
  T* values_;
  int64_t* indices_;
  bool selects_;
  int64_t room_, turned_;
  Packed* packed_ = nullptr;
  Key* keys_ = nullptr; ///< the beginning of packed_
  Key* kept_ = nullptr;
  Key* places_ = nullptr;
};

/// None: lines are taken as keys in scalar code.
TopTable top_table_scalar() {
  return {};
}

} // namespace

template <typename T>
void top_best(
    const TopArgs& a, const T* x, T* values, int64_t* indices, Isa isa, ParallelFor& parallel) {
  if (a.k == 0) return;
  const Lines& l = a.lines;
  const auto table =
      for_isa<top_table_scalar, Isa::kAvx2, top_table_avx2, Isa::kAvx512, top_table_avx512>(isa);
  const auto forms = std::get<TopForms<T>>(table());
  if (forms.keys != nullptr && l.size < std::numeric_limits<int32_t>::max() - kTopPad) {
    parallel.run(l.outer * l.inner,
                 grain_for(kVectorElementNs * static_cast<double>(l.size) +
                           kRankedNs * static_cast<double>(a.k)),
                 [&](int64_t begin, int64_t end) {
                   VectorLines<T>(a, forms, x, values, indices).run(begin, end);
                 });
    return;
  }
  if constexpr (sizeof(T) == 4)
    if (l.size < std::numeric_limits<uint32_t>::max())
      return top_as<Narrow>(a, x, values, indices, parallel);
  top_as<Broad>(a, x, values, indices, parallel);
}

template void top_best(const TopArgs&, const float*, float*, int64_t*, Isa, ParallelFor&);
template void top_best(const TopArgs&, const int32_t*, int32_t*, int64_t*, Isa, ParallelFor&);
template void top_best(const TopArgs&, const int64_t*, int64_t*, int64_t*, Isa, ParallelFor&);

} // namespace octet::kernels
