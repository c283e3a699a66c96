// SPDX-License-Identifier: Apache-2.0
// Vector tile of the float product: 6 rows x 2 vectors, one accumulator each, named so that they
// stay in registers. Bit for bit sgemm_scalar.cc: lanes are columns, so each keeps its own chain
// over k.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/sgemm_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/sgemm_tile.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

struct Row {
  Vec a, b;
};

HWY_INLINE Row load_row(const float* p) {
  const Tag d;
  return {hn::LoadU(d, p), hn::LoadU(d, p + hn::Lanes(d))};
}

HWY_INLINE void store_row(const Row& row, float* p) {
  const Tag d;
  hn::StoreU(row.a, d, p);
  hn::StoreU(row.b, d, p + hn::Lanes(d));
}

HWY_INLINE void add(Row& acc, const float* x, const Row& w) {
  const Tag d;
  const Vec v = hn::Set(d, *x);
  acc.a = hn::MulAdd(v, w.a, acc.a);
  acc.b = hn::MulAdd(v, w.b, acc.b);
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

// A full tile: y and bias hold 2 vectors of columns.
template <int kRows>
void full_tile(const FloatTile& t) {
  const Tag d;
  const Row zero{hn::Zero(d), hn::Zero(d)};
  const size_t width = 2 * hn::Lanes(d);
  float* y = t.y;
  const int64_t ys = t.y_stride;
  const int64_t xs = t.x_stride;
  Row s0 = t.first ? zero : load_row(y);
  Row s1 = t.first || kRows < 2 ? zero : load_row(y + ys);
  Row s2 = t.first || kRows < 3 ? zero : load_row(y + 2 * ys);
  Row s3 = t.first || kRows < 4 ? zero : load_row(y + 3 * ys);
  Row s4 = t.first || kRows < 5 ? zero : load_row(y + 4 * ys);
  Row s5 = t.first || kRows < 6 ? zero : load_row(y + 5 * ys);
  const float* w = t.w;
  const float* x = t.x;
  const float* x3 = t.x + 3 * xs;
  for (int64_t i = 0; i < t.k; ++i) {
    const Row ws = load_row(w);
    add(s0, x, ws);
    if constexpr (kRows > 1) add(s1, x + xs, ws);
    if constexpr (kRows > 2) add(s2, x + 2 * xs, ws);
    if constexpr (kRows > 3) add(s3, x3, ws);
    if constexpr (kRows > 4) add(s4, x3 + xs, ws);
    if constexpr (kRows > 5) add(s5, x3 + 2 * xs, ws);
    w += width;
    ++x;
    ++x3;
  }
  const bool add_bias = t.bias != nullptr;
  const Finish f{t.last, t.last && add_bias ? load_row(t.bias) : zero, hn::Set(d, t.lo),
                 hn::Set(d, t.hi), add_bias};
  finish(s0, f);
  store_row(s0, y);
  if constexpr (kRows > 1) finish(s1, f), store_row(s1, y + ys);
  if constexpr (kRows > 2) finish(s2, f), store_row(s2, y + 2 * ys);
  if constexpr (kRows > 3) finish(s3, f), store_row(s3, y + 3 * ys);
  if constexpr (kRows > 4) finish(s4, f), store_row(s4, y + 4 * ys);
  if constexpr (kRows > 5) finish(s5, f), store_row(s5, y + 5 * ys);
}

void full_tile_rows(const FloatTile& t) {
  switch (t.rows) {
  case 1:
    return full_tile<1>(t);
  case 2:
    return full_tile<2>(t);
  case 3:
    return full_tile<3>(t);
  case 4:
    return full_tile<4>(t);
  case 5:
    return full_tile<5>(t);
  default:
    return full_tile<6>(t);
  }
}

} // namespace

void float_tile(const FloatTile& t) {
  const auto width = static_cast<int64_t>(2 * hn::Lanes(Tag()));
  if (t.columns == width) return full_tile_rows(t);
  // Fewer columns: the same arithmetic on a copy, so that nothing is read or written past them.
  HWY_ALIGN float y[kFloatTileRows * kMaxFloatWidth] = {};
  HWY_ALIGN float bias[kMaxFloatWidth] = {};
  FloatTile copy = t;
  copy.columns = width;
  copy.y = y;
  copy.y_stride = width;
  if (t.bias != nullptr) copy.bias = bias;
  for (int64_t c = 0; c < t.columns; ++c) {
    if (t.bias != nullptr) bias[c] = t.bias[c];
    for (int64_t r = 0; r < t.rows && !t.first; ++r) {
      y[r * width + c] = t.y[r * t.y_stride + c];
    }
  }
  full_tile_rows(copy);
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t c = 0; c < t.columns; ++c) {
      t.y[r * t.y_stride + c] = y[r * width + c];
    }
  }
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
