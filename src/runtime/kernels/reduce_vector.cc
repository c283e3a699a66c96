// SPDX-License-Identifier: Apache-2.0
// Vector forms of the runs of reductions, 16 outputs at once. Rows are turned four elements at a
// time: each 128-bit block holds four elements of a row, then one element of four rows.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/reduce.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

using F64 = hn::Repartition<double, F32>;
using VecD = hn::Vec<F64>;
using Half = hn::Half<F32>;
constexpr size_t kLanesD = hn::MaxLanes(F64());
/// Vectors of floats that 16 outputs take.
constexpr size_t kGroups = static_cast<size_t>(kReduceLanes) / kLanesF;
constexpr int64_t kBlock = 4; // elements of a row in a 128-bit block

template <Term kTerm>
HWY_INLINE VecD plus(VecD sum, VecD v) {
  // The square of a float is exact in double: one rounding either way.
  if constexpr (kTerm == Term::kSquare) return hn::MulAdd(v, v, sum);
  if constexpr (kTerm == Term::kMagnitude) return hn::Add(sum, hn::Abs(v));
  return hn::Add(sum, v);
}

/// The sums of 16 outputs, two vectors for each one of floats.
template <Term kTerm>
struct Sums {
  using Partial = double;
  VecD lower[kGroups], upper[kGroups];
  explicit Sums(const double* p) {
    for (size_t g = 0; g < kGroups; ++g) {
      lower[g] = hn::LoadU(F64(), p + 2 * g * kLanesD);
      upper[g] = hn::LoadU(F64(), p + (2 * g + 1) * kLanesD);
    }
  }
  HWY_INLINE void take(size_t g, VecF v) {
    lower[g] = plus<kTerm>(lower[g], hn::PromoteTo(F64(), hn::LowerHalf(Half(), v)));
    upper[g] = plus<kTerm>(upper[g], hn::PromoteTo(F64(), hn::UpperHalf(Half(), v)));
  }
  void store(double* p) const {
    for (size_t g = 0; g < kGroups; ++g) {
      hn::StoreU(lower[g], F64(), p + 2 * g * kLanesD);
      hn::StoreU(upper[g], F64(), p + (2 * g + 1) * kLanesD);
    }
  }
};

template <Best kBest>
struct Bests {
  using Partial = float;
  VecF best[kGroups];
  explicit Bests(const float* p) {
    for (size_t g = 0; g < kGroups; ++g)
      best[g] = hn::LoadU(F32(), p + g * kLanesF);
  }
  HWY_INLINE void take(size_t g, VecF v) {
    const auto better = kBest == Best::kLargest ? hn::Gt(v, best[g]) : hn::Lt(v, best[g]);
    const VecF next = hn::IfThenElse(better, v, best[g]);
    best[g] = hn::IfThenElse(hn::Eq(v, v), next, v); // NaN
  }
  void store(float* p) const {
    for (size_t g = 0; g < kGroups; ++g)
      hn::StoreU(best[g], F32(), p + g * kLanesF);
  }
};

template <typename State>
void take_lines(const float* x, int64_t stride, int64_t n, typename State::Partial* partials) {
  State state(partials);
  for (int64_t i = 0; i < n; ++i, x += stride) {
    for (size_t g = 0; g < kGroups; ++g)
      state.take(g, hn::LoadU(F32(), x + g * kLanesF));
  }
  state.store(partials);
}

/// Four elements of rows 0, 4, ... of a group, a block each.
HWY_INLINE VecF load_blocks(const float* x, int64_t stride) {
  const hn::CappedTag<float, 4> d4;
  const hn::CappedTag<float, 8> d8;
  const int64_t next = kBlock * stride;
  const auto low = hn::Combine(d8, hn::LoadU(d4, x + next), hn::LoadU(d4, x));
#if HWY_TARGET == HWY_AVX3
  const auto high = hn::Combine(d8, hn::LoadU(d4, x + 3 * next), hn::LoadU(d4, x + 2 * next));
  return hn::Combine(F32(), high, low);
#else
  return low;
#endif
}

template <typename State>
void take_rows(const float* x, int64_t stride, int64_t n, typename State::Partial* partials) {
  const hn::Repartition<uint64_t, F32> d64;
  State state(partials);
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (size_t g = 0; g < kGroups; ++g) {
      const float* rows = x + static_cast<int64_t>(g * kLanesF) * stride + i;
      const VecF a = load_blocks(rows, stride);
      const VecF b = load_blocks(rows + stride, stride);
      const VecF c = load_blocks(rows + 2 * stride, stride);
      const VecF d = load_blocks(rows + 3 * stride, stride);
      const auto ab = hn::BitCast(d64, hn::InterleaveLower(F32(), a, b));
      const auto cd = hn::BitCast(d64, hn::InterleaveLower(F32(), c, d));
      const auto ab_after = hn::BitCast(d64, hn::InterleaveUpper(F32(), a, b));
      const auto cd_after = hn::BitCast(d64, hn::InterleaveUpper(F32(), c, d));
      state.take(g, hn::BitCast(F32(), hn::InterleaveLower(d64, ab, cd)));
      state.take(g, hn::BitCast(F32(), hn::InterleaveUpper(d64, ab, cd)));
      state.take(g, hn::BitCast(F32(), hn::InterleaveLower(d64, ab_after, cd_after)));
      state.take(g, hn::BitCast(F32(), hn::InterleaveUpper(d64, ab_after, cd_after)));
    }
  }
  for (; i < n; ++i) {
    HWY_ALIGN float column[kReduceLanes];
    for (int64_t k = 0; k < kReduceLanes; ++k)
      column[k] = x[k * stride + i];
    for (size_t g = 0; g < kGroups; ++g)
      state.take(g, hn::Load(F32(), column + g * kLanesF));
  }
  state.store(partials);
}

/// The better one; either of both where v or best is NaN, or both are 0.
template <Best kBest>
HWY_INLINE VecF better(VecF best, VecF v) {
  return kBest == Best::kLargest ? at_least(v, best) : at_most(v, best);
}

/// The best of all lanes, in each lane.
template <Best kBest>
HWY_INLINE VecF best_lane(VecF best) {
  best = better<kBest>(best, hn::Reverse2(F32(), best));
  best = better<kBest>(best, hn::Reverse4(F32(), best));
  best = better<kBest>(best, hn::Reverse8(F32(), best));
#if HWY_TARGET == HWY_AVX3
  best = better<kBest>(best, hn::Reverse(F32(), best));
#endif
  return best;
}

/// The last NaN of a row that has one.
float last_nan(const float* x, int64_t n) {
  while (x[n - 1] == x[n - 1])
    --n;
  return x[n - 1];
}

float first_zero(const float* x) {
  while (*x != 0.0F)
    ++x;
  return *x;
}

/// Any order gives the best number. What the order decides is looked for afterwards: which NaN was
/// the last one, and which zero the first.
template <Best kBest>
float take_row(const float* x, int64_t n, float partial) {
  constexpr size_t kParts = 4;
  constexpr auto kStep = static_cast<int64_t>(kLanesF);
  constexpr int64_t kStride = kStep * static_cast<int64_t>(kParts);
  const auto is_better = [](float v, float r) { return kBest == Best::kLargest ? v > r : v < r; };
  VecF best[kParts];
  auto is_nan = hn::FirstN(F32(), 0);
  for (VecF& part : best)
    part = hn::Set(F32(), partial == partial ? partial : 0.0F);
  int64_t i = 0;
  for (; i + kStride <= n; i += kStride) {
    for (size_t p = 0; p < kParts; ++p) {
      const VecF v = hn::LoadU(F32(), x + i + static_cast<int64_t>(p) * kStep);
      best[p] = better<kBest>(best[p], v);
      is_nan = hn::Or(is_nan, hn::IsNaN(v));
    }
  }
  for (; i + kStep <= n; i += kStep) {
    const VecF v = hn::LoadU(F32(), x + i);
    best[0] = better<kBest>(best[0], v);
    is_nan = hn::Or(is_nan, hn::IsNaN(v));
  }
  bool has_nan = !hn::AllFalse(F32(), is_nan);
  for (size_t p = 1; p < kParts; ++p)
    best[0] = better<kBest>(best[0], best[p]);
  float result = hn::GetLane(best_lane<kBest>(best[0]));
  for (; i < n; ++i) {
    result = is_better(x[i], result) ? x[i] : result;
    has_nan = has_nan || x[i] != x[i];
  }
  if (has_nan) return last_nan(x, n);
  if (partial != partial || result == partial) return partial;
  return result == 0.0F ? first_zero(x) : result;
}

} // namespace

float best_row(Best best, const float* x, int64_t n, float partial) {
  if (best == Best::kLargest) return take_row<Best::kLargest>(x, n, partial);
  return take_row<Best::kSmallest>(x, n, partial);
}

void sum_lines(Term term, const float* x, int64_t stride, int64_t n, double* partials) {
  if (term == Term::kSquare) return take_lines<Sums<Term::kSquare>>(x, stride, n, partials);
  if (term == Term::kMagnitude) return take_lines<Sums<Term::kMagnitude>>(x, stride, n, partials);
  take_lines<Sums<Term::kItself>>(x, stride, n, partials);
}

void sum_rows(Term term, const float* x, int64_t stride, int64_t n, double* partials) {
  if (term == Term::kSquare) return take_rows<Sums<Term::kSquare>>(x, stride, n, partials);
  if (term == Term::kMagnitude) return take_rows<Sums<Term::kMagnitude>>(x, stride, n, partials);
  take_rows<Sums<Term::kItself>>(x, stride, n, partials);
}

void best_lines(Best best, const float* x, int64_t stride, int64_t n, float* partials) {
  if (best == Best::kLargest) return take_lines<Bests<Best::kLargest>>(x, stride, n, partials);
  take_lines<Bests<Best::kSmallest>>(x, stride, n, partials);
}

void best_rows(Best best, const float* x, int64_t stride, int64_t n, float* partials) {
  if (best == Best::kLargest) return take_rows<Bests<Best::kLargest>>(x, stride, n, partials);
  take_rows<Bests<Best::kSmallest>>(x, stride, n, partials);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void sum_lines_avx2(Term term, const float* x, int64_t stride, int64_t n, double* partials) {
  N_AVX2::sum_lines(term, x, stride, n, partials);
}
void sum_lines_avx512(Term term, const float* x, int64_t stride, int64_t n, double* partials) {
  N_AVX3::sum_lines(term, x, stride, n, partials);
}
void sum_rows_avx2(Term term, const float* x, int64_t stride, int64_t n, double* partials) {
  N_AVX2::sum_rows(term, x, stride, n, partials);
}
void sum_rows_avx512(Term term, const float* x, int64_t stride, int64_t n, double* partials) {
  N_AVX3::sum_rows(term, x, stride, n, partials);
}
void best_lines_avx2(Best best, const float* x, int64_t stride, int64_t n, float* partials) {
  N_AVX2::best_lines(best, x, stride, n, partials);
}
void best_lines_avx512(Best best, const float* x, int64_t stride, int64_t n, float* partials) {
  N_AVX3::best_lines(best, x, stride, n, partials);
}
float best_row_avx2(Best best, const float* x, int64_t n, float partial) {
  return N_AVX2::best_row(best, x, n, partial);
}
float best_row_avx512(Best best, const float* x, int64_t n, float partial) {
  return N_AVX3::best_row(best, x, n, partial);
}
void best_rows_avx2(Best best, const float* x, int64_t stride, int64_t n, float* partials) {
  N_AVX2::best_rows(best, x, stride, n, partials);
}
void best_rows_avx512(Best best, const float* x, int64_t stride, int64_t n, float* partials) {
  N_AVX3::best_rows(best, x, stride, n, partials);
}
} // namespace octet::kernels
#endif
