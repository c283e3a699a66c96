// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/strided.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <type_traits>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kBytesPerNs = 8.0;
constexpr double kStridedElementNs = 0.7;
constexpr double kStridedRunNs = 4.0;

template <int64_t kWidth>
void copy_elements(
    const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step * kWidth, from + i * from_step * kWidth, kWidth);
  }
}

void copy_run(int64_t width,
              const std::byte* from,
              int64_t from_step,
              std::byte* to,
              int64_t to_step,
              int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count * width));
    return;
  }
  switch (width) {
  case 1:
    return copy_elements<1>(from, from_step, to, to_step, count);
  case 2:
    return copy_elements<2>(from, from_step, to, to_step, count);
  case 4:
    return copy_elements<4>(from, from_step, to, to_step, count);
  case 8:
    return copy_elements<8>(from, from_step, to, to_step, count);
  default:
    return copy_elements<16>(from, from_step, to, to_step, count);
  }
}

int64_t row_at(const GatherArgs& args, int64_t i) {
  const int64_t row = args.wide ? static_cast<const int64_t*>(args.index)[i]
                                : int64_t{static_cast<const int32_t*>(args.index)[i]};
  return row < 0 ? row + args.size : row;
}

} // namespace

StridedCopy simplified(const StridedCopy& copy) {
  StridedCopy out = copy;
  out.sizes.clear();
  out.from.clear();
  out.to.clear();
  for (size_t i = 0; i < copy.sizes.size(); ++i) {
    if (copy.sizes[i] == 1) continue;
    const bool joins = !out.sizes.empty() && out.from.back() == copy.from[i] * copy.sizes[i] &&
                       out.to.back() == copy.to[i] * copy.sizes[i];
    if (joins) {
      out.sizes.back() *= copy.sizes[i];
      out.from.back() = copy.from[i];
      out.to.back() = copy.to[i];
      continue;
    }
    out.sizes.push_back(copy.sizes[i]);
    out.from.push_back(copy.from[i]);
    out.to.push_back(copy.to[i]);
  }
  if (out.sizes.empty()) {
    out.sizes = {1};
    out.from = out.to = {1};
  }
  return out;
}

namespace {

constexpr int64_t kTile = 16;
constexpr double kTurnedElementNs = 0.3;

/// y[i, j] = x[j, i] of at most kTile elements each way, through memory of its own: lines of x and
/// of y that are a power of two apart would push each other out of the cache.
template <typename T>
void turn_tile(
    const T* x, int64_t x_stride, T* y, int64_t y_stride, int64_t rows, int64_t columns) {
  T tile[kTile][kTile];
  if (rows == kTile) { // of a known length
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < kTile; ++i)
        tile[i][j] = x[j * x_stride + i];
  } else {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i)
        tile[i][j] = x[j * x_stride + i];
  }
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(y + i * y_stride, tile[i], static_cast<size_t>(columns) * sizeof(T));
}

/// The axis along which x runs on, where y runs on along the last one; nothing if there is none, or
/// the two make no tile worth it.
std::optional<size_t> turned_axis(const StridedCopy& copy) {
  constexpr int64_t kWorthIt = 4;
  const size_t last = copy.sizes.size() - 1;
  if (copy.to[last] != 1 || copy.from[last] == 1 || copy.sizes[last] < kWorthIt)
    return std::nullopt;
  for (size_t i = 0; i < last; ++i)
    if (copy.from[i] == 1 && copy.sizes[i] >= kWorthIt) return i;
  return std::nullopt;
}

template <typename T>
void copy_turned(const StridedCopy& copy, size_t turned, const T* x, T* y, ParallelFor& parallel) {
  const size_t last = copy.sizes.size() - 1;
  const int64_t rows = copy.sizes[turned], columns = copy.sizes[last];
  const int64_t bands = (rows + kTile - 1) / kTile;
  int64_t planes = 1;
  for (size_t i = 0; i < last; ++i)
    if (i != turned) planes *= copy.sizes[i];
  const double ns = kTurnedElementNs * static_cast<double>(kTile * columns);
  parallel.run(planes * bands, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b % bands * kTile;
      int64_t from = copy.from_start + first;
      int64_t to = copy.to_start + first * copy.to[turned];
      int64_t rest = b / bands;
      for (size_t i = last; i-- > 0;) {
        if (i == turned) continue;
        from += rest % copy.sizes[i] * copy.from[i];
        to += rest % copy.sizes[i] * copy.to[i];
        rest /= copy.sizes[i];
      }
      for (int64_t j = 0; j < columns; j += kTile)
        turn_tile(x + from + j * copy.from[last], copy.from[last], y + to + j, copy.to[turned],
                  std::min(kTile, rows - first), std::min(kTile, columns - j));
    }
  });
}

/// Whether it was a copy that turns tiles.
bool copied_turned(const StridedCopy& copy, const void* x, void* y, ParallelFor& parallel) {
  const auto axis = turned_axis(copy);
  if (!axis) return false;
  const auto as = [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    copy_turned(copy, *axis, static_cast<const T*>(x), static_cast<T*>(y), parallel);
    return true;
  };
  switch (copy.width) {
  case 1:
    return as(static_cast<uint8_t*>(nullptr));
  case 2:
    return as(static_cast<uint16_t*>(nullptr));
  case 4:
    return as(static_cast<uint32_t*>(nullptr));
  case 8:
    return as(static_cast<uint64_t*>(nullptr));
  default:
    return false;
  }
}

} // namespace

void copy_strided(const StridedCopy& copy, const void* x, void* y, ParallelFor& parallel) {
  const size_t outer = copy.sizes.size() - 1;
  const int64_t run = copy.sizes.back();
  int64_t runs = 1;
  for (size_t i = 0; i < outer; ++i) {
    runs *= copy.sizes[i];
  }
  if (runs <= 0 || run <= 0 || copied_turned(copy, x, y, parallel)) return;
  const bool dense = copy.from.back() == 1 && copy.to.back() == 1;
  const double ns = kStridedRunNs +
                    static_cast<double>(run) *
                        (dense ? static_cast<double>(copy.width) / kBytesPerNs : kStridedElementNs);
  parallel.run(runs, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t from = copy.from_start;
      int64_t to = copy.to_start;
      int64_t rest = r;
      for (size_t i = outer; i-- > 0;) {
        const int64_t at = rest % copy.sizes[i];
        rest /= copy.sizes[i];
        from += at * copy.from[i];
        to += at * copy.to[i];
      }
      copy_run(copy.width, static_cast<const std::byte*>(x) + from * copy.width, copy.from.back(),
               static_cast<std::byte*>(y) + to * copy.width, copy.to.back(), run);
    }
  });
}

namespace {

/// Rows of one element of T. False for an index out of range.
template <typename T>
bool gather_single(const GatherArgs& args, ParallelFor& parallel) {
  std::atomic<bool> inside{true};
  const auto* x = static_cast<const T*>(args.x);
  auto* y = static_cast<T*>(args.y);
  parallel.run(args.outer * args.count, grain_for(kStridedElementNs),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end;) {
                   const int64_t outer = i / args.count, first = i - outer * args.count;
                   const int64_t stop = std::min(args.count, first + (end - i));
                   const T* from = x + outer * args.size;
                   for (int64_t k = first; k < stop; ++k, ++i) {
                     const int64_t row = row_at(args, k);
                     const bool fits = row >= 0 && row < args.size;
                     if (!fits) inside.store(false, std::memory_order_relaxed);
                     y[i] = fits ? from[row] : T{};
                   }
                 }
               });
  return inside.load();
}

} // namespace

bool gather_rows(const GatherArgs& args, ParallelFor& parallel) {
  switch (args.row_bytes) {
  case 1:
    return gather_single<uint8_t>(args, parallel);
  case 2:
    return gather_single<uint16_t>(args, parallel);
  case 4:
    return gather_single<uint32_t>(args, parallel);
  case 8:
    return gather_single<uint64_t>(args, parallel);
  default:
    break;
  }
  std::atomic<bool> inside{true};
  const double ns = kStridedRunNs + static_cast<double>(args.row_bytes) / kBytesPerNs;
  const auto bytes = static_cast<size_t>(args.row_bytes);
  parallel.run(args.outer * args.count, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = row_at(args, i % args.count);
      std::byte* to = static_cast<std::byte*>(args.y) + i * args.row_bytes;
      if (row < 0 || row >= args.size) {
        inside.store(false, std::memory_order_relaxed);
        std::memset(to, 0, bytes);
        continue;
      }
      const int64_t from = i / args.count * args.size + row;
      std::memcpy(to, static_cast<const std::byte*>(args.x) + from * args.row_bytes, bytes);
    }
  });
  return inside.load();
}

} // namespace octet::kernels
