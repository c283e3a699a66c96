// SPDX-License-Identifier: Apache-2.0
// Vector forms of the largest and smallest codes. What is left behind whole vectors is taken once
// more from the end: to take a code twice changes nothing.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce_bytes_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "runtime/kernels/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <Best kBest, class V>
HWY_INLINE V better(V a, V b) {
  return kBest == Best::kLargest ? hn::Max(a, b) : hn::Min(a, b);
}

template <Best kBest, class T>
HWY_INLINE T better_code(T a, T b) {
  return kBest == Best::kLargest ? std::max(a, b) : std::min(a, b);
}

/// kVectors beside each other, down all lines.
template <Best kBest, size_t kVectors, class D, class T>
HWY_INLINE void take_columns(D d, const T* x, int64_t stride, int64_t n, T* y) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  hn::Vec<D> best[kVectors];
  for (size_t v = 0; v < kVectors; ++v)
    best[v] = hn::LoadU(d, y + v * kLanes);
  for (int64_t i = 0; i < n; ++i, x += stride)
    for (size_t v = 0; v < kVectors; ++v)
      best[v] = better<kBest>(best[v], hn::LoadU(d, x + v * kLanes));
  for (size_t v = 0; v < kVectors; ++v)
    hn::StoreU(best[v], d, y + v * kLanes);
}

template <Best kBest, class T, class D>
HWY_INLINE bool take_vectors(D d, const T* x, int64_t stride, int64_t n, int64_t columns, T* y) {
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  constexpr size_t kVectors = 4;
  constexpr int64_t kStep = kLanes * static_cast<int64_t>(kVectors);
  if (columns < kLanes) return false;
  int64_t c = 0;
  for (; c + kStep <= columns; c += kStep)
    take_columns<kBest, kVectors>(d, x + c, stride, n, y + c);
  for (; c + kLanes <= columns; c += kLanes)
    take_columns<kBest, 1>(d, x + c, stride, n, y + c);
  if (c < columns) take_columns<kBest, 1>(d, x + columns - kLanes, stride, n, y + columns - kLanes);
  return true;
}

template <Best kBest, class T>
void take_lines(const T* x, int64_t stride, int64_t n, int64_t columns, T* y) {
  const hn::CappedTag<T, 64> whole;
  const hn::CappedTag<T, 32> half;
  const hn::CappedTag<T, 16> quarter;
  const hn::CappedTag<T, 8> eighth;
  if (take_vectors<kBest>(whole, x, stride, n, columns, y)) return;
  if (take_vectors<kBest>(half, x, stride, n, columns, y)) return;
  if (take_vectors<kBest>(quarter, x, stride, n, columns, y)) return;
  if (take_vectors<kBest>(eighth, x, stride, n, columns, y)) return;
  for (int64_t i = 0; i < n; ++i, x += stride)
    for (int64_t c = 0; c < columns; ++c)
      y[c] = better_code<kBest>(y[c], x[c]);
}

template <Best kBest, class T>
T take_row(const T* x, int64_t n, T partial) {
  const hn::CappedTag<T, 64> whole;
  const hn::CappedTag<T, 16> few;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<T, 64>()));
  constexpr int64_t kFew = 16;
  if (n < kFew) {
    for (int64_t i = 0; i < n; ++i)
      partial = better_code<kBest>(partial, x[i]);
    return partial;
  }
  auto best = hn::Set(few, partial);
  int64_t i = 0;
  if (n >= kLanes) {
    auto wide = hn::Set(whole, partial), other = wide;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      wide = better<kBest>(wide, hn::LoadU(whole, x + i));
      other = better<kBest>(other, hn::LoadU(whole, x + i + kLanes));
    }
    other = better<kBest>(other, hn::LoadU(whole, x + n - kLanes));
    if (i + kLanes <= n) wide = better<kBest>(wide, hn::LoadU(whole, x + i));
    HWY_ALIGN T lanes[kLanes];
    hn::Store(better<kBest>(wide, other), whole, lanes);
    for (int64_t k = 0; k < kLanes; k += kFew)
      best = better<kBest>(best, hn::Load(few, lanes + k));
  } else {
    for (; i + kFew <= n; i += kFew)
      best = better<kBest>(best, hn::LoadU(few, x + i));
    best = better<kBest>(best, hn::LoadU(few, x + n - kFew));
  }
  HWY_ALIGN T lanes[kFew];
  hn::Store(best, few, lanes);
  for (const T lane : lanes)
    partial = better_code<kBest>(partial, lane);
  return partial;
}

template <class T>
void lines(Best best, const T* x, int64_t stride, int64_t n, int64_t columns, T* y) {
  if (best == Best::kLargest) return take_lines<Best::kLargest>(x, stride, n, columns, y);
  take_lines<Best::kSmallest>(x, stride, n, columns, y);
}

template <class T>
T row(Best best, const T* x, int64_t n, T partial) {
  if (best == Best::kLargest) return take_row<Best::kLargest>(x, n, partial);
  return take_row<Best::kSmallest>(x, n, partial);
}

} // namespace

BestKernels best_kernels() {
  return {.of_i8 = {lines<int8_t>, row<int8_t>}, .of_u8 = {lines<uint8_t>, row<uint8_t>}};
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
BestKernels best_kernels_avx2() {
  return N_AVX2::best_kernels();
}
BestKernels best_kernels_avx512() {
  return N_AVX3::best_kernels();
}
} // namespace octet::kernels
#endif
