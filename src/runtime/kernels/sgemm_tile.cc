// SPDX-License-Identifier: Apache-2.0
// Vector tile of the float product: 6 rows x 2 vectors (or 1), one accumulator each, named so that
// they stay in registers. Bit for bit sgemm_scalar.cc: lanes are columns, so each keeps its own
// chain over k.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/sgemm_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstring>

#include "runtime/kernels/sgemm_tile.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// One row of a tile: two vectors of columns, or the first of them.
struct Row {
  Vec a, b;
};

template <bool kHalf>
HWY_INLINE Row load_row(const float* p) {
  const Tag d;
  return {hn::LoadU(d, p), kHalf ? hn::Zero(d) : hn::LoadU(d, p + (kHalf ? 0 : hn::Lanes(d)))};
}

template <bool kHalf>
HWY_INLINE void store_row(const Row& row, float* p) {
  const Tag d;
  hn::StoreU(row.a, d, p);
  if constexpr (!kHalf) hn::StoreU(row.b, d, p + hn::Lanes(d));
}

template <bool kHalf>
HWY_INLINE void add(Row& acc, const float* x, const Row& w) {
  const Tag d;
  const Vec v = hn::Set(d, *x);
  acc.a = hn::MulAdd(v, w.a, acc.a);
  if constexpr (!kHalf) acc.b = hn::MulAdd(v, w.b, acc.b);
}

// clamp_keep_nan: both comparisons are false for NaN.
HWY_INLINE Vec clamped(Vec v, Vec lo, Vec hi) {
  v = hn::IfThenElse(hn::Lt(v, lo), lo, v);
  return hn::IfThenElse(hn::Gt(v, hi), hi, v);
}

struct Finish {
  bool last;
  Row bias;
  Vec lo, hi;
  bool add_bias;
};

HWY_INLINE void finish(Row& row, const Finish& f) {
  if (!f.last) return;
  if (f.add_bias) row = {hn::Add(row.a, f.bias.a), hn::Add(row.b, f.bias.b)};
  row = {clamped(row.a, f.lo, f.hi), clamped(row.b, f.lo, f.hi)};
}

// A full tile: y and bias hold all its columns.
template <int kRows, bool kHalf>
void full_tile(const FloatTile& t) {
  const Tag d;
  const Row zero{hn::Zero(d), hn::Zero(d)};
  const size_t width = 2 * hn::Lanes(d);
  float* y = t.y;
  const int64_t ys = t.y_stride;
  Row s0 = t.first ? zero : load_row<kHalf>(y);
  Row s1 = t.first || kRows < 2 ? zero : load_row<kHalf>(y + ys);
  Row s2 = t.first || kRows < 3 ? zero : load_row<kHalf>(y + 2 * ys);
  Row s3 = t.first || kRows < 4 ? zero : load_row<kHalf>(y + 3 * ys);
  Row s4 = t.first || kRows < 5 ? zero : load_row<kHalf>(y + 4 * ys);
  Row s5 = t.first || kRows < 6 ? zero : load_row<kHalf>(y + 5 * ys);
  const float* x0 = t.x[0] + t.offset;
  const float* x1 = kRows > 1 ? t.x[1] + t.offset : x0;
  const float* x2 = kRows > 2 ? t.x[2] + t.offset : x0;
  const float* x3 = kRows > 3 ? t.x[3] + t.offset : x0;
  const float* x4 = kRows > 4 ? t.x[4] + t.offset : x0;
  const float* x5 = kRows > 5 ? t.x[5] + t.offset : x0;
  const float* w = t.w;
  for (int64_t segment = 0; segment < t.segments; ++segment) {
    const int64_t end = t.runs[segment] + t.k;
    for (int64_t i = t.runs[segment]; i < end; ++i) {
      const Row ws = load_row<kHalf>(w);
      add<kHalf>(s0, x0 + i, ws);
      if constexpr (kRows > 1) add<kHalf>(s1, x1 + i, ws);
      if constexpr (kRows > 2) add<kHalf>(s2, x2 + i, ws);
      if constexpr (kRows > 3) add<kHalf>(s3, x3 + i, ws);
      if constexpr (kRows > 4) add<kHalf>(s4, x4 + i, ws);
      if constexpr (kRows > 5) add<kHalf>(s5, x5 + i, ws);
      w += width;
    }
  }
  const bool add_bias = t.bias != nullptr;
  const Finish f{t.last, t.last && add_bias ? load_row<kHalf>(t.bias) : zero, hn::Set(d, t.lo),
                 hn::Set(d, t.hi), add_bias};
  finish(s0, f);
  store_row<kHalf>(s0, y);
  if constexpr (kRows > 1) finish(s1, f), store_row<kHalf>(s1, y + ys);
  if constexpr (kRows > 2) finish(s2, f), store_row<kHalf>(s2, y + 2 * ys);
  if constexpr (kRows > 3) finish(s3, f), store_row<kHalf>(s3, y + 3 * ys);
  if constexpr (kRows > 4) finish(s4, f), store_row<kHalf>(s4, y + 4 * ys);
  if constexpr (kRows > 5) finish(s5, f), store_row<kHalf>(s5, y + 5 * ys);
}

template <bool kHalf>
void full_tile_rows(const FloatTile& t) {
  switch (t.rows) {
  case 1:
    return full_tile<1, kHalf>(t);
  case 2:
    return full_tile<2, kHalf>(t);
  case 3:
    return full_tile<3, kHalf>(t);
  case 4:
    return full_tile<4, kHalf>(t);
  case 5:
    return full_tile<5, kHalf>(t);
  default:
    return full_tile<6, kHalf>(t);
  }
}

#if HWY_TARGET == HWY_AVX3
HWY_INLINE void copy_some(const float* from, float* to, int64_t count) {
  const Tag d;
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  hn::BlendedStore(hn::MaskedLoad(mask, d, from), mask, d, to);
}
#else
HWY_INLINE void copy_some(const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = from[i];
  }
}
#endif

HWY_INLINE void copy_columns(const float* from, float* to, int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag()));
  copy_some(from, to, count < lanes ? count : lanes);
  if (count > lanes) copy_some(from + lanes, to + lanes, count - lanes);
}

// Fewer columns: the same arithmetic on a copy, so that nothing is read or written past them.
template <bool kHalf>
void partial_tile(const FloatTile& t, int64_t width) {
  HWY_ALIGN float y[kFloatTileRows * kMaxFloatWidth];
  HWY_ALIGN float bias[kMaxFloatWidth] = {};
  FloatTile copy = t;
  copy.columns = width;
  copy.y = y;
  copy.y_stride = width;
  if (t.bias != nullptr) {
    copy_columns(t.bias, bias, t.columns);
    copy.bias = bias;
  }
  for (int64_t r = 0; r < t.rows && !t.first; ++r) {
    std::memset(y + r * width, 0, static_cast<size_t>(width) * sizeof(float));
    copy_columns(t.y + r * t.y_stride, y + r * width, t.columns);
  }
  full_tile_rows<kHalf>(copy);
  for (int64_t r = 0; r < t.rows; ++r) {
    copy_columns(y + r * width, t.y + r * t.y_stride, t.columns);
  }
}

} // namespace

void float_tile(const FloatTile& t) {
  const auto half = static_cast<int64_t>(hn::Lanes(Tag()));
  if (t.columns == 2 * half) return full_tile_rows<false>(t);
  if (t.columns == half) return full_tile_rows<true>(t);
  if (t.columns < half) return partial_tile<true>(t, half);
  partial_tile<false>(t, 2 * half);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace octet::kernels {
#if defined(__x86_64__)
void float_tile_avx2(const FloatTile& tile) {
  N_AVX2::float_tile(tile);
}
void float_tile_avx512(const FloatTile& tile) {
  N_AVX3::float_tile(tile);
}
#endif
} // namespace octet::kernels
#endif
