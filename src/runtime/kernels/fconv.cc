// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the float convolution: windows where they lie (conv_lines.h) on the tiles of
// sgemm, groups narrower than a vector by narrow_conv.
#include "runtime/kernels/fconv.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "runtime/kernels/conv_lines.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

// Copied lines stay in a share of the second-level cache.
constexpr int64_t kScratchFloats = int64_t{32} << 10;
constexpr double kFconvProductsPerNs = 40.0;
// Neighbouring output lines share most of the input lines under them, which are copied once a chunk: so a chunk is several
// blocks of rows where that leaves enough chunks for the threads.
constexpr int64_t kLongestChunk = 4 * FloatBlock::kMaxRows;
constexpr int64_t kChunksOfImage = 8;

/// The contiguous runs of a window.
struct Runs {
  int64_t count = 0;
  int64_t length = 0;
};

Runs runs_of(const ConvShape& s) {
  if (s.groups == 1 && s.dilation_w == 1) return {s.kernel_h, s.kernel_w * s.in_c};
  return {s.kernel_h * s.kernel_w, s.group_in()};
}

FloatBlock block_of(const FconvArgs& args, int64_t group) {
  const ConvShape& s = args.shape;
  const PackedFloat& w = args.w->groups[static_cast<size_t>(group)];
  FloatBlock block;
  block.w = w.data.as<float>();
  block.n = w.n;
  block.kernels = float_tile_kernels(w.isa, w.n);
  block.epilogue = args.epilogue;
  if (block.epilogue.bias != nullptr) block.epilogue.bias += group * s.group_out();
  block.y = args.y + group * s.group_out();
  block.y_stride = s.out_c;
  block.panels = {0, panel_count(w)};
  return block;
}

void run_lines(const FconvArgs& args, const LinePlan& plan, int64_t chunk) {
  const ConvShape& s = args.shape;
  const Range some = plan.blocks[chunk];
  float* lines = nullptr;
  if (!plan.in_place) {
    lines = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(plan.size) * sizeof(float)));
    copy_lines(s, plan, args.x, some, 0.0F, lines);
  }
  const Runs runs = runs_of(s);
  auto* offsets = reinterpret_cast<int64_t*>(
      chunk_scratch(Scratch::kTile, static_cast<size_t>(runs.count) * sizeof(int64_t)));
  const int64_t in_row = runs.count / s.kernel_h;
  for (int64_t i = 0; i < runs.count; ++i)
    offsets[i] = i / in_row * s.dilation_h * plan.pitch + i % in_row * s.dilation_w * s.in_c;
  for (int64_t group = 0; group < s.groups; ++group) {
    FloatBlock block = block_of(args, group);
    block.segments = runs.count;
    block.run = runs.length;
    block.runs = offsets;
    block.row = some.begin * s.out_w;
    RowCollector rows(block);
    each_window<float>(
        s, plan, args.x, lines, some,
        [&rows, first = group * s.group_in()](const float* start) { rows.add(start + first); });
    rows.flush();
  }
}

/// One pixel, tap by tap, as weights need that are not finite: times the 0 of the padding they
/// would give NaN.
void run_pixel(const FconvArgs& args, int64_t pixel) {
  const ConvShape& s = args.shape;
  const int64_t row = pixel / s.out_w % s.out_h, column = pixel % s.out_w;
  const float* image = args.x + pixel / s.out_w / s.out_h * s.in_h * s.in_w * s.in_c;
  const Range taps_h = taps_inside(row, s.stride_h, s.pad_top, s.dilation_h, s.kernel_h, s.in_h);
  const Range taps_w =
      taps_inside(column, s.stride_w, s.pad_left, s.dilation_w, s.kernel_w, s.in_w);
  const int64_t taps = taps_h.count() * taps_w.count();
  for (int64_t group = 0; group < s.groups; ++group) {
    const FloatBlock block = block_of(args, group);
    for (int64_t panel = 0; panel < block.panels.end; ++panel) {
      const int64_t first = panel * block.kernels.width;
      FloatTile tile;
      tile.k = taps == 0 ? 0 : s.group_in();
      tile.rows = 1;
      tile.w_pitch = block.kernels.width;
      tile.columns = std::min(block.kernels.width, block.n - first);
      tile.y = block.y + pixel * s.out_c + first;
      tile.y_stride = s.out_c;
      tile.bias = block.epilogue.bias == nullptr ? nullptr : block.epilogue.bias + first;
      tile.lo = block.epilogue.lo;
      tile.hi = block.epilogue.hi;
      // A sum over nothing still gets its bias.
      for (int64_t tap = 0; tap < std::max<int64_t>(taps, 1); ++tap) {
        const int64_t i = taps == 0 ? 0 : taps_h.begin + tap / taps_w.count();
        const int64_t j = taps == 0 ? 0 : taps_w.begin + tap % taps_w.count();
        const int64_t at_h = row * s.stride_h - s.pad_top + i * s.dilation_h;
        const int64_t at_w = column * s.stride_w - s.pad_left + j * s.dilation_w;
        const float* x = image + (at_h * s.in_w + at_w) * s.in_c + group * s.group_in();
        tile.x = &x;
        tile.w =
            block.w + first * s.k() + (i * s.kernel_w + j) * s.group_in() * block.kernels.width;
        tile.first = tap == 0;
        tile.last = tap + 1 >= taps;
        block.kernels.run(tile);
      }
    }
  }
}

} // namespace

PackedFloatConv pack_float_conv(const float* w, const ConvShape& shape, Isa isa) {
  PackedFloatConv packed;
  packed.shape = shape;
  packed.finite =
      std::all_of(w, w + shape.out_c * shape.k(), [](float v) { return std::isfinite(v); });
  packed.narrow = pack_narrow(w, shape, isa);
  if (packed.narrow.lanes > 0) return packed;
  for (int64_t g = 0; g < shape.groups; ++g) {
    const float* first = w + g * shape.group_out() * shape.k();
    packed.groups.push_back(pack_float({first, 1, shape.k(), shape.group_out(), shape.k()}, isa));
  }
  return packed;
}

void fconv(const FconvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  if (s.pixels() <= 0 || s.out_c <= 0) return;
  if (args.w->narrow.lanes > 0)
    return narrow_conv({s, args.x, &args.w->narrow, args.epilogue, args.y}, parallel);
  const int64_t pixels =
      std::clamp(s.pixels() / kChunksOfImage, FloatBlock::kMaxRows, kLongestChunk);
  const LinePlan plan = plan_lines(s, pixels, kScratchFloats, 1, true);
  const double pixel_ns = static_cast<double>(s.k() * s.out_c) / kFconvProductsPerNs;
  if (!plan.in_place && !args.w->finite)
    return parallel.run(s.pixels(), grain_for(pixel_ns), [&](int64_t begin, int64_t end) {
      for (int64_t pixel = begin; pixel < end; ++pixel)
        run_pixel(args, pixel);
    });
  const double chunk_ns = static_cast<double>(plan.blocks.size * s.out_w) * pixel_ns;
  parallel.run(plan.blocks.count, grain_for(chunk_ns), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk)
      run_lines(args, plan, chunk);
  });
}

} // namespace octet::kernels
