// SPDX-License-Identifier: Apache-2.0
// Vector tile of the float product: 6 rows, or 12 where there are 32 registers, x 2 vectors (or 1; for few rows more
// panels at a time), one accumulator each. Bit for bit sgemm_scalar.cc: lanes are columns, so each keeps its own chain over k.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/sgemm_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <utility>

#include "runtime/kernels/sgemm_tile.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

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

// What follows the sums: nothing but for the last k.
struct Finish {
  Row bias;
  Vec lo, hi;
};

template <typename LoadBias>
HWY_INLINE Finish finish_of(const FloatTile& t, LoadBias&& load) {
  const Tag d;
  // Adding -0 changes nothing, not even the sign of a 0.
  const Vec none = hn::Set(d, -0.0F);
  const Row bias = t.last && t.bias != nullptr ? load(t.bias) : Row{none, none};
  const Vec infinity = hn::Inf(d);
  return {bias, t.last ? hn::Set(d, t.lo) : hn::Neg(infinity),
          t.last ? hn::Set(d, t.hi) : infinity};
}

HWY_INLINE void finish(Row& row, const Finish& f) {
  row = {at_most(at_least(hn::Add(row.a, f.bias.a), f.lo), f.hi),
         at_most(at_least(hn::Add(row.b, f.bias.b), f.lo), f.hi)};
}

// Two vectors of a row, `column` floats from its first.
HWY_INLINE void store_finished(const FloatTile& t, Row row, float* y, size_t column) {
  const Tag d;
  finish(row, finish_of(t, [column](const float* bias)
                               HWY_ATTR { return load_row<false>(bias + column); }));
  hn::StoreU(row.a, d, y + column);
  hn::StoreU(row.b, d, y + column + hn::Lanes(d));
}

// Sums, the weights of two steps and an element of x at once: 16 registers are too few for 6 rows.
template <size_t kRows, bool kHalf>
constexpr bool kTwoSteps = HWY_TARGET != HWY_AVX2 || kHalf || kRows < 6;

constexpr int64_t kCacheLine = 64;

HWY_INLINE const char* fetched(const char* ahead) {
  __builtin_prefetch(ahead, 0, 2);
  return ahead + kCacheLine;
}

// The rows of a tile: sums, and where a row of x starts. Packs of indices in place of loops, so that
// sums stay in registers.
template <size_t kRows, bool kHalf, bool kWhole>
struct Rows {
  Row sums[kRows];
  const float* x[kRows];

  template <size_t... r>
  HWY_INLINE void start(const FloatTile& t,
                        const float* const* starts,
                        const int64_t* places,
                        const Columns<kHalf, kWhole>& columns,
                        std::index_sequence<r...>) {
    const Tag d;
    const Row zero{hn::Zero(d), hn::Zero(d)};
    ((x[r] = starts[r] + t.offset), ...);
    if (t.first) {
      ((sums[r] = zero), ...);
    } else {
      ((sums[r] = columns.load(t.y + places[r])), ...);
    }
  }
  template <size_t... r>
  HWY_INLINE void add_one(int64_t i, const float* w, std::index_sequence<r...>) {
    const Row ws = load_row<kHalf>(w);
    (add<kHalf>(sums[r], x[r] + i, ws), ...);
  }
  // Two steps of the chain, so that a row's address is loaded once for both.
  template <size_t... r>
  HWY_INLINE void add_two(int64_t i, const float* w, int64_t pitch, std::index_sequence<r...>) {
    const Row first = load_row<kHalf>(w);
    const Row second = load_row<kHalf>(w + pitch);
    ((add<kHalf>(sums[r], x[r] + i, first), add<kHalf>(sums[r], x[r] + i + 1, second)), ...);
  }
  // Of a row's elements i to end; kFetch brings a line of `ahead` near at each turn of the loop.
  template <bool kFetch, size_t... r>
  HWY_INLINE const char* add_run(int64_t i,
                                 int64_t end,
                                 const float* w,
                                 int64_t pitch,
                                 const char* ahead,
                                 std::index_sequence<r...> each) {
    if constexpr (kTwoSteps<kRows, kHalf>) {
      for (; i + 2 <= end; i += 2, w += 2 * pitch) {
        add_two(i, w, pitch, each);
        if constexpr (kFetch) ahead = fetched(ahead);
      }
    }
    for (; i < end; ++i, w += pitch) {
      add_one(i, w, each);
      if constexpr (kFetch && !kTwoSteps<kRows, kHalf>) ahead = fetched(ahead);
    }
    return ahead;
  }
  template <size_t... r>
  HWY_INLINE void end(float* y,
                      const int64_t* places,
                      const Columns<kHalf, kWhole>& columns,
                      const Finish& f,
                      std::index_sequence<r...>) {
    ((finish(sums[r], f), columns.store(sums[r], y + places[r])), ...);
  }
};

template <size_t kRows, bool kHalf, bool kWhole>
void run_tile(const FloatTile& tile) {
  const FloatTile t = tile; // which writing to y leaves as it is
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto in_last = static_cast<size_t>(kHalf ? t.columns : t.columns - lanes);
  const Columns<kHalf, kWhole> columns{hn::FirstN(d, in_last)};
  constexpr std::make_index_sequence<kRows> each;
  const int64_t pitch = t.w_pitch;
  const float* const* x = t.x;
  const int64_t* places = t.places;
  // A line for each turn of the loop: as many as a turn multiplies in as many tiles.
  constexpr int64_t kSteps = kTwoSteps<kRows, kHalf> ? 2 : 1;
  const int64_t lines = kSteps * (kHalf ? 1 : 2) * lanes * int64_t{sizeof(float)} / kCacheLine;
  const char* ahead = reinterpret_cast<const char*>(t.ahead);
  for (int64_t left = t.tiles; left > 0; --left, x += kRows, places += kRows) {
    const bool fetches = t.ahead != nullptr && left < t.tiles && left >= t.tiles - lines;
    Rows<kRows, kHalf, kWhole> rows;
    rows.start(t, x, places, columns, each);
    for (int64_t segment = 0; segment < t.segments; ++segment) {
      int64_t i = t.runs[segment].x;
      const float* w = t.w + t.runs[segment].k * pitch;
      const int64_t end = i + t.k;
      if (fetches)
        ahead = rows.template add_run<true>(i, end, w, pitch, ahead, each);
      else
        rows.template add_run<false>(i, end, w, pitch, ahead, each);
    }
    const FloatTile* told = &tile;
    __asm__("" : "+r"(told)); // or what follows the sums would take registers from them
    const Finish f =
        finish_of(*told, [&columns](const float* bias) HWY_ATTR { return columns.load(bias); });
    rows.end(t.y, places, columns, f, each);
  }
}

constexpr size_t kMaxRows = HWY_TARGET == HWY_AVX2 ? 6 : 12; // as float_tile_kernels() says

template <bool kHalf, bool kWhole, size_t... r>
void run_tile_rows(const FloatTile& t, std::index_sequence<r...>) {
  static constexpr FloatTileFn kRuns[] = {run_tile<r + 1, kHalf, kWhole>...};
  kRuns[t.rows - 1](t);
}
template <bool kHalf, bool kWhole>
void run_tile_rows(const FloatTile& t) {
  run_tile_rows<kHalf, kWhole>(t, std::make_index_sequence<kMaxRows>());
}

// One row times four panels.
void one_row(const FloatTile& t) {
  const Tag d;
  const size_t width = 2 * hn::Lanes(d);
  const Row zero{hn::Zero(d), hn::Zero(d)};
  float* y = t.y + t.places[0];
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
  for (int64_t segment = 0; segment < t.segments; ++segment) {
    const FloatRun run = t.runs[segment];
    size_t at = static_cast<size_t>(run.k) * pitch;
    for (int64_t i = run.x; i < run.x + t.k; ++i) {
      add<false>(s0, x + i, load_row<false>(w0 + at));
      add<false>(s1, x + i, load_row<false>(w1 + at));
      add<false>(s2, x + i, load_row<false>(w2 + at));
      add<false>(s3, x + i, load_row<false>(w3 + at));
      at += pitch;
    }
  }
  store_finished(t, s0, y, 0);
  store_finished(t, s1, y, width);
  store_finished(t, s2, y, 2 * width);
  store_finished(t, s3, y, 3 * width);
}

// Two rows times two panels.
void two_rows(const FloatTile& t) {
  const Tag d;
  const size_t width = 2 * hn::Lanes(d);
  const Row zero{hn::Zero(d), hn::Zero(d)};
  float* y0 = t.y + t.places[0];
  float* y1 = t.y + t.places[1];
  Row s00 = t.first ? zero : load_row<false>(y0);
  Row s01 = t.first ? zero : load_row<false>(y0 + width);
  Row s10 = t.first ? zero : load_row<false>(y1);
  Row s11 = t.first ? zero : load_row<false>(y1 + width);
  const float* x0 = t.x[0] + t.offset;
  const float* x1 = t.x[1] + t.offset;
  const float* w0 = t.w;
  const float* w1 = w0 + t.panel_stride;
  const auto pitch = static_cast<size_t>(t.w_pitch);
  for (int64_t segment = 0; segment < t.segments; ++segment) {
    const FloatRun run = t.runs[segment];
    size_t at = static_cast<size_t>(run.k) * pitch;
    for (int64_t i = run.x; i < run.x + t.k; ++i) {
      const Row a = load_row<false>(w0 + at);
      const Row b = load_row<false>(w1 + at);
      add<false>(s00, x0 + i, a);
      add<false>(s01, x0 + i, b);
      add<false>(s10, x1 + i, a);
      add<false>(s11, x1 + i, b);
      at += pitch;
    }
  }
  store_finished(t, s00, y0, 0);
  store_finished(t, s01, y0, width);
  store_finished(t, s10, y1, 0);
  store_finished(t, s11, y1, width);
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
