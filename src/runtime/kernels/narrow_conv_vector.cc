// SPDX-License-Identifier: Apache-2.0
// Vector form of the convolution of narrow groups: a few pixels of a line by one vector of output
// channels, one accumulator each. Windows of depthwise layers that are 3, 5 or 7 wide slide over a
// line, which loads each pixel once. Bit for bit narrow_line_scalar.
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

// Neighbouring pixels of y and a panel of them.
struct Tile {
  const NarrowLine* line;
  const float* x; ///< tap (0, 0) of the first pixel, first channel of the panel
  int64_t step;   ///< elements of x from pixel to pixel
  Range taps_w;   ///< columns of the window inside the image, the same for all pixels
  const float* w;
  const float* bias; ///< null, or of the panel
  float* y;
  Mask in, out; ///< lanes that may be read and that are written
};

template <Edge kEdge>
HWY_INLINE VecF load(const float* p, Mask mask) {
  return kEdge == Edge::kNone ? hn::LoadU(F32(), p) : hn::MaskedLoad(mask, F32(), p);
}

// What follows the sums of a tile.
struct Finish {
  VecF bias, lo, hi;
};

template <Edge kEdge>
HWY_INLINE Finish finish_of(const Tile& t) {
  const FloatEpilogue& e = t.line->epilogue;
  // Adding -0 changes nothing, not even the sign of a 0.
  const VecF bias = t.bias == nullptr ? splat(-0.0F) : load<kEdge>(t.bias, t.out);
  return {bias, splat(e.lo), splat(e.hi)};
}

template <Edge kEdge>
HWY_INLINE void finish(const Tile& t, const Finish& f, VecF sum, float* y) {
  sum = at_most(at_least(hn::Add(sum, f.bias), f.lo), f.hi);
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
  const int64_t step = t.step, next = s.dilation_w * s.in_c;
  VecF s0 = splat(0.0F), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
  for (int64_t i = t.line->taps_h.begin; i < t.line->taps_h.end; ++i) {
    const float* w = t.w + (i * s.kernel_w + t.taps_w.begin) * in * kWidth;
    const float* x = t.x + i * t.line->row() + t.taps_w.begin * next;
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
  const Finish f = finish_of<kEdge>(t);
  const int64_t pixel = s.out_c;
  finish<kEdge>(t, f, s0, t.y);
  if constexpr (kCount > 1) finish<kEdge>(t, f, s1, t.y + pixel);
  if constexpr (kCount > 2) finish<kEdge>(t, f, s2, t.y + 2 * pixel);
  if constexpr (kCount > 3) finish<kEdge>(t, f, s3, t.y + 3 * pixel);
  if constexpr (kCount > 4) finish<kEdge>(t, f, s4, t.y + 4 * pixel);
  if constexpr (kCount > 5) finish<kEdge>(t, f, s5, t.y + 5 * pixel);
}

// Calls run(tile, edge) for each panel of some pixels of y, the first of which is `column`; tap 0
// lies at column `first` of x, neighbouring pixels of the tile `step` elements apart.
template <typename Run>
HWY_INLINE void each_panel(
    const NarrowLine& line, int64_t column, int64_t first, int64_t step, Range taps, Run&& run) {
  const ConvShape& s = *line.shape;
  const NarrowWeights& w = *line.w;
  const int64_t channel = line.panels.begin * w.outputs;
  Tile tile;
  tile.line = &line;
  tile.step = step;
  tile.taps_w = taps;
  tile.x = line.x + first * s.in_c;
  tile.w = w.data.as<float>() + line.panels.begin * s.k() * kWidth;
  tile.bias = line.epilogue.bias == nullptr ? nullptr : line.epilogue.bias + channel;
  tile.y = line.y + column * s.out_c + channel;
  int64_t readable = s.in_c - line.panels.begin * w.inputs, left = s.out_c - channel;
  for (int64_t p = line.panels.begin; p < line.panels.end; ++p) {
    if (readable >= kWidth && left >= kWidth && w.outputs == kWidth) {
      run(tile, Edge::kNone);
    } else {
      tile.in = hn::FirstN(F32(), static_cast<size_t>(std::min(readable, w.inputs)));
      tile.out = hn::FirstN(F32(), static_cast<size_t>(std::min(left, w.outputs)));
      run(tile, Edge::kMasked);
    }
    tile.x += w.inputs;
    tile.w += s.k() * kWidth;
    if (tile.bias != nullptr) tile.bias += w.outputs;
    tile.y += w.outputs;
    readable -= w.inputs;
    left -= w.outputs;
  }
}

// Pixels [column, column + kCount), whose taps `taps` are.
template <int kCount, Lanes kLanes>
void run_pixels(const NarrowLine& line, int64_t column, Range taps) {
  const ConvShape& s = *line.shape;
  each_panel(line, column, column * s.stride_w - s.pad_left, s.stride_w * s.in_c, taps,
             [](const Tile& t, Edge edge) HWY_ATTR {
               edge == Edge::kNone ? run_tile<kCount, kLanes, Edge::kNone>(t)
                                   : run_tile<kCount, kLanes, Edge::kMasked>(t);
             });
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

// Pixels [column, end), those with the same taps together.
template <Lanes kLanes>
void run_line(const NarrowLine& line, int64_t column, int64_t end) {
  const ConvShape& s = *line.shape;
  const auto taps_at = [&s](int64_t at) {
    return taps_inside(at, s.stride_w, s.pad_left, s.dilation_w, s.kernel_w, s.in_w);
  };
  while (column < end) {
    const Range taps = taps_at(column);
    int64_t count = 1;
    for (; count < kPixels && column + count < end; ++count) {
      const Range other = taps_at(column + count);
      if (other.begin != taps.begin || other.end != taps.end) break;
    }
    run_some<kLanes>(line, column, count, taps);
    column += count;
  }
}

// Neighbouring pixels whose windows slide. ImageNet's sizes are multiples of 7.
constexpr int kSliding = 7;

template <int kWindow, int kStride>
constexpr int kSpan = (kSliding - 1) * kStride + kWindow;

// Pixel kAt of x under the windows, times the weight of tap kTap and of those before.
template <int kWindow, int kStride, int kAt, int kTap>
HWY_INLINE void add_taps(VecF (&sums)[kSliding], const VecF (&w)[kWindow], VecF x) {
  // Each sum meets its taps in order, for kAt goes up.
  if constexpr ((kAt - kTap) % kStride == 0 && kAt >= kTap && (kAt - kTap) / kStride < kSliding) {
    VecF& sum = sums[(kAt - kTap) / kStride];
    sum = hn::MulAdd(x, w[kTap], sum);
  }
  if constexpr (kTap > 0) add_taps<kWindow, kStride, kAt, kTap - 1>(sums, w, x);
}

template <int kWindow, int kTap>
HWY_INLINE void load_weights(const float* p, VecF (&w)[kWindow]) {
  w[kTap] = hn::Load(F32(), p + kTap * kWidth);
  if constexpr (kTap + 1 < kWindow) load_weights<kWindow, kTap + 1>(p, w);
}

template <int kWindow, int kStride, Edge kEdge, bool kInside, int kAt>
HWY_INLINE void
slide(const Tile& t, const float* x, VecF (&sums)[kSliding], const VecF (&w)[kWindow]) {
  if (kInside || (kAt >= t.taps_w.begin && kAt < t.taps_w.end))
    add_taps<kWindow, kStride, kAt, kWindow - 1>(sums, w, load<kEdge>(x, t.in));
  if constexpr (kAt + 1 < kSpan<kWindow, kStride>)
    slide<kWindow, kStride, kEdge, kInside, kAt + 1>(t, x + t.step, sums, w);
}

template <Edge kEdge, int kAt>
HWY_INLINE void finish_sliding(
    const Tile& t, const Finish& f, const VecF (&sums)[kSliding], float* y, int64_t pixel) {
  finish<kEdge>(t, f, sums[kAt], y);
  if constexpr (kAt + 1 < kSliding) finish_sliding<kEdge, kAt + 1>(t, f, sums, y + pixel, pixel);
}

// `t.taps_w` are the pixels of x under the tile that lie inside the image, `t.step` leads from one
// to the next.
template <int kWindow, int kStride, Edge kEdge, bool kInside>
void run_sliding_tile(const Tile& t) {
  const VecF zero = splat(0.0F);
  VecF sums[kSliding] = {zero, zero, zero, zero, zero, zero, zero};
  const Range rows = t.line->taps_h;
  const int64_t row = t.line->row();
  const float* x = t.x + rows.begin * row;
  for (int64_t i = rows.begin; i < rows.end; ++i, x += row) {
    VecF w[kWindow];
    load_weights<kWindow, 0>(t.w + i * kWindow * kWidth, w);
    slide<kWindow, kStride, kEdge, kInside, 0>(t, x, sums, w);
  }
  finish_sliding<kEdge, 0>(t, finish_of<kEdge>(t), sums, t.y, t.line->shape->out_c);
}

template <int kWindow, int kStride>
void run_sliding(const NarrowLine& line) {
  const ConvShape& s = *line.shape;
  if (s.out_w < kSliding) return run_line<Lanes::kOwn>(line, 0, s.out_w);
  for (int64_t at = 0; at < s.out_w; at += kSliding) {
    // The last tile may run over pixels of the one before again.
    const int64_t column = std::min(at, s.out_w - kSliding);
    const int64_t first = column * kStride - s.pad_left;
    const Range inside{std::max<int64_t>(-first, 0), std::min<int64_t>(s.in_w - first, 1 << 20)};
    const bool whole = inside.begin == 0 && inside.end >= kSpan<kWindow, kStride>;
    each_panel(line, column, first, s.in_c, inside, [whole](const Tile& t, Edge edge) HWY_ATTR {
      if (edge == Edge::kNone)
        whole ? run_sliding_tile<kWindow, kStride, Edge::kNone, true>(t)
              : run_sliding_tile<kWindow, kStride, Edge::kNone, false>(t);
      else
        whole ? run_sliding_tile<kWindow, kStride, Edge::kMasked, true>(t)
              : run_sliding_tile<kWindow, kStride, Edge::kMasked, false>(t);
    });
  }
}

using LineFn = void (*)(const NarrowLine& line);

template <int kWindow>
LineFn sliding_of(int64_t stride) {
  if (stride == 1) return run_sliding<kWindow, 1>;
  return stride == 2 ? run_sliding<kWindow, 2> : nullptr;
}

// Null where windows do not slide.
LineFn sliding_of(const ConvShape& s) {
  if (s.dilation_w != 1) return nullptr;
  if (s.kernel_w == 3) return sliding_of<3>(s.stride_w);
  if (s.kernel_w == 5) return sliding_of<5>(s.stride_w);
  return s.kernel_w == 7 ? sliding_of<7>(s.stride_w) : nullptr;
}

} // namespace

void narrow_line(const NarrowLine& line) {
  const ConvShape& s = *line.shape;
  if (s.group_in() != 1 || s.group_out() != 1) return run_line<Lanes::kPicked>(line, 0, s.out_w);
  if (const LineFn sliding = sliding_of(s)) return sliding(line);
  run_line<Lanes::kOwn>(line, 0, s.out_w);
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
