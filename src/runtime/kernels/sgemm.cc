// SPDX-License-Identifier: Apache-2.0
// Driver of the float product: packing, cutting by shape, blocks of k that continue the chain in y.
#include "runtime/kernels/sgemm.h"

#include <algorithm>

#include "core/threads.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

// A panel's block of k stays in the first-level cache.
constexpr int64_t kBlockK = 256;
constexpr int64_t kBlockRows = 96;
// Products per nanosecond of one core; only sets how much work a chunk has.
constexpr double kProductsPerNs = 40.0;

struct Cut {
  int64_t rows = 1;
  int64_t row_blocks = 0;
  int64_t panels = 1;
  int64_t panel_blocks = 0;
  int64_t grain = 1;
};

Cut cut_by_shape(int64_t m, int64_t n, int64_t k, int64_t width) {
  Cut cut;
  const int64_t panel_count = (n + width - 1) / width;
  const int64_t blocks = (m + kBlockRows - 1) / kBlockRows;
  cut.rows = round_up((m + blocks - 1) / blocks, kFloatTileRows);
  cut.row_blocks = (m + cut.rows - 1) / cut.rows;
  const double panel_ns = static_cast<double>(std::min(cut.rows, m) * k * width) / kProductsPerNs;
  cut.panels = std::clamp<int64_t>(grain_for(panel_ns), 1, panel_count);
  cut.panel_blocks = (panel_count + cut.panels - 1) / cut.panels;
  cut.grain = grain_for(panel_ns * static_cast<double>(cut.panels));
  return cut;
}

} // namespace

FloatTileKernels float_tile_kernels(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
  case Isa::kAvx2:
    return {.width = 16, .run = float_tile_avx2};
  case Isa::kAvx512:
  case Isa::kAvx512Vnni:
    return {.width = 32, .run = float_tile_avx512};
#endif
  default:
    return {.width = 16, .run = float_tile_scalar};
  }
}

void pack_float_panel(const FloatWeights& weights, int64_t column, int64_t width, float* out) {
  const int64_t columns = std::min(width, weights.n - column);
  const float* from = weights.w + column * weights.n_stride;
  for (int64_t i = 0; i < weights.k; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      out[i * width + c] = from[i * weights.k_stride + c * weights.n_stride];
    }
    for (int64_t c = columns; c < width; ++c) {
      out[i * width + c] = 0.0F;
    }
  }
}

PackedFloat pack_float(const FloatWeights& weights, Isa isa) {
  PackedFloat packed;
  packed.isa = isa;
  packed.n = weights.n;
  packed.k = weights.k;
  packed.width = float_tile_kernels(isa).width;
  const int64_t columns = round_up(weights.n, packed.width);
  packed.data = AlignedBuffer(static_cast<size_t>(columns * weights.k) * sizeof(float));
  for (int64_t c = 0; c < columns; c += packed.width) {
    pack_float_panel(weights, c, packed.width, packed.data.as<float>() + c * weights.k);
  }
  return packed;
}

void run_float_block(const FloatBlock& b) {
  FloatTile tile;
  tile.x_stride = b.x_stride;
  tile.y_stride = b.y_stride;
  tile.lo = b.epilogue.lo;
  tile.hi = b.epilogue.hi;
  const int64_t width = b.kernels.width;
  // A sum over nothing still gets its bias.
  const int64_t blocks = std::max<int64_t>((b.k + kBlockK - 1) / kBlockK, 1);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t k = block * kBlockK;
    tile.k = std::min(kBlockK, b.k - k);
    tile.first = block == 0;
    tile.last = block == blocks - 1;
    for (int64_t p = b.panel_begin; p < b.panel_end; ++p) {
      const int64_t column = p * width;
      tile.columns = std::min(width, b.n - column);
      tile.w = b.panels + column * b.k + k * width;
      tile.bias = b.epilogue.bias == nullptr ? nullptr : b.epilogue.bias + column;
      for (int64_t row = 0; row < b.count; row += kFloatTileRows) {
        tile.rows = std::min(kFloatTileRows, b.count - row);
        tile.x = b.x + row * b.x_stride + k;
        tile.y = b.y + row * b.y_stride + column;
        b.kernels.run(tile);
      }
    }
  }
}

void sgemm(const SgemmArgs& args, ParallelFor& parallel) {
  const PackedFloat& w = *args.w;
  if (args.m <= 0 || w.n <= 0) return;
  const Cut cut = cut_by_shape(args.m, w.n, w.k, w.width);
  parallel.run(cut.row_blocks * cut.panel_blocks, cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t row = chunk / cut.panel_blocks * cut.rows;
      FloatBlock block;
      block.x = args.x + row * args.x_stride;
      block.x_stride = args.x_stride;
      block.count = std::min(cut.rows, args.m - row);
      block.panels = w.data.as<float>();
      block.n = w.n;
      block.k = w.k;
      block.kernels = float_tile_kernels(w.isa);
      block.epilogue = args.epilogue;
      block.y = args.y + row * args.y_stride;
      block.y_stride = args.y_stride;
      block.panel_begin = chunk % cut.panel_blocks * cut.panels;
      block.panel_end = std::min(block.panel_begin + cut.panels, (w.n + w.width - 1) / w.width);
      run_float_block(block);
    }
  });
}

void batched_sgemm(const BatchedSgemmArgs& args, ParallelFor& parallel) {
  const int64_t n = args.weights.n;
  const int64_t k = args.weights.k;
  if (args.m <= 0 || n <= 0 || args.batch <= 0) return;
  FloatBlock block;
  block.x_stride = args.x_stride;
  block.count = args.m;
  block.n = n;
  block.k = k;
  block.kernels = float_tile_kernels(args.isa);
  block.epilogue = args.epilogue;
  block.y_stride = args.y_stride;
  block.panel_end = (n + block.kernels.width - 1) / block.kernels.width;
  const int64_t columns = round_up(n, block.kernels.width);
  const int64_t grain = grain_for(static_cast<double>(args.m * n * k) / kProductsPerNs);
  parallel.run(args.batch, grain, [&](int64_t begin, int64_t end) {
    auto* panels = reinterpret_cast<float*>(
        thread_scratch(Scratch::kTile, static_cast<size_t>(columns * k) * sizeof(float)));
    for (int64_t i = begin; i < end; ++i) {
      FloatWeights weights = args.weights;
      weights.w += args.w_offsets[i];
      for (int64_t c = 0; c < columns; c += block.kernels.width) {
        pack_float_panel(weights, c, block.kernels.width, panels + c * k);
      }
      FloatBlock one = block;
      one.x = args.x + args.x_offsets[i];
      one.y = args.y + args.y_offsets[i];
      one.panels = panels;
      run_float_block(one);
    }
  });
}

} // namespace octet::kernels
