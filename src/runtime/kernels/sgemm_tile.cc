// SPDX-License-Identifier: Apache-2.0
// Vector tile of the float product: 6 rows x 2 vectors (or 1; for few rows more panels at a time),
// one accumulator each, named so that they stay in registers. Bit for bit sgemm_scalar.cc: lanes are
// columns, so each keeps its own chain over k.
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

// One row of a tile: two vectors of columns, or the first of them.
struct Row {
  Vec a, b;
};

template <bool kHalf>
HWY_INLINE Row load_row(const float* p) {
  const Tag d;
  return {hn::LoadU(d, p), kHalf ? hn::Zero(d) : hn::LoadU(d, p + (kHalf ? 0 : hn::Lanes(d)))};
}

// Which columns of a tile's last vector are there: only those are read from y and bias, and written.
template <bool kHalf, bool kWhole>
struct Columns {
  hn::Mask<Tag> last;

  HWY_INLINE Row load(const float* p) const {
    const Tag d;
    if constexpr (kWhole) return load_row<kHalf>(p);
    if constexpr (kHalf) return {hn::MaskedLoad(last, d, p), hn::Zero(d)};
    return {hn::LoadU(d, p), hn::MaskedLoad(last, d, p + hn::Lanes(d))};
  }
  HWY_INLINE void store(const Row& row, float* p) const {
    const Tag d;
    if constexpr (kHalf && !kWhole) {
      hn::BlendedStore(row.a, last, d, p);
      return;
    }
    hn::StoreU(row.a, d, p);
    if constexpr (kHalf) return;
    if constexpr (kWhole)
      hn::StoreU(row.b, d, p + hn::Lanes(d));
    else
      hn::BlendedStore(row.b, last, d, p + hn::Lanes(d));
  }
};

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

// A row of a whole panel, with the bias at its first column.
HWY_INLINE void store_finished(const FloatTile& t, Row row, float* y, const float* bias) {
  const Tag d;
  const bool add_bias = bias != nullptr;
  const Row zero{hn::Zero(d), hn::Zero(d)};
  finish(row, {t.last, t.last && add_bias ? load_row<false>(bias) : zero, hn::Set(d, t.lo),
               hn::Set(d, t.hi), add_bias});
  hn::StoreU(row.a, d, y);
  hn::StoreU(row.b, d, y + hn::Lanes(d));
}

template <int kRows, bool kHalf, bool kWhole>
void run_tile(const FloatTile& t) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto in_last = static_cast<size_t>(kHalf ? t.columns : t.columns - lanes);
  const Columns<kHalf, kWhole> columns{hn::FirstN(d, in_last)};
  const Row zero{hn::Zero(d), hn::Zero(d)};
  float* y = t.y;
  const int64_t ys = t.y_stride;
  Row s0 = t.first ? zero : columns.load(y);
  Row s1 = t.first || kRows < 2 ? zero : columns.load(y + ys);
  Row s2 = t.first || kRows < 3 ? zero : columns.load(y + 2 * ys);
  Row s3 = t.first || kRows < 4 ? zero : columns.load(y + 3 * ys);
  Row s4 = t.first || kRows < 5 ? zero : columns.load(y + 4 * ys);
  Row s5 = t.first || kRows < 6 ? zero : columns.load(y + 5 * ys);
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
      w += t.w_pitch;
    }
  }
  const bool add_bias = t.bias != nullptr;
  const Finish f{t.last, t.last && add_bias ? columns.load(t.bias) : zero, hn::Set(d, t.lo),
                 hn::Set(d, t.hi), add_bias};
  finish(s0, f);
  columns.store(s0, y);
  if constexpr (kRows > 1) finish(s1, f), columns.store(s1, y + ys);
  if constexpr (kRows > 2) finish(s2, f), columns.store(s2, y + 2 * ys);
  if constexpr (kRows > 3) finish(s3, f), columns.store(s3, y + 3 * ys);
  if constexpr (kRows > 4) finish(s4, f), columns.store(s4, y + 4 * ys);
  if constexpr (kRows > 5) finish(s5, f), columns.store(s5, y + 5 * ys);
}

template <bool kHalf, bool kWhole>
void run_tile_rows(const FloatTile& t) {
  switch (t.rows) {
  case 1:
    return run_tile<1, kHalf, kWhole>(t);
  case 2:
    return run_tile<2, kHalf, kWhole>(t);
  case 3:
    return run_tile<3, kHalf, kWhole>(t);
  case 4:
    return run_tile<4, kHalf, kWhole>(t);
  case 5:
    return run_tile<5, kHalf, kWhole>(t);
  default:
    return run_tile<6, kHalf, kWhole>(t);
  }
}

// One row times four panels.
void one_row(const FloatTile& t) {
  const Tag d;
  const size_t width = 2 * hn::Lanes(d);
  const Row zero{hn::Zero(d), hn::Zero(d)};
  float* y = t.y;
  Row s0 = t.first ? zero : load_row<false>(y);
  Row s1 = t.first ? zero : load_row<false>(y + width);
  Row s2 = t.first ? zero : load_row<false>(y + 2 * width);
  Row s3 = t.first ? zero : load_row<false>(y + 3 * width);
  const float* x = t.x[0] + t.offset;
  const float* w0 = t.w;
  const float* w1 = w0 + t.panel_stride;
  const float* w2 = w1 + t.panel_stride;
  const float* w3 = w2 + t.panel_stride;
  const auto pitch = static_cast<size_t>(t.w_pitch);
  size_t at = 0;
  for (int64_t segment = 0; segment < t.segments; ++segment) {
    const int64_t end = t.runs[segment] + t.k;
    for (int64_t i = t.runs[segment]; i < end; ++i) {
      add<false>(s0, x + i, load_row<false>(w0 + at));
      add<false>(s1, x + i, load_row<false>(w1 + at));
      add<false>(s2, x + i, load_row<false>(w2 + at));
      add<false>(s3, x + i, load_row<false>(w3 + at));
      at += pitch;
    }
  }
  store_finished(t, s0, y, t.bias);
  const float* bias = t.bias;
  store_finished(t, s1, y + width, bias == nullptr ? bias : bias + width);
  store_finished(t, s2, y + 2 * width, bias == nullptr ? bias : bias + 2 * width);
  store_finished(t, s3, y + 3 * width, bias == nullptr ? bias : bias + 3 * width);
}

// Two rows times two panels.
void two_rows(const FloatTile& t) {
  const Tag d;
  const size_t width = 2 * hn::Lanes(d);
  const Row zero{hn::Zero(d), hn::Zero(d)};
  float* y0 = t.y;
  float* y1 = t.y + t.y_stride;
  Row s00 = t.first ? zero : load_row<false>(y0);
  Row s01 = t.first ? zero : load_row<false>(y0 + width);
  Row s10 = t.first ? zero : load_row<false>(y1);
  Row s11 = t.first ? zero : load_row<false>(y1 + width);
  const float* x0 = t.x[0] + t.offset;
  const float* x1 = t.x[1] + t.offset;
  const float* w0 = t.w;
  const float* w1 = w0 + t.panel_stride;
  const auto pitch = static_cast<size_t>(t.w_pitch);
  size_t at = 0;
  for (int64_t segment = 0; segment < t.segments; ++segment) {
    const int64_t end = t.runs[segment] + t.k;
    for (int64_t i = t.runs[segment]; i < end; ++i) {
      const Row a = load_row<false>(w0 + at);
      const Row b = load_row<false>(w1 + at);
      add<false>(s00, x0 + i, a);
      add<false>(s01, x0 + i, b);
      add<false>(s10, x1 + i, a);
      add<false>(s11, x1 + i, b);
      at += pitch;
    }
  }
  const float* bias = t.bias;
  const float* next = bias == nullptr ? bias : bias + width;
  store_finished(t, s00, y0, bias);
  store_finished(t, s01, y0 + width, next);
  store_finished(t, s10, y1, bias);
  store_finished(t, s11, y1 + width, next);
}

} // namespace

void float_rows(const FloatTile& t) {
  return t.rows == 1 ? one_row(t) : two_rows(t);
}

void float_tile(const FloatTile& t) {
  const auto half = static_cast<int64_t>(hn::Lanes(Tag()));
  if (t.columns == 2 * half) return run_tile_rows<false, true>(t);
  if (t.columns == half) return run_tile_rows<true, true>(t);
  if (t.columns < half) return run_tile_rows<true, false>(t);
  run_tile_rows<false, false>(t);
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
void float_rows_avx2(const FloatTile& tile) {
  N_AVX2::float_rows(tile);
}
void float_rows_avx512(const FloatTile& tile) {
  N_AVX3::float_rows(tile);
}
#endif
} // namespace octet::kernels
#endif
