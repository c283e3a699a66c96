// SPDX-License-Identifier: Apache-2.0
// Driver of the int8 product: cuts [m, n] into chunks by shape, packs rows of x, runs tiles.
#include "runtime/kernels/igemm.h"

#include <algorithm>
#include <cstring>

#include "core/threads.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

// Packed rows of one chunk stay in a share of the second-level cache.
constexpr int64_t kRowBytes = int64_t{192} << 10;
constexpr int64_t kMaxBlockRows = 128;
// Products per nanosecond of one core; only sets how much work a chunk has.
constexpr double kProductsPerNs = 80.0;
// Fewer panels than this would make packing rows of x noticeable.
constexpr int64_t kMinPanels = 32;

struct Cut {
  int64_t rows = 1;
  int64_t row_blocks = 0;
  int64_t panels = 1;
  int64_t panel_blocks = 0;
};

Cut cut_by_shape(int64_t m, const PackedWeights& w) {
  Cut cut;
  const int64_t panel_count = (w.n + kColumnsPerPanel - 1) / kColumnsPerPanel;
  const int64_t bytes_per_row = std::max<int64_t>(w.k_padded * (w.wide ? 3 : 1), 1);
  const int64_t limit = std::clamp<int64_t>(kRowBytes / bytes_per_row, kTileRows, kMaxBlockRows);
  const int64_t blocks = (m + limit - 1) / limit;
  cut.rows = round_up((m + blocks - 1) / blocks, kTileRows);
  cut.row_blocks = (m + cut.rows - 1) / cut.rows;
  const double panel_ns =
      static_cast<double>(std::min(cut.rows, m) * w.k_padded * kColumnsPerPanel) / kProductsPerNs;
  cut.panels = std::clamp<int64_t>(std::max(grain_for(panel_ns), kMinPanels), 1, panel_count);
  cut.panel_blocks = (panel_count + cut.panels - 1) / cut.panels;
  return cut;
}

void run_chunk(const IgemmArgs& args, const Cut& cut, int64_t chunk) {
  const PackedWeights& w = *args.w;
  BlockArgs block;
  block.w = args.w;
  block.columns = args.columns;
  block.epilogue = &args.epilogue;
  block.row = chunk / cut.panel_blocks * cut.rows;
  block.count = std::min(cut.rows, args.m - block.row);
  block.stride = w.k_padded;
  block.y = args.y;
  block.y_stride = args.y_stride;
  block.panel_begin = chunk % cut.panel_blocks * cut.panels;
  block.panel_end =
      std::min(block.panel_begin + cut.panels, (w.n + kColumnsPerPanel - 1) / kColumnsPerPanel);

  const int64_t bytes = block.count * block.stride;
  auto* rows = reinterpret_cast<uint8_t*>(thread_scratch(
      Scratch::kRows, static_cast<size_t>(round_up(bytes, 64) + (w.wide ? bytes * 2 : 0))));
  for (int64_t i = 0; i < block.count; ++i) {
    pack_row(static_cast<const uint8_t*>(args.x) + (block.row + i) * args.x_stride, w.k, w.flip,
             rows + i * block.stride, block.stride);
  }
  block.rows = rows;
  if (w.wide) {
    auto* rows16 = reinterpret_cast<int16_t*>(rows + round_up(bytes, 64));
    widen_rows(rows, bytes, rows16);
    block.rows16 = rows16;
  }
  run_block(block);
}

} // namespace

void pack_row(const uint8_t* source, int64_t bytes, bool flip, uint8_t* row, int64_t stride) {
  if (flip) {
    for (int64_t i = 0; i < bytes; ++i) {
      row[i] = static_cast<uint8_t>(source[i] ^ 0x80U);
    }
  } else if (bytes > 0) {
    std::memcpy(row, source, static_cast<size_t>(bytes));
  }
  for (int64_t i = bytes; i < stride; ++i) {
    row[i] = 0;
  }
}

void widen_rows(const uint8_t* rows, int64_t count, int16_t* wide) {
  for (int64_t i = 0; i < count; ++i) {
    wide[i] = rows[i];
  }
}

void run_block(const BlockArgs& args) {
  const TileKernels kernels = tile_kernels(args.w->isa);
  const auto* panels = args.w->panels.as<PackedPanel>();
  alignas(64) int32_t acc[kTileRows * kColumnsPerPanel];
  TileOut out;
  out.acc = acc;
  out.init = args.columns->init;
  out.multiplier = args.columns->multiplier;
  out.bias = args.columns->bias;
  out.y = args.y;
  out.y_stride = args.y_stride;
  for (int64_t p = args.panel_begin; p < args.panel_end; ++p) {
    out.column = p * kColumnsPerPanel;
    out.columns = std::min(kColumnsPerPanel, args.w->n - out.column);
    for (int64_t i = 0; i < args.count; i += kernels.rows) {
      out.rows = std::min(kernels.rows, args.count - i);
      out.row = args.row + i;
      const int64_t offset = i * args.stride;
      kernels.dot(panels[p], args.rows + offset,
                  args.rows16 == nullptr ? nullptr : args.rows16 + offset, args.stride, out.rows,
                  acc);
      kernels.epilogue(*args.epilogue, out);
    }
  }
}

TileKernels tile_kernels(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
  case Isa::kAvx2:
    return {.rows = 4, .dot = dot_tile_avx2, .epilogue = epilogue_tile_avx2};
  case Isa::kAvx512:
    return {.rows = 8, .dot = dot_tile_avx512, .epilogue = epilogue_tile_avx2};
  case Isa::kAvx512Vnni:
    return {.rows = 8, .dot = dot_tile_avx512vnni, .epilogue = epilogue_tile_avx2};
#endif
  default:
    return {.rows = 4, .dot = dot_tile_scalar, .epilogue = epilogue_tile_scalar};
  }
}

void igemm(const IgemmArgs& args, ParallelFor& parallel) {
  if (args.m <= 0 || args.w->n <= 0) return;
  const Cut cut = cut_by_shape(args.m, *args.w);
  parallel.run(cut.row_blocks * cut.panel_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_chunk(args, cut, chunk);
    }
  });
}

} // namespace octet::kernels
