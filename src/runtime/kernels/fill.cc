// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/fill.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kBytesPerNs = 8.0;
constexpr double kRunNs = 6.0;
constexpr double kPickNs = 2.0;

/// Which of `depth` classes the index at `i` names; -1: none.
int64_t class_of(const OneHotArgs& a, int64_t i) {
  int64_t at = 0;
  if (a.index_type == DType::kInt64) {
    at = static_cast<const int64_t*>(a.index)[i];
  } else if (a.index_type == DType::kInt32) {
    at = static_cast<const int32_t*>(a.index)[i];
  } else {
    const float v = static_cast<const float*>(a.index)[i];
    constexpr float kMost = 0x1p62F;
    if (!(v > -kMost && v < kMost)) return -1;
    at = static_cast<int64_t>(v);
    if (static_cast<float>(at) != v) return -1;
  }
  if (at < -a.depth || at >= a.depth) return -1;
  return at < 0 ? at + a.depth : at;
}

template <typename T>
void one_hot_as(const OneHotArgs& a, ParallelFor& parallel) {
  const T off = static_cast<const T*>(a.values)[0], on = static_cast<const T*>(a.values)[1];
  auto* y = static_cast<T*>(a.y);
  const int64_t plane = a.depth * a.inner;
  const double ns = kRunNs + kPickNs * static_cast<double>(a.inner) +
                    static_cast<double>(plane * a.width) / kBytesPerNs;
  parallel.run(a.outer, grain_for(ns), [&](int64_t begin, int64_t end) {
    std::fill(y + begin * plane, y + end * plane, off);
    for (int64_t o = begin; o < end; ++o)
      for (int64_t i = 0; i < a.inner; ++i) {
        const int64_t at = class_of(a, o * a.inner + i);
        if (at >= 0) y[o * plane + at * a.inner + i] = on;
      }
  });
}

} // namespace

void one_hot(const OneHotArgs& a, ParallelFor& parallel) {
  switch (a.width) {
  case 1:
    return one_hot_as<uint8_t>(a, parallel);
  case 2:
    return one_hot_as<uint16_t>(a, parallel);
  case 4:
    return one_hot_as<uint32_t>(a, parallel);
  default:
    return one_hot_as<uint64_t>(a, parallel);
  }
}

void triangle(const TriangleArgs& a, ParallelFor& parallel) {
  // Farther diagonals than these say the same.
  const int64_t k = std::clamp(a.k, -a.rows - 1, a.columns + 1);
  const double ns = kRunNs + static_cast<double>(a.columns * a.width) / kBytesPerNs;
  parallel.run(a.matrices * a.rows, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      // Elements before `cut` lie below the diagonal, or below and on it.
      const int64_t cut = std::clamp<int64_t>(r % a.rows + k + (a.upper ? 0 : 1), 0, a.columns);
      const auto* from = static_cast<const std::byte*>(a.x) + r * a.columns * a.width;
      auto* to = static_cast<std::byte*>(a.y) + r * a.columns * a.width;
      const auto before = static_cast<size_t>(cut * a.width);
      const auto after = static_cast<size_t>((a.columns - cut) * a.width);
      if (a.upper) {
        std::memset(to, 0, before);
        std::memcpy(to + before, from + before, after);
      } else {
        std::memcpy(to, from, before);
        std::memset(to + before, 0, after);
      }
    }
  });
}

void reverse_sequences(const ReverseArgs& a, ParallelFor& parallel) {
  const double ns = kRunNs + static_cast<double>(a.run_bytes) / kBytesPerNs;
  parallel.run(a.first * a.second, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t p = i / a.second, q = i % a.second;
      const int64_t time = a.time_first ? p : q, length = a.lengths[a.time_first ? q : p];
      const int64_t source = time < length ? length - 1 - time : time;
      const int64_t from = a.time_first ? source * a.second + q : p * a.second + source;
      std::memcpy(static_cast<std::byte*>(a.y) + i * a.run_bytes,
                  static_cast<const std::byte*>(a.x) + from * a.run_bytes,
                  static_cast<size_t>(a.run_bytes));
    }
  });
}

} // namespace octet::kernels
