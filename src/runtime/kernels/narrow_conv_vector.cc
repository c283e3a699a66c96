// SPDX-License-Identifier: Apache-2.0
// Vector form of the convolution of narrow groups: 6 pixels of a line by one vector of output
// channels, one named accumulator each so that they stay in registers. Bit for bit
// narrow_line_scalar.
// clang-format off: foreach_target.h re-includes this file for each target, before anything else.
#include "runtime/kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/narrow_conv_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "runtime/kernels/narrow_conv.h"
#include "runtime/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace octet::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
namespace {

constexpr auto kWidth = static_cast<int64_t>(kLanesF);
constexpr int kPixels = 6;

// Whether lanes read their own channel of x: groups of one channel and one output.
enum class Lanes { kOwn, kPicked };
// Whether whole vectors may be read and written.
enum class Edge { kNone, kMasked };

using Mask = hn::Mask<F32>;

// Neighbouring pixels of y that have the same taps, and their panel.
struct Tile {
  const NarrowLine* line;
  const float* x; ///< tap (0, 0) of the first pixel, first channel of the panel
  int64_t step;   ///< elements of x from pixel to pixel
  Range taps_w;
  const float* w;
  const float* bias; ///< null, or of the panel
  float* y;
  Mask in, out; ///< lanes that may be read and that are written
};

template <Edge kEdge>
HWY_INLINE VecF load(const float* p, Mask mask) {
  return kEdge == Edge::kNone ? hn::LoadU(F32(), p) : hn::MaskedLoad(mask, F32(), p);
}

template <Edge kEdge>
HWY_INLINE void finish(const Tile& t, VecF sum, VecF bias, float* y) {
  if (t.bias != nullptr) sum = hn::Add(sum, bias);
  sum = at_most(at_least(sum, splat(t.line->epilogue.lo)), splat(t.line->epilogue.hi));
  if constexpr (kEdge == Edge::kNone)
    hn::StoreU(sum, F32(), y);
  else
    hn::BlendedStore(sum, t.out, F32(), y);
}

template <int kCount, Lanes kLanes, Edge kEdge>
void run_tile(const Tile& t) {
  const ConvShape& s = *t.line->shape;
  const int64_t in = kLanes == Lanes::kOwn ? 1 : s.group_in();
  const auto* index = t.line->w->index.as<int32_t>();
  const int64_t step = t.step, next = s.dilation_w * t.line->pixel;
  VecF s0 = splat(0.0F), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
  for (int64_t i = t.line->taps_h.begin; i < t.line->taps_h.end; ++i) {
    const float* w = t.w + (i * s.kernel_w + t.taps_w.begin) * in * kWidth;
    const float* x = t.x + i * t.line->row + t.taps_w.begin * next;
    for (int64_t j = t.taps_w.begin; j < t.taps_w.end; ++j, x += next) {
      const VecF x0 = load<kEdge>(x, t.in);
      const VecF x1 = kCount > 1 ? load<kEdge>(x + step, t.in) : x0;
      const VecF x2 = kCount > 2 ? load<kEdge>(x + 2 * step, t.in) : x0;
      const VecF x3 = kCount > 3 ? load<kEdge>(x + 3 * step, t.in) : x0;
      const VecF x4 = kCount > 4 ? load<kEdge>(x + 4 * step, t.in) : x0;
      const VecF x5 = kCount > 5 ? load<kEdge>(x + 5 * step, t.in) : x0;
      if constexpr (kLanes == Lanes::kOwn) {
        const VecF ws = hn::Load(F32(), w);
        s0 = hn::MulAdd(x0, ws, s0);
        if constexpr (kCount > 1) s1 = hn::MulAdd(x1, ws, s1);
        if constexpr (kCount > 2) s2 = hn::MulAdd(x2, ws, s2);
        if constexpr (kCount > 3) s3 = hn::MulAdd(x3, ws, s3);
        if constexpr (kCount > 4) s4 = hn::MulAdd(x4, ws, s4);
        if constexpr (kCount > 5) s5 = hn::MulAdd(x5, ws, s5);
        w += kWidth;
      } else {
        for (int64_t k = 0; k < in; ++k, w += kWidth) {
          const VecF ws = hn::Load(F32(), w);
          const auto pick = hn::SetTableIndices(F32(), index + k * kWidth);
          s0 = hn::MulAdd(hn::TableLookupLanes(x0, pick), ws, s0);
          if constexpr (kCount > 1) s1 = hn::MulAdd(hn::TableLookupLanes(x1, pick), ws, s1);
          if constexpr (kCount > 2) s2 = hn::MulAdd(hn::TableLookupLanes(x2, pick), ws, s2);
          if constexpr (kCount > 3) s3 = hn::MulAdd(hn::TableLookupLanes(x3, pick), ws, s3);
          if constexpr (kCount > 4) s4 = hn::MulAdd(hn::TableLookupLanes(x4, pick), ws, s4);
          if constexpr (kCount > 5) s5 = hn::MulAdd(hn::TableLookupLanes(x5, pick), ws, s5);
        }
      }
    }
  }
  const VecF bias = t.bias != nullptr ? load<kEdge>(t.bias, t.out) : splat(0.0F);
  finish<kEdge>(t, s0, bias, t.y);
  if constexpr (kCount > 1) finish<kEdge>(t, s1, bias, t.y + s.out_c);
  if constexpr (kCount > 2) finish<kEdge>(t, s2, bias, t.y + 2 * s.out_c);
  if constexpr (kCount > 3) finish<kEdge>(t, s3, bias, t.y + 3 * s.out_c);
  if constexpr (kCount > 4) finish<kEdge>(t, s4, bias, t.y + 4 * s.out_c);
  if constexpr (kCount > 5) finish<kEdge>(t, s5, bias, t.y + 5 * s.out_c);
}

// All panels of pixels [column, column + kCount), whose taps `taps` are.
template <int kCount, Lanes kLanes>
void run_pixels(const NarrowLine& line, int64_t column, Range taps) {
  const ConvShape& s = *line.shape;
  const NarrowWeights& w = *line.w;
  Tile tile;
  tile.line = &line;
  tile.step = s.stride_w * line.pixel;
  tile.taps_w = taps;
  const int64_t first = line.panels.begin * w.outputs;
  tile.x = line.x + (column * s.stride_w - s.pad_left) * line.pixel;
  tile.w = w.data.as<float>() + line.panels.begin * s.k() * kWidth;
  tile.bias = line.epilogue.bias == nullptr ? nullptr : line.epilogue.bias + first;
  tile.y = line.y + column * s.out_c + first;
  int64_t readable = line.readable, left = s.out_c - first;
  for (int64_t p = line.panels.begin; p < line.panels.end; ++p) {
    if (readable >= kWidth && left >= kWidth && w.outputs == kWidth) {
      run_tile<kCount, kLanes, Edge::kNone>(tile);
    } else {
      tile.in = hn::FirstN(F32(), static_cast<size_t>(std::min(readable, w.inputs)));
      tile.out = hn::FirstN(F32(), static_cast<size_t>(std::min(left, w.outputs)));
      run_tile<kCount, kLanes, Edge::kMasked>(tile);
    }
    tile.x += w.inputs;
    tile.w += s.k() * kWidth;
    if (tile.bias != nullptr) tile.bias += w.outputs;
    tile.y += w.outputs;
    readable -= w.inputs;
    left -= w.outputs;
  }
}

template <Lanes kLanes>
void run_some(const NarrowLine& line, int64_t column, int64_t count, Range taps) {
  switch (count) {
  case 1:
    return run_pixels<1, kLanes>(line, column, taps);
  case 2:
    return run_pixels<2, kLanes>(line, column, taps);
  case 3:
    return run_pixels<3, kLanes>(line, column, taps);
  case 4:
    return run_pixels<4, kLanes>(line, column, taps);
  case 5:
    return run_pixels<5, kLanes>(line, column, taps);
  default:
    return run_pixels<6, kLanes>(line, column, taps);
  }
}

template <Lanes kLanes>
void run_line(const NarrowLine& line) {
  const ConvShape& s = *line.shape;
  const auto taps_at = [&s](int64_t column) {
    return taps_inside(column, s.stride_w, s.pad_left, s.dilation_w, s.kernel_w, s.in_w);
  };
  for (int64_t column = 0; column < s.out_w;) {
    const Range taps = taps_at(column);
    int64_t count = 1;
    for (; count < kPixels && column + count < s.out_w; ++count) {
      const Range other = taps_at(column + count);
      if (other.begin != taps.begin || other.end != taps.end) break;
    }
    run_some<kLanes>(line, column, count, taps);
    column += count;
  }
}

} // namespace

void narrow_line(const NarrowLine& line) {
  const bool own = line.shape->group_in() == 1 && line.shape->group_out() == 1;
  own ? run_line<Lanes::kOwn>(line) : run_line<Lanes::kPicked>(line);
}
#endif
} // namespace octet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && defined(__x86_64__)
namespace octet::kernels {
void narrow_line_avx2(const NarrowLine& line) {
  N_AVX2::narrow_line(line);
}
void narrow_line_avx512(const NarrowLine& line) {
  N_AVX3::narrow_line(line);
}
} // namespace octet::kernels
#endif
