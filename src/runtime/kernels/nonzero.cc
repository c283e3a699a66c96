// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/nonzero.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/check.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr int64_t kPart = int64_t{1} << 14;
constexpr int64_t kBlock = 32; // what is passed over at once where it is zero
constexpr double kCountNs = 0.2;
constexpr double kWriteNs = 2.0;

int64_t elements(const NonZeroArgs& a) {
  return std::accumulate(a.shape.begin(), a.shape.end(), int64_t{1}, std::multiplies<>());
}

template <typename U>
U one_if_nonzero(U v, U mask) {
  return (v & mask) != 0 ? U{1} : U{0};
}

/// The sum fits the elements' own type, so that compilers make vectors of it.
template <typename U>
int64_t count_block(const U* x, int64_t n, U mask) {
  U sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum = static_cast<U>(sum + one_if_nonzero(x[i], mask));
  return static_cast<int64_t>(sum);
}

template <typename U>
int64_t count_range(const U* x, int64_t begin, int64_t end, U mask) {
  int64_t count = 0;
  int64_t i = begin;
  for (; i + kBlock <= end; i += kBlock)
    count += count_block(x + i, kBlock, mask);
  return count + count_block(x + i, end - i, mask);
}

/// Numbers of elements to `to`, which has room up to `stop` and not behind it.
template <typename U>
void list_range(const U* x, int64_t begin, int64_t end, U mask, int64_t* to, const int64_t* stop) {
  for (int64_t i = begin; to < stop; i += kBlock) {
    const int64_t n = std::min(kBlock, end - i);
    const int64_t count = count_block(x + i, n, mask);
    if (count == 0) continue;
    if (count == n) {
      std::iota(to, to + n, i);
      to += n;
    } else if (to + count < stop) {
      // Each is written, and written over where it was zero.
      for (int64_t k = 0; k < n; ++k) {
        *to = i + k;
        to += one_if_nonzero(x[i + k], mask);
      }
    } else {
      for (int64_t k = 0; k < n; ++k)
        if (one_if_nonzero(x[i + k], mask) != 0) *to++ = i + k;
    }
  }
}

/// Numbers of elements, in the last line of y, become coordinates.
void split(std::span<const int64_t> shape, int64_t* y, int64_t found, int64_t begin, int64_t end) {
  const size_t last = shape.size() - 1;
  if (last == 0) return;
  const int64_t length = shape[last];
  int64_t* numbers = y + static_cast<int64_t>(last) * found;
  for (int64_t i = begin; i < end;) {
    // Those of one row.
    int64_t row = numbers[i] / length;
    const int64_t from = row * length;
    int64_t stop = i;
    for (; stop < end && numbers[stop] < from + length; ++stop)
      numbers[stop] -= from;
    for (size_t axis = last; axis-- > 0; row /= shape[axis]) {
      int64_t* line = y + static_cast<int64_t>(axis) * found;
      std::fill(line + i, line + stop, row % shape[axis]);
    }
    i = stop;
  }
}

template <typename Fn>
void with_elements(const NonZeroArgs& a, Fn&& fn) {
  const auto as = [&](auto all) {
    using U = decltype(all);
    const auto sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
    fn(reinterpret_cast<const U*>(a.x), static_cast<U>(a.is_float ? all ^ sign : all));
  };
  switch (a.width) {
  case 1:
    return as(static_cast<uint8_t>(~0U));
  case 2:
    return as(static_cast<uint16_t>(~0U));
  case 4:
    return as(~uint32_t{0});
  default:
    OCTET_CHECK_EQ(a.width, 8);
    return as(~uint64_t{0});
  }
}

} // namespace

int64_t nonzero_parts(const NonZeroArgs& args) {
  return (elements(args) + kPart - 1) / kPart;
}

void count_nonzero(const NonZeroArgs& args, std::span<int64_t> counts, ParallelFor& parallel) {
  const int64_t count = elements(args);
  with_elements(args, [&](const auto* x, auto mask) {
    parallel.run(static_cast<int64_t>(counts.size()), grain_for(kCountNs * kPart),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; ++p)
                     counts[static_cast<size_t>(p)] =
                         count_range(x, p * kPart, std::min((p + 1) * kPart, count), mask);
                 });
  });
}

void write_nonzero(const NonZeroArgs& args,
                   std::span<const int64_t> counts,
                   int64_t* y,
                   ParallelFor& parallel) {
  const int64_t count = elements(args);
  const int64_t found = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (args.shape.empty() || found == 0) return;
  int64_t* numbers = y + static_cast<int64_t>(args.shape.size() - 1) * found;
  with_elements(args, [&](const auto* x, auto mask) {
    parallel.run(static_cast<int64_t>(counts.size()), grain_for(kWriteNs * kPart),
                 [&](int64_t begin, int64_t end) {
                   int64_t from =
                       std::accumulate(counts.begin(), counts.begin() + begin, int64_t{0});
                   for (int64_t p = begin; p < end; ++p) {
                     const int64_t to = from + counts[static_cast<size_t>(p)];
                     list_range(x, p * kPart, std::min((p + 1) * kPart, count), mask,
                                numbers + from, numbers + to);
                     split(args.shape, y, found, from, to);
                     from = to;
                   }
                 });
  });
}

} // namespace octet::kernels
