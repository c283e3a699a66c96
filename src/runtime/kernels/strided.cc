// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/strided.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <optional>

#include "core/threads.h"
#include "runtime/kernels/cut.h"
#include "runtime/kernels/turn.h"

namespace octet::kernels {
namespace {

constexpr double kBytesPerNs = 8.0;
constexpr double kStridedElementNs = 0.7;
constexpr double kStridedRunNs = 4.0;
constexpr int64_t kLeastRepeatedBytes = 256; ///< of one line or element, all times together

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

/// Where one run of a copy's outer axes begins.
struct Start {
  int64_t from, to;
};

/// Of run `r` over the first `outer` axes of `copy`, or all of them but `without`.
Start start_of(const StridedCopy& copy, int64_t r, size_t outer, size_t without) {
  Start at{copy.from_start, copy.to_start};
  for (size_t i = outer; i-- > 0;) {
    if (i == without) continue;
    const int64_t index = r % copy.sizes[i];
    r /= copy.sizes[i];
    at.from += index * copy.from[i];
    at.to += index * copy.to[i];
  }
  return at;
}

/// The axis along which x is dense, where y is along another one; long enough to be read in blocks.
std::optional<size_t> turned_axis(const StridedCopy& copy) {
  constexpr int64_t kLeastRun = 8;
  if (copy.to.back() != 1 || copy.from.back() == 1 || copy.sizes.back() < 2) return std::nullopt;
  for (size_t i = 0; i + 1 < copy.sizes.size(); ++i)
    if (copy.from[i] == 1 && copy.sizes[i] >= kLeastRun) return i;
  return std::nullopt;
}

/// Matrices whose rows are `copy`'s last axis and whose columns are axis `columns`, some at a time.
void copy_turned(
    const StridedCopy& copy, size_t columns, const void* x, void* y, ParallelFor& parallel) {
  constexpr double kTurnedByteNs = 0.15;
  const size_t outer = copy.sizes.size() - 1;
  int64_t matrices = 1;
  for (size_t i = 0; i < outer; ++i)
    if (i != columns) matrices *= copy.sizes[i];
  const Blocks blocks(copy.sizes[columns], int64_t{256});
  if (matrices <= 0 || copy.sizes.back() <= 0) return;
  const double ns =
      kTurnedByteNs * static_cast<double>(blocks.size * copy.sizes.back() * copy.width);
  parallel.run(matrices * blocks.count, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const Start at = start_of(copy, chunk / blocks.count, outer, columns);
      const Range some = blocks[chunk % blocks.count];
      turn({copy.sizes.back(), some.count(), copy.from.back(), copy.to[columns]}, copy.width,
           static_cast<const std::byte*>(x) + (at.from + some.begin) * copy.width,
           static_cast<std::byte*>(y) + (at.to + some.begin * copy.to[columns]) * copy.width);
    }
  });
}

/// Lines of `bytes` each, of kBytes at a time where that is known to fit: the last ones overlap.
template <int64_t kBytes>
void copy_short_lines(const std::byte* from,
                      int64_t from_step,
                      std::byte* to,
                      int64_t to_step,
                      int64_t bytes,
                      int64_t lines) {
  for (int64_t i = 0; i < lines; ++i, from += from_step, to += to_step) {
    int64_t at = 0;
    for (; at + kBytes < bytes; at += kBytes)
      std::memcpy(to + at, from + at, kBytes);
    std::memcpy(to + bytes - kBytes, from + bytes - kBytes, kBytes);
  }
}

/// Short lines are copied without a call.
void copy_lines(const std::byte* from,
                int64_t from_step,
                std::byte* to,
                int64_t to_step,
                int64_t bytes,
                int64_t lines) {
  constexpr int64_t kMostInline = 256;
  if (bytes >= 16 && bytes <= kMostInline)
    return copy_short_lines<16>(from, from_step, to, to_step, bytes, lines);
  if (bytes >= 4 && bytes < 16)
    return copy_short_lines<4>(from, from_step, to, to_step, bytes, lines);
  for (int64_t i = 0; i < lines; ++i)
    std::memcpy(to + i * to_step, from + i * from_step, static_cast<size_t>(bytes));
}

template <typename T>
void fill_elements(const std::byte* from, std::byte* to, int64_t count) {
  T v;
  std::memcpy(&v, from, sizeof(T));
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}

/// One line `lines` times, one behind the other. Of what is there already, as much as stays in the
/// first cache is copied at once.
void repeat_line(const std::byte* from, std::byte* to, int64_t bytes, int64_t lines) {
  constexpr int64_t kPieceBytes = 1024;
  if (bytes == 1) return fill_elements<uint8_t>(from, to, lines);
  if (bytes == 2) return fill_elements<uint16_t>(from, to, lines);
  if (bytes == 4) return fill_elements<uint32_t>(from, to, lines);
  if (bytes == 8) return fill_elements<uint64_t>(from, to, lines);
  const int64_t all = bytes * lines;
  std::memcpy(to, from, static_cast<size_t>(bytes));
  for (int64_t done = bytes, piece = bytes; done < all;) {
    const int64_t next = std::min(piece, all - done);
    std::memcpy(to + done, to, static_cast<size_t>(next));
    done += next;
    if (piece < kPieceBytes) piece = done;
  }
}

/// Whether short lines along the last axis but one repeat the first one, without gaps.
bool repeats_lines(const StridedCopy& copy) {
  const size_t last = copy.sizes.size() - 1;
  const int64_t line_bytes = copy.sizes[last] * copy.width;
  return last > 0 && copy.from[last] == 1 && copy.to[last] == 1 && copy.from[last - 1] == 0 &&
         copy.to[last - 1] == copy.sizes[last] && line_bytes < kLeastRepeatedBytes &&
         line_bytes * copy.sizes[last - 1] >= kLeastRepeatedBytes;
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
  const bool fills = !out.sizes.empty() && out.from.back() == 0 && out.to.back() == 1 &&
                     out.sizes.back() * out.width >= kLeastRepeatedBytes;
  if (out.sizes.empty() || fills) { // lines of one element
    out.sizes.push_back(1);
    out.from.push_back(1);
    out.to.push_back(1);
  }
  return out;
}

bool repeats(const StridedCopy& copy) {
  return repeats_lines(copy) || (copy.from.back() == 0 && turned_axis(copy));
}

void copy_strided(const StridedCopy& copy, const void* x, void* y, ParallelFor& parallel) {
  if (const auto rows = turned_axis(copy)) return copy_turned(copy, *rows, x, y, parallel);
  const size_t outer = copy.sizes.size() - 1;
  const int64_t run = copy.sizes.back();
  int64_t runs = 1;
  for (size_t i = 0; i < outer; ++i) {
    runs *= copy.sizes[i];
  }
  if (runs <= 0 || run <= 0) return;
  const bool dense = copy.from.back() == 1 && copy.to.back() == 1;
  const bool repeated = repeats_lines(copy);
  const double ns = (repeated ? 0.0 : kStridedRunNs) +
                    static_cast<double>(run) *
                        (dense ? static_cast<double>(copy.width) / kBytesPerNs : kStridedElementNs);
  // Runs of the innermost outer axis follow one another by a step each, and so do groups of them.
  const int64_t lines = outer > 0 ? copy.sizes[outer - 1] : 1;
  const int64_t from_step = outer > 0 ? copy.from[outer - 1] * copy.width : 0;
  const int64_t to_step = outer > 0 ? copy.to[outer - 1] * copy.width : 0;
  const int64_t groups = outer > 1 ? copy.sizes[outer - 2] : 1;
  parallel.run(runs, grain_for(ns), [&](int64_t begin, int64_t end) {
    Start at{};
    int64_t line = begin % lines;
    for (int64_t r = begin, left = 0; r < end; --left) {
      if (left == 0) {
        at = start_of(copy, r - line, outer, outer);
        left = groups - r / lines % groups;
      }
      const int64_t some = std::min(end - r, lines - line);
      const auto* from = static_cast<const std::byte*>(x) + at.from * copy.width + line * from_step;
      auto* to = static_cast<std::byte*>(y) + at.to * copy.width + line * to_step;
      if (repeated)
        repeat_line(from, to, run * copy.width, some);
      else if (dense)
        copy_lines(from, from_step, to, to_step, run * copy.width, some);
      else
        for (int64_t i = 0; i < some; ++i)
          copy_run(copy.width, from + i * from_step, copy.from.back(), to + i * to_step,
                   copy.to.back(), run);
      r += some;
      line = 0;
      if (outer > 1) {
        at.from += copy.from[outer - 2];
        at.to += copy.to[outer - 2];
      }
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
