// SPDX-License-Identifier: Apache-2.0
// Driver of the float product: packing, cutting by shape, blocks of k that continue the chain in y.
#include "runtime/kernels/sgemm.h"

#include <algorithm>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/sgemm_tile.h"
#include "runtime/kernels/small_product.h"
#include "runtime/kernels/turn.h"

namespace octet::kernels {
namespace {

// A panel's block of k stays in the first-level cache.
constexpr int64_t kBlockK = 256;
// Of tiles one vector wide: more rows gain nothing there, and their addresses take more registers than there are.
constexpr int64_t kNarrowTileRows = 8;
// Products per nanosecond of one core; only sets how much work a chunk has.
constexpr double kSgemmProductsPerNs = 40.0;

} // namespace

Cut cut_product(int64_t m, const PackedFloat& w) {
  const Blocks rows = even_blocks(m, FloatBlock::kMaxRows, float_tile_kernels(w.isa, w.n).rows);
  ChunkCost cost;
  cost.panel_ns = static_cast<double>(rows.longest() * w.k * w.width) / kSgemmProductsPerNs;
  return cut_panels(rows, panel_count(w), cost);
}

FloatTileKernels float_tile_kernels(Isa isa, int64_t n) {
  // They fill no more than half of a vector of AVX-512.
  if (n <= 8 && isa.has(Isa::kAvx2)) isa = Isa::kAvx2;
  return {
      .width = for_isa<int64_t{16}, Isa::kAvx2, 16, Isa::kAvx512, 32>(isa),
      .rows = for_isa<int64_t{6}, Isa::kAvx2, 6, Isa::kAvx512, 12>(isa),
      .run =
          for_isa<float_tile_scalar, Isa::kAvx2, float_tile_avx2, Isa::kAvx512, float_tile_avx512>(
              isa),
      .run_rows = for_isa<FloatTileFn{nullptr}, Isa::kAvx2, float_rows_avx2, Isa::kAvx512,
                          float_rows_avx512>(isa)};
}

void pack_float_panel(const FloatWeights& weights, int64_t column, int64_t width, float* out) {
  if (weights.k == 0) return; // there may be no weights to point at
  const int64_t columns = std::min(width, weights.n - column);
  const float* from = weights.w + column * weights.n_stride;
  if (weights.k_stride == 1) {
    turn({columns, weights.k, weights.n_stride, width}, sizeof(float),
         reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(out));
  } else if (weights.n_stride == 1) {
    for (int64_t i = 0; i < weights.k; ++i) {
      std::copy_n(from + i * weights.k_stride, columns, out + i * width);
    }
  } else {
    for (int64_t i = 0; i < weights.k; ++i) {
      for (int64_t c = 0; c < columns; ++c) {
        out[i * width + c] = from[i * weights.k_stride + c * weights.n_stride];
      }
    }
  }
  for (int64_t i = 0; columns < width && i < weights.k; ++i) {
    std::fill(out + i * width + columns, out + (i + 1) * width, 0.0F);
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

namespace {

/// The tiles of one panel, of about equal height.
void run_panel(const FloatBlock& b, FloatTile& tile, int64_t column) {
  const bool narrow = 2 * tile.columns <= b.kernels.width;
  const int64_t most = narrow ? std::min(b.kernels.rows, kNarrowTileRows) : b.kernels.rows;
  const int64_t tiles = std::max<int64_t>(Blocks(b.count, most).count, 1);
  const int64_t rows = b.count / tiles, taller = b.count % tiles;
  for (int64_t i = 0; i < tiles; i += tile.tiles) {
    tile.tiles = i < taller ? taller : tiles - i;
    tile.rows = rows + (i < taller ? 1 : 0);
    if (i > 0) tile.ahead = nullptr;
    const int64_t row = i * rows + std::min(i, taller);
    tile.x = b.rows + row;
    tile.places = b.places + row;
    tile.y = b.y + column;
    b.kernels.run(tile);
  }
}

/// What is multiplied after panel p - 1 of a block of k, which ends at `end`: the next panel, the next
/// block of k, or the panel of the chunk that may follow. Null where it isn't packed in this order.
const float*
ahead_of(const FloatBlock& b, const FloatTile& tile, int64_t panel_stride, int64_t p, int64_t end) {
  if (b.w_pitch != 0 || b.segments != 1) return nullptr;
  const int64_t width = b.kernels.width;
  if (p < b.panels.end) return tile.w + panel_stride;
  if (end < b.run) return b.w + end * width + b.panels.begin * panel_stride;
  return (p + 1) * width <= b.n ? b.w + p * panel_stride : nullptr;
}

/// Of a block whose rows of y have places.
void run_placed(const FloatBlock& b) {
  FloatTile tile;
  const bool packed = b.w_pitch == 0;
  tile.w_pitch = packed ? b.kernels.width : b.w_pitch;
  tile.lo = b.epilogue.lo;
  tile.hi = b.epilogue.hi;
  const int64_t width = b.kernels.width;
  const int64_t together =
      b.kernels.run_rows != nullptr && b.count <= 2 ? kPanelsOfRows[b.count - 1] : 1;
  const int64_t all = b.segments * b.run;
  const int64_t panel_stride = packed ? width * (b.k == 0 ? all : b.k) : width;
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
    tile.first = at == 0 && !b.continues;
    tile.last = at + tile.segments * tile.k >= all;
    for (int64_t p = b.panels.begin; p < b.panels.end;) {
      const int64_t column = p * width;
      tile.columns = std::min(width, b.n - column);
      tile.w = b.w + inside * tile.w_pitch + p * panel_stride;
      tile.bias = b.epilogue.bias == nullptr ? nullptr : b.epilogue.bias + column;
      if (together > 1 && p + together <= b.panels.end && (p + together) * width <= b.n) {
        tile.rows = b.count;
        tile.tiles = 1;
        tile.x = b.rows;
        tile.places = b.places;
        tile.y = b.y + column;
        tile.panel_stride = panel_stride;
        b.kernels.run_rows(tile);
        p += together;
        continue;
      }
      ++p;
      tile.ahead = ahead_of(b, tile, panel_stride, p, at + tile.k);
      run_panel(b, tile, column);
    }
    at += tile.segments * tile.k;
  } while (at < all);
}

} // namespace

void run_block(const FloatBlock& b) {
  if (b.places != nullptr) return run_placed(b);
  int64_t places[FloatBlock::kMaxRows];
  for (int64_t r = 0; r < b.count; ++r)
    places[r] = (b.row + r) * b.y_stride;
  FloatBlock placed = b;
  placed.places = places;
  run_placed(placed);
}

void sgemm(const SgemmArgs& args, ParallelFor& parallel) {
  const PackedFloat& w = *args.w;
  if (args.m <= 0 || w.n <= 0) return;
  const Cut cut = cut_product(args.m, w);
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

namespace {

// Panels that are packed at a time stay in the second-level cache.
constexpr int64_t kPackedFloats = int64_t{1} << 16;

/// Some panels of one product of a batch. For so few rows that each weight is read by one tile,
/// they are read where they lie, but for a last panel that is not whole.
class OneProduct {
 public:
  OneProduct(const BatchedSgemmArgs& args, const FloatTileKernels& kernels, int64_t i)
      : a_(args), x_(args.x + args.x_offsets[i]), y_(args.y + args.y_offsets[i]),
        weights_(args.weights) {
    weights_.w += args.w_offsets[i];
    block_.run = weights_.k;
    block_.kernels = kernels;
    block_.y_stride = args.y_stride;
  }

  void run(Range panels) {
    const int64_t width = block_.kernels.width;
    if (a_.m <= block_.kernels.rows && weights_.n_stride == 1 && weights_.k > 0) {
      const Range whole{panels.begin, std::min(panels.end, weights_.n / width)};
      if (whole.count() > 0)
        run_block_of(whole, weights_.w + whole.begin * width, weights_.k_stride);
      panels.begin = std::max(panels.begin, whole.end);
    }
    const int64_t together =
        std::max<int64_t>(kPackedFloats / std::max<int64_t>(width * weights_.k, 1), 4);
    for (int64_t p = panels.begin; p < panels.end; p += together) {
      const Range some{p, std::min(p + together, panels.end)};
      auto* packed = reinterpret_cast<float*>(chunk_scratch(
          Scratch::kTile, static_cast<size_t>(some.count() * width * weights_.k) * sizeof(float)));
      for (int64_t k = some.begin; k < some.end; ++k) {
        pack_float_panel(weights_, k * width, width, packed + (k - p) * width * weights_.k);
      }
      run_block_of(some, packed, 0);
    }
  }

 private:
  /// `w`: the first of the panels.
  void run_block_of(Range panels, const float* w, int64_t pitch) {
    const int64_t first = panels.begin * block_.kernels.width;
    FloatBlock block = block_;
    block.w = w;
    block.w_pitch = pitch;
    block.n = std::min(panels.end * block_.kernels.width, weights_.n) - first;
    block.panels = {0, panels.count()};
    block.epilogue = a_.epilogue;
    if (block.epilogue.bias != nullptr) block.epilogue.bias += first;
    block.y = y_ + first;
    run_rows(block, x_, a_.x_stride, a_.m);
  }

  const BatchedSgemmArgs& a_;
  const float* x_;
  float* y_;
  FloatWeights weights_;
  FloatBlock block_;
};

} // namespace

void batched_sgemm(const BatchedSgemmArgs& args, ParallelFor& parallel) {
  const int64_t n = args.weights.n;
  const int64_t k = args.weights.k;
  if (args.m <= 0 || n <= 0 || args.batch <= 0) return;
  if (const SmallProductFn small = small_product(args.isa);
      small != nullptr && is_small_product(args.m, n, k)) {
    constexpr double kProductNs = 5.0, kNs = 0.2;
    const double ns = kProductNs + static_cast<double>(args.m * n * k) * kNs;
    return parallel.run(args.batch, grain_for(ns),
                        [&](int64_t begin, int64_t end) { small(args, begin, end); });
  }
  const FloatTileKernels kernels = float_tile_kernels(args.isa, n);
  ChunkCost cost;
  cost.panel_ns = static_cast<double>(args.m * k * kernels.width) / kSgemmProductsPerNs;
  cost.panels_together = kPanelsOfRows[0];
  const Cut cut = cut_panels({args.batch, 1}, round_up(n, kernels.width) / kernels.width, cost);
  parallel.run(cut.chunks(), cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      OneProduct(args, kernels, cut.rows_of(chunk).begin).run(cut.panels_of(chunk));
    }
  });
}

} // namespace octet::kernels
