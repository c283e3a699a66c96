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
// Products per nanosecond of one core; only sets how much work a chunk has.
constexpr double kSgemmProductsPerNs = 40.0;

struct FloatCut {
  int64_t rows = 1;
  int64_t row_blocks = 0;
  int64_t panels = 1;
  int64_t panel_blocks = 0;
  int64_t grain = 1;
};

FloatCut cut_by_shape(int64_t m, int64_t n, int64_t k, int64_t width) {
  FloatCut cut;
  const int64_t panel_count = (n + width - 1) / width;
  const int64_t blocks = (m + kMaxFloatRows - 1) / kMaxFloatRows;
  cut.rows = round_up((m + blocks - 1) / blocks, kFloatTileRows);
  cut.row_blocks = (m + cut.rows - 1) / cut.rows;
  const double panel_ns =
      static_cast<double>(std::min(cut.rows, m) * k * width) / kSgemmProductsPerNs;
  cut.panels = std::clamp<int64_t>(grain_for(panel_ns), 1, panel_count);
  cut.panel_blocks = (panel_count + cut.panels - 1) / cut.panels;
  cut.grain = grain_for(panel_ns * static_cast<double>(cut.panels));
  return cut;
}

void set_rows(const float** rows, const float* x, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    rows[i] = x + i * stride;
  }
}

} // namespace

FloatTileKernels float_tile_kernels(Isa isa, int64_t n) {
  // They fill no more than half of a vector of AVX-512.
  if (n <= 8 && isa > Isa::kAvx2) isa = Isa::kAvx2;
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
  for (int64_t i = 0; i < weights.k; ++i) {
    const float* from = weights.w + i * weights.k_stride + column * weights.n_stride;
    for (int64_t c = 0; c < columns; ++c) {
      out[i * width + c] = from[c * weights.n_stride];
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
  packed.width = float_tile_kernels(isa, weights.n).width;
  const int64_t columns = round_up(weights.n, packed.width);
  packed.data = AlignedBuffer(static_cast<size_t>(columns * weights.k) * sizeof(float));
  for (int64_t c = 0; c < columns; c += packed.width) {
    pack_float_panel(weights, c, packed.width, packed.data.as<float>() + c * weights.k);
  }
  return packed;
}

void run_float_block(const FloatBlock& b) {
  FloatTile tile;
  tile.pitch = b.pitch;
  tile.y_stride = b.y_stride;
  tile.lo = b.epilogue.lo;
  tile.hi = b.epilogue.hi;
  const int64_t width = b.kernels.width;
  const int64_t all = b.segments * b.run;
  // Blocks of k are several whole runs, or parts of one.
  const int64_t whole = std::clamp<int64_t>(kBlockK / std::max<int64_t>(b.run, 1), 1, b.segments);
  int64_t at = 0;
  // A sum over nothing still gets its bias.
  do {
    const int64_t segment = b.run == 0 ? 0 : at / b.run;
    const int64_t inside = at - segment * b.run;
    tile.segments = std::min(whole, b.segments - segment);
    tile.k = std::min(kBlockK, b.run - inside);
    tile.offset = segment * b.pitch + inside;
    tile.first = at == 0;
    tile.last = at + tile.segments * tile.k >= all;
    for (int64_t p = b.panel_begin; p < b.panel_end; ++p) {
      const int64_t column = p * width;
      tile.columns = std::min(width, b.n - column);
      tile.w = b.panels + column * all + at * width;
      tile.bias = b.epilogue.bias == nullptr ? nullptr : b.epilogue.bias + column;
      for (int64_t row = 0; row < b.count; row += kFloatTileRows) {
        tile.rows = std::min(kFloatTileRows, b.count - row);
        tile.x = b.x + row;
        tile.y = b.y + row * b.y_stride + column;
        b.kernels.run(tile);
      }
    }
    at += tile.segments * tile.k;
  } while (at < all);
}

void sgemm(const SgemmArgs& args, ParallelFor& parallel) {
  const PackedFloat& w = *args.w;
  if (args.m <= 0 || w.n <= 0) return;
  const FloatCut cut = cut_by_shape(args.m, w.n, w.k, w.width);
  parallel.run(cut.row_blocks * cut.panel_blocks, cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t row = chunk / cut.panel_blocks * cut.rows;
      FloatBlock block;
      block.count = std::min(cut.rows, args.m - row);
      const float* rows[kMaxFloatRows];
      set_rows(rows, args.x + row * args.x_stride, args.x_stride, block.count);
      block.x = rows;
      block.run = w.k;
      block.panels = w.data.as<float>();
      block.n = w.n;
      block.kernels = float_tile_kernels(w.isa, w.n);
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
  block.run = k;
  block.n = n;
  block.kernels = float_tile_kernels(args.isa, n);
  block.epilogue = args.epilogue;
  block.y_stride = args.y_stride;
  block.panel_end = (n + block.kernels.width - 1) / block.kernels.width;
  const int64_t columns = round_up(n, block.kernels.width);
  const int64_t grain = grain_for(static_cast<double>(args.m * n * k) / kSgemmProductsPerNs);
  parallel.run(args.batch, grain, [&](int64_t begin, int64_t end) {
    auto* panels = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kTile, static_cast<size_t>(columns * k) * sizeof(float)));
    const float* rows[kMaxFloatRows];
    for (int64_t i = begin; i < end; ++i) {
      FloatWeights weights = args.weights;
      weights.w += args.w_offsets[i];
      for (int64_t c = 0; c < columns; c += block.kernels.width) {
        pack_float_panel(weights, c, block.kernels.width, panels + c * k);
      }
      for (int64_t row = 0; row < args.m; row += kMaxFloatRows) {
        FloatBlock one = block;
        one.count = std::min(kMaxFloatRows, args.m - row);
        set_rows(rows, args.x + args.x_offsets[i] + row * args.x_stride, args.x_stride, one.count);
        one.x = rows;
        one.y = args.y + args.y_offsets[i] + row * args.y_stride;
        one.panels = panels;
        run_float_block(one);
      }
    }
  });
}

} // namespace octet::kernels
