// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the float convolution: windows where they
// lie (conv_lines.h) or gathered patches of a few pixels, then the tiles of sgemm.
#include "runtime/kernels/fconv.h"

#include <algorithm>

#include "core/threads.h"
#include "runtime/kernels/conv_lines.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

// Gathered patches and copied lines stay in a share of the second-level cache.
constexpr int64_t kScratchFloats = int64_t{32} << 10;
constexpr double kFconvProductsPerNs = 40.0;

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
  FloatBlock block = block_of(args, 0);
  block.segments = s.kernel_h;
  block.run = s.kernel_w * s.in_c;
  block.pitch = s.dilation_h * plan.pitch;
  block.row = some.begin * s.out_w;
  RowCollector rows(block);
  each_window<float>(s, plan, args.x, lines, some, [&](const float* start) { rows.add(start); });
  rows.flush();
}

void run_patches(const FconvArgs& args, int64_t group, Range pixels) {
  const ConvShape& s = args.shape;
  const int64_t k = s.k();
  auto* patches = reinterpret_cast<float*>(chunk_scratch(
      Scratch::kRowsFloat, static_cast<size_t>(pixels.count() * k) * sizeof(float) + kGatherSlack));
  gather_patches(s, args.x, pixels.begin, pixels.count(), group, 0.0F, patches, k);
  FloatBlock block = block_of(args, group);
  block.run = k;
  block.row = pixels.begin;
  run_rows(block, patches, k, pixels.count());
}

void by_lines(const FconvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  const LinePlan plan = plan_lines(s, FloatBlock::kMaxRows, kScratchFloats, 1, true);
  const double chunk_ns =
      static_cast<double>(plan.blocks.size * s.out_w * s.k() * s.out_c) / kFconvProductsPerNs;
  parallel.run(plan.blocks.count, grain_for(chunk_ns), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_lines(args, plan, chunk);
    }
  });
}

void by_patches(const FconvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  const int64_t pixels = s.pixels();
  const int64_t fit = std::max<int64_t>(kScratchFloats / std::max<int64_t>(s.k(), 1), 1);
  const double pixel_ns = static_cast<double>(s.k() * s.group_out()) / kFconvProductsPerNs;
  const Blocks blocks(pixels, round_up(std::min(fit, grain_for(pixel_ns)), kFloatTileRows));
  const double chunk_ns = static_cast<double>(blocks.size) * pixel_ns;
  parallel.run(s.groups * blocks.count, grain_for(chunk_ns), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_patches(args, chunk / blocks.count, blocks[chunk % blocks.count]);
    }
  });
}

} // namespace

PackedFloatConv pack_float_conv(const float* w, const ConvShape& shape, Isa isa) {
  PackedFloatConv packed;
  packed.shape = shape;
  for (int64_t g = 0; g < shape.groups; ++g) {
    const float* first = w + g * shape.group_out() * shape.k();
    packed.groups.push_back(pack_float({first, 1, shape.k(), shape.group_out(), shape.k()}, isa));
  }
  return packed;
}

void fconv(const FconvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  if (s.pixels() <= 0 || s.out_c <= 0) return;
  if (s.groups == 1 && s.dilation_w == 1) return by_lines(args, parallel);
  by_patches(args, parallel);
}

} // namespace octet::kernels
