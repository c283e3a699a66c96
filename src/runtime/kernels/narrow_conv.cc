// SPDX-License-Identifier: Apache-2.0
// Packing, cutting and scalar form of the convolution of narrow groups.
#include "runtime/kernels/narrow_conv.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/for_isa.h"
#include "core/numerics/round.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kNarrowProductsPerNs = 15.0;
// Weights of the panels that a line is run over stay in the first-level cache.
constexpr int64_t kWeightBytes = int64_t{16} << 10;
// Pixels of a multiple of so many channels share four sets of the first-level cache, or fewer.
constexpr int64_t kSharedChannels = 256;
// Lines of a slab that are copied together, in the second-level cache.
constexpr int64_t kSlabBytes = int64_t{128} << 10;
constexpr int64_t kSlabChannels = 64;

struct NarrowPlan {
  Blocks lines;        ///< of y, those of an image together
  Blocks panels;       ///< that a chunk runs over
  bool staged = false; ///< lines of x are copied first
  int64_t pixel = 0;   ///< elements between pixels where they lie
  int64_t size = 0;    ///< elements of the copied lines of a chunk
};

/// Lines of x under `lines` lines of y, without padding.
int64_t lines_read(const ConvShape& s, int64_t lines) {
  return std::min((lines - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1, s.in_h);
}

/// Whether neighbouring pixels lie in few sets of the first-level cache, so that the taps of a few
/// windows evict one another.
bool share_sets(const ConvShape& s) {
  return s.kernel_h * s.kernel_w > 1 && s.in_c % kSharedChannels == 0;
}

NarrowPlan plan_narrow(const NarrowConvArgs& args) {
  const ConvShape& s = args.shape;
  const NarrowWeights& w = *args.w;
  NarrowPlan plan;
  plan.pixel = s.in_c;
  const int64_t panel_bytes = s.k() * w.lanes * static_cast<int64_t>(sizeof(float));
  plan.panels = even_blocks(w.panels, std::max<int64_t>(kWeightBytes / panel_bytes, 1), 1);
  const int64_t rows = s.batch * s.out_h;
  const double panel_ns = static_cast<double>(s.out_w * s.k() * w.lanes) / kNarrowProductsPerNs;
  int64_t lines = std::min(grain_for(panel_ns * static_cast<double>(plan.panels.size)), s.out_h);
  if (share_sets(s)) {
    plan.staged = true;
    plan.panels = {w.panels, std::clamp<int64_t>(kSlabChannels / w.inputs, 1, plan.panels.size)};
    // An odd number of cache lines from pixel to pixel spreads them over all sets.
    constexpr int64_t kFloats = 16;
    plan.pixel = (round_up(plan.panels.size * w.inputs, kFloats) / kFloats | 1) * kFloats;
    const int64_t line_bytes = s.in_w * plan.pixel * static_cast<int64_t>(sizeof(float));
    const int64_t fit = kSlabBytes / std::max<int64_t>(line_bytes, 1);
    lines = std::clamp<int64_t>((fit - (s.kernel_h - 1) * s.dilation_h) / s.stride_h, 1, s.out_h);
    plan.size = lines_read(s, lines) * s.in_w * plan.pixel + w.lanes;
  }
  plan.lines = {rows, lines};
  return plan;
}

/// Copies the channels of a range of panels from some lines of an image.
void copy_slab(const NarrowConvArgs& args,
               const NarrowPlan& plan,
               const float* from,
               int64_t pixels,
               int64_t channels,
               float* to) {
  for (int64_t i = 0; i < pixels; ++i)
    std::memcpy(to + i * plan.pixel, from + i * args.shape.in_c,
                static_cast<size_t>(channels) * sizeof(float));
}

/// Lines [begin, end) of y, all of one image.
void run_lines(const NarrowConvArgs& args,
               const NarrowPlan& plan,
               NarrowLineFn run,
               Range panels,
               Range lines) {
  const ConvShape& s = args.shape;
  const NarrowWeights& w = *args.w;
  const int64_t image = lines.begin / s.out_h;
  const int64_t channel = panels.begin * w.inputs;
  const float* x = args.x + image * s.in_h * s.in_w * s.in_c + channel;
  NarrowLine line;
  line.shape = &args.shape;
  line.w = &w;
  line.epilogue = args.epilogue;
  line.panels = panels;
  line.pixel = plan.pixel;
  line.readable = s.in_c - channel;
  const int64_t out = lines.begin - image * s.out_h;
  if (plan.staged) {
    auto* slab = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(plan.size) * sizeof(float)));
    const int64_t first = std::clamp<int64_t>(out * s.stride_h - s.pad_top, 0, s.in_h);
    const int64_t last = std::clamp<int64_t>((out + lines.count() - 1) * s.stride_h - s.pad_top +
                                                 (s.kernel_h - 1) * s.dilation_h + 1,
                                             first, s.in_h);
    copy_slab(args, plan, x + first * s.in_w * s.in_c, (last - first) * s.in_w,
              std::min(panels.count() * w.inputs, line.readable), slab);
    x = slab - first * s.in_w * plan.pixel;
    line.readable = plan.pixel;
  }
  line.row = s.dilation_h * s.in_w * plan.pixel;
  for (int64_t i = 0; i < lines.count(); ++i) {
    line.taps_h = taps_inside(out + i, s.stride_h, s.pad_top, s.dilation_h, s.kernel_h, s.in_h);
    line.x = x + ((out + i) * s.stride_h - s.pad_top) * s.in_w * plan.pixel;
    line.y = args.y + (lines.begin + i) * s.out_w * s.out_c;
    run(line);
  }
}

} // namespace

NarrowWeights pack_narrow(const float* w, const ConvShape& s, Isa isa) {
  NarrowWeights packed;
  const int64_t in = s.group_in(), out = s.group_out();
  // They fill no more than half of a vector of AVX-512.
  if (s.out_c <= 8 && isa > Isa::kAvx2) isa = Isa::kAvx2;
  packed.isa = isa;
  const int64_t lanes = for_isa<int64_t{16}, 8, 16>(isa);
  if (s.groups == 1 || in == 0 || out == 0) return packed;
  const int64_t together = std::min({lanes / in, lanes / out, s.groups});
  // One group at a time needs no vector of its own of x: that is a product like any other.
  if (together < 2 || 2 * together * out < std::min(lanes, s.out_c)) return packed;
  packed.lanes = lanes;
  packed.outputs = together * out;
  packed.inputs = together * in;
  packed.panels = Blocks(s.groups, together).count;
  packed.data = AlignedBuffer(static_cast<size_t>(packed.panels * s.k() * lanes) * sizeof(float));
  packed.index = AlignedBuffer(static_cast<size_t>(in * lanes) * sizeof(int32_t));
  auto* data = packed.data.as<float>();
  for (int64_t o = 0; o < s.out_c; ++o)
    for (int64_t k = 0; k < s.k(); ++k)
      data[(o / packed.outputs * s.k() + k) * lanes + o % packed.outputs] = w[o * s.k() + k];
  auto* index = packed.index.as<int32_t>();
  for (int64_t i = 0; i < in; ++i)
    for (int64_t lane = 0; lane < packed.outputs; ++lane)
      index[i * lanes + lane] = static_cast<int32_t>(lane / out * in + i);
  return packed;
}

void narrow_line_scalar(const NarrowLine& line) {
  const ConvShape& s = *line.shape;
  const NarrowWeights& w = *line.w;
  const auto* index = w.index.as<int32_t>();
  const int64_t in = s.group_in();
  const int64_t first = line.panels.begin * w.outputs;
  const int64_t last = std::min(line.panels.end * w.outputs, s.out_c);
  for (int64_t column = 0; column < s.out_w; ++column) {
    const Range taps =
        taps_inside(column, s.stride_w, s.pad_left, s.dilation_w, s.kernel_w, s.in_w);
    for (int64_t o = first; o < last; ++o) {
      const int64_t panel = o / w.outputs, lane = o % w.outputs;
      const float* weights = w.data.as<float>() + panel * s.k() * w.lanes + lane;
      const float* x = line.x + (panel - line.panels.begin) * w.inputs;
      float sum = 0.0F;
      for (int64_t i = line.taps_h.begin; i < line.taps_h.end; ++i)
        for (int64_t j = taps.begin; j < taps.end; ++j) {
          const int64_t at = column * s.stride_w - s.pad_left + j * s.dilation_w;
          for (int64_t k = 0; k < in; ++k)
            sum = std::fma(x[i * line.row + at * line.pixel + index[k * w.lanes + lane]],
                           weights[((i * s.kernel_w + j) * in + k) * w.lanes], sum);
        }
      if (line.epilogue.bias != nullptr) sum += line.epilogue.bias[o];
      line.y[column * s.out_c + o] =
          numerics::clamp_keep_nan(sum, line.epilogue.lo, line.epilogue.hi);
    }
  }
}

void narrow_conv(const NarrowConvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  if (s.pixels() <= 0 || s.out_c <= 0) return;
  const auto run = for_isa<narrow_line_scalar, narrow_line_avx2, narrow_line_avx512>(args.w->isa);
  const NarrowPlan plan = plan_narrow(args);
  const double chunk_ns =
      static_cast<double>(plan.lines.size * s.out_w * plan.panels.size * s.k() * args.w->lanes) /
      kNarrowProductsPerNs;
  parallel.run(plan.panels.count * plan.lines.count, grain_for(chunk_ns),
               [&](int64_t begin, int64_t end) {
                 for (int64_t chunk = begin; chunk < end; ++chunk) {
                   const Range panels = plan.panels[chunk % plan.panels.count];
                   Range some = plan.lines[chunk / plan.panels.count];
                   while (some.begin < some.end) {
                     const int64_t image_end = (some.begin / s.out_h + 1) * s.out_h;
                     const Range of_image{some.begin, std::min(some.end, image_end)};
                     run_lines(args, plan, run, panels, of_image);
                     some.begin = of_image.end;
                   }
                 }
               });
}

} // namespace octet::kernels
