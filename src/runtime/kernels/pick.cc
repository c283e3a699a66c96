// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/pick.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kPickNs = 0.6;
constexpr double kRowNs = 6.0;
constexpr double kBytesPerNs = 8.0;

struct Wide {
  uint64_t halves[2];
};

/// The index counted from the front; -1 when it is out of range.
int64_t within(int64_t index, int64_t size) {
  const int64_t at = index < 0 ? index + size : index;
  return at >= 0 && at < size ? at : -1;
}

/// Calls fn(first place, base) for each row along the last axis of rows [begin, end).
template <typename Fn>
void each_row(const ElementPlaces& p, int64_t begin, int64_t end, Fn&& fn) {
  const int64_t length = p.sizes.back();
  for (int64_t row = begin; row < end; ++row) {
    int64_t base = 0, rest = row;
    for (size_t i = p.sizes.size() - 1; i-- > 0;) {
      base += rest % p.sizes[i] * p.strides[i];
      rest /= p.sizes[i];
    }
    if (!fn(row * length, base)) return;
  }
}

int64_t row_count(const ElementPlaces& p) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < p.sizes.size(); ++i)
    rows *= p.sizes[i];
  return p.sizes.back() == 0 ? 0 : rows;
}

/// Calls use(place, element) for the places of a row; false for an index out of range.
template <typename Index, typename Use>
bool walk(const ElementPlaces& p, const Index* index, int64_t first, int64_t base, Use&& use) {
  const int64_t length = p.sizes.back(), step = p.strides.back();
  const int64_t size = p.size, along = p.along;
  for (int64_t j = 0; j < length; ++j) {
    const int64_t at = within(int64_t{index[first + j]}, size);
    if (at < 0) return false;
    use(first + j, base + j * step + at * along);
  }
  return true;
}

template <typename Use>
bool walk(const ElementPlaces& p, Indices index, int64_t first, int64_t base, Use&& use) {
  return index.wide ? walk(p, static_cast<const int64_t*>(index.data), first, base, use)
                    : walk(p, static_cast<const int32_t*>(index.data), first, base, use);
}

/// Element where the slice of a row begins; -1 for an index out of range.
int64_t slice_start(const SlicePlaces& p, Indices index, int64_t row) {
  const auto width = static_cast<int64_t>(p.sizes.size());
  int64_t start = row / p.rows_per_batch * p.batch_stride;
  for (int64_t k = 0; k < width; ++k) {
    const int64_t at = within(index[row * width + k], p.sizes[static_cast<size_t>(k)]);
    if (at < 0) return -1;
    start += at * p.strides[static_cast<size_t>(k)];
  }
  return start;
}

template <typename T>
bool gather_as(const ElementPlaces& p, Indices index, const T* x, T* y, ParallelFor& parallel) {
  std::atomic<bool> inside{true};
  const double ns = kRowNs + kPickNs * static_cast<double>(p.sizes.back());
  parallel.run(row_count(p), grain_for(ns), [&](int64_t begin, int64_t end) {
    each_row(p, begin, end, [&](int64_t first, int64_t base) {
      const bool fine =
          walk(p, index, first, base, [&](int64_t i, int64_t from) { y[i] = x[from]; });
      if (!fine) inside.store(false, std::memory_order_relaxed);
      return fine;
    });
  });
  return inside.load();
}

template <typename T>
bool scatter_as(const ElementPlaces& p, Indices index, const T* updates, T* y) {
  bool inside = true;
  each_row(p, 0, row_count(p), [&](int64_t first, int64_t base) {
    return inside = walk(p, index, first, base, [&](int64_t i, int64_t to) { y[to] = updates[i]; });
  });
  return inside;
}

/// Calls fn with a null pointer to a type of `width` bytes.
template <typename Fn>
bool by_width(int64_t width, Fn&& fn) {
  switch (width) {
  case 1:
    return fn(static_cast<uint8_t*>(nullptr));
  case 2:
    return fn(static_cast<uint16_t*>(nullptr));
  case 4:
    return fn(static_cast<uint32_t*>(nullptr));
  case 8:
    return fn(static_cast<uint64_t*>(nullptr));
  default:
    return fn(static_cast<Wide*>(nullptr));
  }
}

template <typename T>
T met(Meet how, T at, T more) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(at)) return at;
    if (std::isnan(more)) return more;
    if (how == Meet::kAdd) return at + more;
    if (how == Meet::kMul) return at * more;
  } else {
    using Natural = std::make_unsigned_t<T>;
    if (how == Meet::kAdd)
      return static_cast<T>(static_cast<Natural>(at) + static_cast<Natural>(more));
    if (how == Meet::kMul)
      return static_cast<T>(static_cast<Natural>(at) * static_cast<Natural>(more));
  }
  if (how == Meet::kMin) return more < at ? more : at;
  return more > at ? more : at;
}

} // namespace

bool gather_elements(
    const ElementPlaces& places, Indices index, const void* x, void* y, ParallelFor& parallel) {
  return by_width(places.width, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return gather_as(places, index, static_cast<const T*>(x), static_cast<T*>(y), parallel);
  });
}

bool scatter_elements(const ElementPlaces& places, Indices index, const void* updates, void* y) {
  return by_width(places.width, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return scatter_as(places, index, static_cast<const T*>(updates), static_cast<T*>(y));
  });
}

bool gather_slices(
    const SlicePlaces& p, Indices index, const void* x, void* y, ParallelFor& parallel) {
  std::atomic<bool> inside{true};
  const int64_t bytes = p.run * p.width;
  const double ns = kRowNs + static_cast<double>(bytes) / kBytesPerNs;
  parallel.run(p.rows, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t start = slice_start(p, index, row);
      if (start < 0) return inside.store(false, std::memory_order_relaxed);
      std::memcpy(static_cast<std::byte*>(y) + row * bytes,
                  static_cast<const std::byte*>(x) + start * p.width, static_cast<size_t>(bytes));
    }
  });
  return inside.load();
}

bool scatter_slices(const SlicePlaces& p, Indices index, const void* updates, void* y) {
  const int64_t bytes = p.run * p.width;
  for (int64_t row = 0; row < p.rows; ++row) {
    const int64_t start = slice_start(p, index, row);
    if (start < 0) return false;
    std::memcpy(static_cast<std::byte*>(y) + start * p.width,
                static_cast<const std::byte*>(updates) + row * bytes, static_cast<size_t>(bytes));
  }
  return true;
}

template <typename T, typename U>
bool meet_elements(const ElementPlaces& p, Meet how, Indices index, const U* updates, T* y) {
  bool inside = true;
  each_row(p, 0, row_count(p), [&](int64_t first, int64_t base) {
    return inside = walk(p, index, first, base, [&](int64_t i, int64_t to) {
             y[to] = met(how, y[to], static_cast<T>(updates[i]));
           });
  });
  return inside;
}

template <typename T, typename U>
bool meet_slices(const SlicePlaces& p, Meet how, Indices index, const U* updates, T* y) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const int64_t start = slice_start(p, index, row);
    if (start < 0) return false;
    for (int64_t i = 0; i < p.run; ++i)
      y[start + i] = met(how, y[start + i], static_cast<T>(updates[row * p.run + i]));
  }
  return true;
}

template bool meet_elements(const ElementPlaces&, Meet, Indices, const float*, double*);
template bool meet_elements(const ElementPlaces&, Meet, Indices, const int32_t*, int32_t*);
template bool meet_elements(const ElementPlaces&, Meet, Indices, const int64_t*, int64_t*);
template bool meet_slices(const SlicePlaces&, Meet, Indices, const float*, double*);
template bool meet_slices(const SlicePlaces&, Meet, Indices, const int32_t*, int32_t*);
template bool meet_slices(const SlicePlaces&, Meet, Indices, const int64_t*, int64_t*);

} // namespace octet::kernels
