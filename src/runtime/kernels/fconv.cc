// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the float convolution: patches of a few pixels, then the tiles of sgemm.
#include "runtime/kernels/fconv.h"

#include <algorithm>

#include "core/threads.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

// Gathered patches stay in a share of the second-level cache.
constexpr int64_t kPatchBytes = int64_t{128} << 10;
constexpr double kProductsPerNs = 40.0;

int64_t pixels_per_chunk(const ConvShape& s) {
  const int64_t fit = std::max<int64_t>(
      kPatchBytes / static_cast<int64_t>(sizeof(float)) / std::max<int64_t>(s.k(), 1), 1);
  const int64_t grain = grain_for(static_cast<double>(s.k() * s.group_out()) / kProductsPerNs);
  return round_up(std::min(fit, grain), kFloatTileRows);
}

void run_chunk(const FconvArgs& args, int64_t group, int64_t begin, int64_t end) {
  const ConvShape& s = args.shape;
  const PackedFloat& w = args.w->groups[static_cast<size_t>(group)];
  const int64_t k = s.k();
  auto* rows = reinterpret_cast<float*>(thread_scratch(
      Scratch::kRowsFloat, static_cast<size_t>((end - begin) * k) * sizeof(float) + kGatherSlack));
  gather_patches(s, args.x, begin, end - begin, group, 0.0F, rows, k);
  FloatBlock block;
  block.x = rows;
  block.x_stride = k;
  block.count = end - begin;
  block.panels = w.data.as<float>();
  block.n = w.n;
  block.k = k;
  block.kernels = float_tile_kernels(w.isa);
  block.epilogue = args.epilogue;
  if (block.epilogue.bias != nullptr) block.epilogue.bias += group * s.group_out();
  block.y = args.y + begin * s.out_c + group * s.group_out();
  block.y_stride = s.out_c;
  block.panel_end = (w.n + w.width - 1) / w.width;
  run_float_block(block);
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
  const int64_t pixels = args.shape.pixels();
  if (pixels <= 0 || args.shape.out_c <= 0) return;
  const int64_t per_chunk = pixels_per_chunk(args.shape);
  const int64_t blocks = (pixels + per_chunk - 1) / per_chunk;
  const double chunk_ns =
      static_cast<double>(per_chunk * args.shape.k() * args.shape.group_out()) / kProductsPerNs;
  parallel.run(args.shape.groups * blocks, grain_for(chunk_ns), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk % blocks * per_chunk;
      run_chunk(args, chunk / blocks, first, std::min(first + per_chunk, pixels));
    }
  });
}

} // namespace octet::kernels
