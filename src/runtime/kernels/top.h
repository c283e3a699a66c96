// SPDX-License-Identifier: Apache-2.0
// What the vector forms do of the k best of a line; scan.h has the contract of the whole. A key is a
// signed integer, larger for a better rank; of equal keys the one at the lower place comes first.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "runtime/kernels/scan.h"

namespace octet::kernels {

/// Keys that forms may read or write behind the last one.
inline constexpr int64_t kTopPad = 64;

template <typename T>
struct TopForms {
  /// Places are of the same width, and below its maximum.
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

  /// n keys; kTopPad more elements may be written. Nothing of x is read behind its end.
  void (*keys)(const T* x, int64_t n, Rank rank, Key* keys) = nullptr;
  /// The k best of n keys and some more, but no more than `most` (at least k), in order of places;
  /// gives how many. Writes kTopPad keys behind the n of each; 1 <= k <= n.
  int64_t (*select)(Key* keys, int64_t n, int64_t k, int64_t most, Key* kept, Key* places) =
      nullptr;
  /// How many of n keys come before each, so that ranks are 0 to n - 1. Writes kTopPad elements
  /// behind the n of both.
  void (*ranks)(Key* keys, int64_t n, Key* ranks) = nullptr;
  /// So many keys are faster ranked by comparing all with all than sorted.
  int64_t most_ranked = 0;
};

using TopTable = std::tuple<TopForms<float>, TopForms<int32_t>, TopForms<int64_t>>;
TopTable top_table_avx2();
TopTable top_table_avx512();

} // namespace octet::kernels
