// SPDX-License-Identifier: Apache-2.0
// Driver of the float product: packing, cutting by shape, blocks of k that continue the chain in y.
#include "runtime/kernels/sgemm.h"

#include <algorithm>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

// A panel's block of k stays in the first-level cache.
constexpr int64_t kBlockK = 256;
// Products per nanosecond of one core; only sets how much work a chunk has.
constexpr double kSgemmProductsPerNs = 40.0;

Cut cut_by_shape(int64_t m, const PackedFloat& w) {
  const Blocks rows = even_blocks(m, FloatBlock::kMaxRows, kFloatTileRows);
  ChunkCost cost;
  cost.panel_ns = static_cast<double>(rows.longest() * w.k * w.width) / kSgemmProductsPerNs;
  return cut_panels(rows, panel_count(w), cost);
}

} // namespace

FloatTileKernels float_tile_kernels(Isa isa, int64_t n) {
  // They fill no more than half of a vector of AVX-512.
  if (n <= 8 && isa > Isa::kAvx2) isa = Isa::kAvx2;
  return {.width = for_isa<int64_t{16}, 16, 32>(isa),
          .run = for_isa<float_tile_scalar, float_tile_avx2, float_tile_avx512>(isa)};
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

void run_block(const FloatBlock& b) {
  FloatTile tile;
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
    tile.runs = b.runs + segment;
    tile.offset = inside;
    tile.first = at == 0;
    tile.last = at + tile.segments * tile.k >= all;
    for (int64_t p = b.panels.begin; p < b.panels.end; ++p) {
      const int64_t column = p * width;
      tile.columns = std::min(width, b.n - column);
      tile.w = b.w + column * all + at * width;
      tile.bias = b.epilogue.bias == nullptr ? nullptr : b.epilogue.bias + column;
      for (int64_t row = 0; row < b.count; row += kFloatTileRows) {
        tile.rows = std::min(kFloatTileRows, b.count - row);
        tile.x = b.rows + row;
        tile.y = b.y + (b.row + row) * b.y_stride + column;
        b.kernels.run(tile);
      }
    }
    at += tile.segments * tile.k;
  } while (at < all);
}

void sgemm(const SgemmArgs& args, ParallelFor& parallel) {
  const PackedFloat& w = *args.w;
  if (args.m <= 0 || w.n <= 0) return;
  const Cut cut = cut_by_shape(args.m, w);
  parallel.run(cut.chunks(), cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const Range rows = cut.rows_of(chunk);
      FloatBlock block;
      block.row = rows.begin;
      block.run = w.k;
      block.w = w.data.as<float>();
      block.n = w.n;
      block.kernels = float_tile_kernels(w.isa, w.n);
      block.epilogue = args.epilogue;
      block.y = args.y;
      block.y_stride = args.y_stride;
      block.panels = cut.panels_of(chunk);
      run_rows(block, args.x + rows.begin * args.x_stride, args.x_stride, rows.count());
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
  const int64_t columns = round_up(n, block.kernels.width);
  block.panels = {0, columns / block.kernels.width};
  const int64_t grain = grain_for(static_cast<double>(args.m * n * k) / kSgemmProductsPerNs);
  parallel.run(args.batch, grain, [&](int64_t begin, int64_t end) {
    auto* panels = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kTile, static_cast<size_t>(columns * k) * sizeof(float)));
    for (int64_t i = begin; i < end; ++i) {
      FloatWeights weights = args.weights;
      weights.w += args.w_offsets[i];
      for (int64_t c = 0; c < columns; c += block.kernels.width) {
        pack_float_panel(weights, c, block.kernels.width, panels + c * k);
      }
      FloatBlock one = block;
      one.y = args.y + args.y_offsets[i];
      one.w = panels;
      run_rows(one, args.x + args.x_offsets[i], args.x_stride, args.m);
    }
  });
}

} // namespace octet::kernels
