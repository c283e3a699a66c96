// SPDX-License-Identifier: Apache-2.0
// Lines that lie beside each other, and rows taken eight at a time, are run side by side.
#include "runtime/kernels/scan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kElementNs = 0.5;
constexpr double kLineNs = 10.0;
constexpr int64_t kSide = 8; // lines side by side

/// What a running result is kept in.
template <typename T>
struct KeptOf {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct KeptOf<float> {
  using Type = double;
};

/// kCount lines, whose first elements lie `beside` apart and next elements `step`.
template <typename T, Running kOp, bool kExclusive, int64_t kCount>
void run_lines(const T* x, int64_t beside, int64_t step, int64_t size, T* y) {
  using K = typename KeptOf<T>::Type;
  std::array<K, kCount> r;
  r.fill(kOp == Running::kSum ? K{0} : K{1});
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t k = 0; k < kCount; ++k) {
      const int64_t at = i * step + k * beside;
      K& mine = r[static_cast<size_t>(k)];
      const K v = static_cast<K>(x[at]);
      const K next = kOp == Running::kSum ? static_cast<K>(mine + v) : static_cast<K>(mine * v);
      y[at] = static_cast<T>(kExclusive ? mine : next);
      mine = next;
    }
  }
}

template <typename T, Running kOp, bool kExclusive>
void run_all(const RunningArgs& a, const T* x, T* y, ParallelFor& parallel) {
  const Lines& l = a.lines;
  const int64_t count = l.outer * l.inner, plane = l.size * l.inner;
  if (count == 0 || l.size == 0) return;
  const int64_t step = a.reverse ? -l.inner : l.inner;
  const int64_t first = a.reverse ? plane - l.inner : 0;
  const double ns = kLineNs + kElementNs * static_cast<double>(l.size * kSide);
  parallel.run((count + kSide - 1) / kSide, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin * kSide, stop = std::min(end * kSide, count); line < stop;) {
      const int64_t at = line / l.inner * plane + line % l.inner + first;
      const int64_t beside = l.inner == 1 ? plane : 1;
      const int64_t left =
          l.inner == 1 ? stop - line : std::min(stop - line, l.inner - line % l.inner);
      if (left >= kSide) {
        run_lines<T, kOp, kExclusive, kSide>(x + at, beside, step, l.size, y + at);
        line += kSide;
      } else {
        run_lines<T, kOp, kExclusive, 1>(x + at, beside, step, l.size, y + at);
        ++line;
      }
    }
  });
}

/// The best of a row without NaN, in lanes that compilers make vectors of.
template <typename T, Rank kRank>
T best_of(const T* x, int64_t size) {
  constexpr int64_t kLanes = 16;
  std::array<T, kLanes> best;
  best.fill(x[0]);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const T v = x[i + k];
      T& mine = best[static_cast<size_t>(k)];
      mine = (kRank == Rank::kLargest ? v > mine : v < mine) ? v : mine;
    }
  }
  T r = best[0];
  for (const T v : best)
    r = (kRank == Rank::kLargest ? v > r : v < r) ? v : r;
  for (; i < size; ++i)
    r = (kRank == Rank::kLargest ? x[i] > r : x[i] < r) ? x[i] : r;
  return r;
}

template <typename T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(v);
  return false;
}

template <typename T>
bool has_nan(const T* x, int64_t size) {
  if constexpr (std::is_floating_point_v<T>) {
    int32_t found = 0;
    for (int64_t i = 0; i < size; ++i)
      found |= is_nan(x[i]) ? 1 : 0;
    return found != 0;
  }
  return false;
}

template <typename T>
int64_t arg_of_row(const T* x, int64_t size, Rank rank, bool last) {
  const bool nan = has_nan(x, size);
  const T best = nan                      ? T{}
                 : rank == Rank::kLargest ? best_of<T, Rank::kLargest>(x, size)
                                          : best_of<T, Rank::kSmallest>(x, size);
  const auto is_best = [&](int64_t i) { return nan ? is_nan(x[i]) : x[i] == best; };
  if (last) {
    int64_t i = size - 1;
    while (i > 0 && !is_best(i))
      --i;
    return i;
  }
  int64_t i = 0;
  while (i < size - 1 && !is_best(i))
    ++i;
  return i;
}

/// Lines beside each other: up to kMost at once.
constexpr int64_t kMost = 64;

/// Best so far and its place, side by side, without branches, so that compilers make vectors.
template <typename T, Rank kRank, bool kLast>
void arg_of_lines(const T* x, const Lines& l, int64_t count, int64_t* y) {
  std::array<T, kMost> best{};
  std::array<int32_t, kMost> place{};
  std::copy(x, x + count, best.begin());
  for (int64_t i = 1; i < l.size; ++i) {
    const T* line = x + i * l.inner;
    for (int64_t k = 0; k < count; ++k) {
      const T v = line[k];
      T& mine = best[static_cast<size_t>(k)];
      const int32_t over = kRank == Rank::kLargest ? v > mine : v < mine;
      int32_t takes = over;
      if constexpr (kLast) takes |= static_cast<int32_t>(v == mine);
      if constexpr (std::is_floating_point_v<T>) {
        const int32_t odd = is_nan(v) ? 1 : 0, was_odd = is_nan(mine) ? 1 : 0;
        takes |= odd & (kLast ? 1 : was_odd ^ 1);
      }
      mine = takes != 0 ? v : mine;
      int32_t& at = place[static_cast<size_t>(k)];
      at = takes != 0 ? static_cast<int32_t>(i) : at;
    }
  }
  std::copy(place.begin(), place.begin() + count, y);
}

template <typename T>
void arg_of_lines(const T* x, const ArgBestArgs& a, int64_t count, int64_t* y) {
  const bool largest = a.rank == Rank::kLargest;
  if (largest && a.last) return arg_of_lines<T, Rank::kLargest, true>(x, a.lines, count, y);
  if (largest) return arg_of_lines<T, Rank::kLargest, false>(x, a.lines, count, y);
  if (a.last) return arg_of_lines<T, Rank::kSmallest, true>(x, a.lines, count, y);
  arg_of_lines<T, Rank::kSmallest, false>(x, a.lines, count, y);
}

} // namespace

Lines lines_of(const std::vector<int64_t>& shape, int64_t axis) {
  Lines l;
  const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i < at) l.outer *= shape[i];
    if (i == at) l.size = shape[i];
    if (i > at) l.inner *= shape[i];
  }
  return l;
}

template <typename T>
void running(const RunningArgs& a, const T* x, T* y, ParallelFor& parallel) {
  const bool sums = a.op == Running::kSum;
  if (sums && a.exclusive) return run_all<T, Running::kSum, true>(a, x, y, parallel);
  if (sums) return run_all<T, Running::kSum, false>(a, x, y, parallel);
  if (a.exclusive) return run_all<T, Running::kProduct, true>(a, x, y, parallel);
  return run_all<T, Running::kProduct, false>(a, x, y, parallel);
}

template <typename T>
void arg_best(const ArgBestArgs& a, const T* x, int64_t* y, ParallelFor& parallel) {
  const Lines& l = a.lines;
  const int64_t width = l.inner == 1 ? 1 : std::min(l.inner, kMost);
  const int64_t blocks = l.inner == 0 ? 0 : (l.inner + width - 1) / width;
  const double ns = kLineNs + kElementNs * static_cast<double>(l.size * width);
  parallel.run(l.outer * blocks, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t image = b / blocks, first = b % blocks * width;
      const T* from = x + image * l.size * l.inner + first;
      int64_t* to = y + image * l.inner + first;
      if (l.inner == 1)
        *to = arg_of_row(from, l.size, a.rank, a.last);
      else
        arg_of_lines(from, a, std::min(width, l.inner - first), to);
    }
  });
}

template void running(const RunningArgs&, const float*, float*, ParallelFor&);
template void running(const RunningArgs&, const int32_t*, int32_t*, ParallelFor&);
template void running(const RunningArgs&, const int64_t*, int64_t*, ParallelFor&);
template void arg_best(const ArgBestArgs&, const float*, int64_t*, ParallelFor&);
template void arg_best(const ArgBestArgs&, const int32_t*, int64_t*, ParallelFor&);
template void arg_best(const ArgBestArgs&, const int64_t*, int64_t*, ParallelFor&);
template void arg_best(const ArgBestArgs&, const int8_t*, int64_t*, ParallelFor&);
template void arg_best(const ArgBestArgs&, const uint8_t*, int64_t*, ParallelFor&);

} // namespace octet::kernels
