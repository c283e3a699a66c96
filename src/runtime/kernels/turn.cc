// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/turn.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace octet::kernels {
namespace {

/// 16 bytes: what every x86-64 and NEON have, and no more is needed to keep up with the cache.
template <typename T>
struct VecOf {
  using Type __attribute__((vector_size(16))) = T;
};
template <typename T>
using Vec = typename VecOf<T>::Type;
template <typename T>
constexpr int kLanes = static_cast<int>(16 / sizeof(T));
constexpr int64_t kLineBytes = 64; ///< of a cache line
template <typename T>
constexpr int64_t kLine = kLineBytes / static_cast<int64_t>(sizeof(T));

/// Elements of a's and b's lower or upper half in turn.
template <typename T, int kFrom, int... kLane>
inline Vec<T> interleaved(Vec<T> a, Vec<T> b, std::integer_sequence<int, kLane...> /*lanes*/) {
  return __builtin_shufflevector(a, b, (kFrom + kLane / 2 + (kLane % 2 == 0 ? 0 : kLanes<T>))...);
}

/// As many columns as a vector has lanes, one behind the other in `rows`: each of log2(kRows) rounds
/// interleaves row i with row i + kRows / 2.
template <typename T, int kRows>
inline void load_turned(const T* x, int64_t from_step, Vec<T> (&rows)[kRows]) {
  constexpr int kN = kLanes<T>;
  constexpr auto kIndices = std::make_integer_sequence<int, kN>();
  Vec<T> next[kRows];
  for (int i = 0; i < kRows; ++i)
    std::memcpy(&rows[i], x + i * from_step, 16);
  for (int round = 1; round < kRows; round *= 2) {
    for (int i = 0; i < kRows / 2; ++i) {
      next[2 * i] = interleaved<T, 0>(rows[i], rows[i + kRows / 2], kIndices);
      next[2 * i + 1] = interleaved<T, kN / 2>(rows[i], rows[i + kRows / 2], kIndices);
    }
    for (int i = 0; i < kRows; ++i)
      rows[i] = next[i];
  }
}

/// A square of as many rows as a vector has lanes.
template <typename T>
inline void turn_square(const T* x, int64_t from_step, T* y, int64_t to_step) {
  Vec<T> rows[kLanes<T>];
  load_turned(x, from_step, rows);
  for (int i = 0; i < kLanes<T>; ++i)
    std::memcpy(y + i * to_step, &rows[i], 16);
}

/// All rows, which are fewer than a vector has lanes, to lines of y that follow one another; columns
/// for one vector at least. The last ones are written twice.
template <typename T, int kRows>
void turn_whole_rows(const T* x, int64_t from_step, int64_t columns, T* y) {
  for (int64_t next = 0; next < columns; next += kLanes<T>) {
    const int64_t c = std::min<int64_t>(next, columns - kLanes<T>);
    Vec<T> rows[kRows];
    load_turned(x + c, from_step, rows);
    for (int i = 0; i < kRows; ++i)
      std::memcpy(y + c * kRows + i * kLanes<T>, &rows[i], 16);
  }
}

/// Whether `turn_whole_rows` did it.
template <typename T>
bool turn_shuffled(const Turn& s, const T* x, T* y) {
  if (s.to_step != s.rows || s.columns < kLanes<T>) return false;
  const auto with = [&]<int kRows>() {
    if constexpr (kRows < kLanes<T>) turn_whole_rows<T, kRows>(x, s.from_step, s.columns, y);
    return kRows < kLanes<T>;
  };
  switch (s.rows) {
  case 2:
    return with.template operator()<2>();
  case 4:
    return with.template operator()<4>();
  case 8:
    return with.template operator()<8>();
  default:
    return false;
  }
}

/// Few rows, whose number the compiler knows: what is written runs on.
template <typename T, int kRows>
void turn_rows(const T* x, int64_t from_step, int64_t columns, T* y, int64_t to_step) {
  for (int64_t c = 0; c < columns; ++c)
    for (int r = 0; r < kRows; ++r)
      std::memcpy(y + c * to_step + r, x + r * from_step + c, sizeof(T));
}

template <typename T>
void turn_some_rows(
    int64_t rows, const T* x, int64_t from_step, int64_t columns, T* y, int64_t to_step) {
  for (; rows >= 4; rows -= 4, x += 4 * from_step, y += 4)
    turn_rows<T, 4>(x, from_step, columns, y, to_step);
  if (rows == 3) turn_rows<T, 3>(x, from_step, columns, y, to_step);
  if (rows == 2) turn_rows<T, 2>(x, from_step, columns, y, to_step);
  if (rows == 1) turn_rows<T, 1>(x, from_step, columns, y, to_step);
}

/// A square of as many elements each way as a cache line has: lines of x are read whole and lines of
/// y are written whole, each once.
template <typename T>
inline void turn_lines(const T* x, int64_t from_step, T* y, int64_t to_step) {
  constexpr int64_t kN = kLanes<T>;
  alignas(kLineBytes) T turned[kLine<T> * kLine<T>];
  for (int64_t r = 0; r < kLine<T>; r += kN)
    for (int64_t c = 0; c < kLine<T>; c += kN)
      turn_square(x + r * from_step + c, from_step, turned + c * kLine<T> + r, kLine<T>);
  for (int64_t c = 0; c < kLine<T>; ++c)
    std::memcpy(y + c * to_step, turned + c * kLine<T>, kLineBytes);
}

/// All rows of a column whose elements fill lines of y; how many rows that were.
template <typename T>
int64_t turn_column_of_lines(
    int64_t rows, const T* x, int64_t from_step, int64_t columns, T* y, int64_t to_step) {
  constexpr int64_t kN = kLanes<T>;
  int64_t r = 0;
  for (; r + kLine<T> <= rows; r += kLine<T>) {
    int64_t c = 0;
    for (; c + kLine<T> <= columns; c += kLine<T>)
      turn_lines(x + r * from_step + c, from_step, y + c * to_step + r, to_step);
    for (; c < columns; c += kN)
      for (int64_t k = r; k < r + kLine<T>; k += kN)
        turn_square(x + k * from_step + c, from_step, y + c * to_step + k, to_step);
  }
  return r;
}

/// Elements are copied as bytes, whatever type they have: T only says how many.
template <typename T>
void turn_matrix(const Turn& s, const std::byte* from, std::byte* to) {
  constexpr int64_t kN = kLanes<T>;
  constexpr int64_t kColumns = 128; ///< so many lines of y are written side by side
  // Lines so far apart share so few places in the first cache that they do not all stay there until
  // the next square is written to them.
  constexpr int64_t kCrowdedBytes = 512;
  const bool crowded = s.to_step * static_cast<int64_t>(sizeof(T)) % kCrowdedBytes == 0;
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  if (turn_shuffled(s, x, y)) return;
  const int64_t squares = s.columns / kN * kN;
  for (int64_t begin = 0; begin < squares; begin += kColumns) {
    const int64_t end = std::min(begin + kColumns, squares);
    int64_t r = 0;
    if (crowded)
      r = turn_column_of_lines(s.rows, x + begin, s.from_step, end - begin, y + begin * s.to_step,
                               s.to_step);
    for (; r + kN <= s.rows; r += kN)
      for (int64_t c = begin; c < end; c += kN)
        turn_square(x + r * s.from_step + c, s.from_step, y + c * s.to_step + r, s.to_step);
    turn_some_rows(s.rows - r, x + r * s.from_step + begin, s.from_step, end - begin,
                   y + begin * s.to_step + r, s.to_step);
  }
  for (int64_t c = squares; c < s.columns; ++c)
    for (int64_t r = 0; r < s.rows; ++r)
      std::memcpy(y + c * s.to_step + r, x + r * s.from_step + c, sizeof(T));
}

} // namespace

void turn(const Turn& shape, int64_t width, const std::byte* x, std::byte* y) {
  switch (width) {
  case 1:
    return turn_matrix<uint8_t>(shape, x, y);
  case 2:
    return turn_matrix<uint16_t>(shape, x, y);
  case 4:
    return turn_matrix<uint32_t>(shape, x, y);
  case 8:
    return turn_matrix<uint64_t>(shape, x, y);
  default:
    break;
  }
  for (int64_t c = 0; c < shape.columns; ++c)
    for (int64_t r = 0; r < shape.rows; ++r)
      std::memcpy(y + (c * shape.to_step + r) * 16, x + (r * shape.from_step + c) * 16, 16);
}

} // namespace octet::kernels
