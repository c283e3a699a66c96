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
// Packing or gathering a row; the epilogue of a row of one panel.
constexpr double kRowNs = 5.0;
constexpr double kEpilogueRowNs = 3.0;
// Fewer panels than this would make packing rows of x noticeable.
constexpr int64_t kMinPanels = 32;
// Sums of several tiles share one call of the epilogue.
constexpr int64_t kEpilogueRows = 16;

void run_chunk(const IgemmArgs& args, const Cut& cut, int64_t chunk) {
  const PackedWeights& w = *args.w;
  BlockArgs block;
  block.w = args.w;
  block.columns = args.columns;
  block.epilogue = &args.epilogue;
  block.row = chunk / cut.panel_blocks * cut.rows;
  block.count = std::min(cut.rows, args.m - block.row);
  block.y = args.y;
  block.y_stride = args.y_stride;
  block.panel_begin = chunk % cut.panel_blocks * cut.panels;
  block.panel_end = std::min(block.panel_begin + cut.panels, panel_count(w));

  auto* rows = reinterpret_cast<uint8_t*>(
      thread_scratch(Scratch::kRows, static_cast<size_t>(block.count * w.row_bytes)));
  for (int64_t i = 0; i < block.count; ++i) {
    const uint8_t* source = static_cast<const uint8_t*>(args.x) + (block.row + i) * args.x_stride;
    if (w.k > 0) std::memcpy(rows + i * w.row_bytes, source, static_cast<size_t>(w.k));
  }
  finish_rows(w, rows, block.count);
  block.rows = rows;
  run_block(block);
}

uint32_t load_word(const uint8_t* p) {
  uint32_t word = 0;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

void store_word(uint8_t* p, uint32_t word) {
  std::memcpy(p, &word, sizeof(word));
}

// `count` is a multiple of 4.
void flip_bytes(uint8_t* p, int64_t count) {
  for (int64_t i = 0; i < count; i += 4) {
    store_word(p + i, load_word(p + i) ^ 0x80808080U);
  }
}

void permute_row(uint8_t* row, int64_t k_padded) {
  for (int64_t i = 0; i < k_padded; i += 4) {
    const uint32_t v = load_word(row + i);
    store_word(row + k_padded + i,
               (v & 0xFF0000FFU) | ((v & 0x0000FF00U) << 8) | ((v & 0x00FF0000U) >> 8));
    store_word(row + 2 * k_padded + i,
               (v & 0x00FF00FFU) | ((v & 0x0000FF00U) << 16) | ((v & 0xFF000000U) >> 16));
  }
}

} // namespace

Cut cut_by_shape(int64_t m, const PackedWeights& w) {
  Cut cut;
  const int64_t bytes_per_row = std::max<int64_t>(w.row_bytes, 1);
  const int64_t limit = std::clamp<int64_t>(kRowBytes / bytes_per_row, kTileRows, kMaxBlockRows);
  const int64_t blocks = (m + limit - 1) / limit;
  cut.rows = round_up((m + blocks - 1) / blocks, kTileRows);
  cut.row_blocks = (m + cut.rows - 1) / cut.rows;
  const double panel_ns =
      static_cast<double>(std::min(cut.rows, m) * w.k_padded * kColumnsPerPanel) / kProductsPerNs;
  cut.panels = std::clamp<int64_t>(std::max(grain_for(panel_ns), kMinPanels), 1, panel_count(w));
  cut.panel_blocks = (panel_count(w) + cut.panels - 1) / cut.panels;
  const auto rows = static_cast<double>(std::min(cut.rows, m));
  cut.grain = grain_for(panel_ns * static_cast<double>(cut.panels) +
                        rows * (kRowNs + kEpilogueRowNs * static_cast<double>(cut.panels)));
  return cut;
}

void finish_rows(const PackedWeights& w, uint8_t* rows, int64_t count) {
  if (w.row_bytes == w.k_padded) {
    if (w.flip) flip_bytes(rows, count * w.k_padded);
    return;
  }
  for (int64_t r = 0; r < count; ++r) {
    uint8_t* row = rows + r * w.row_bytes;
    if (w.flip) flip_bytes(row, w.k_padded);
    permute_row(row, w.k_padded);
  }
}

void run_block(const BlockArgs& args) {
  const TileKernels kernels = tile_kernels(args.w->isa);
  const auto* panels = args.w->panels.as<PackedPanel>();
  const int64_t row_bytes = args.w->row_bytes;
  alignas(64) int32_t acc[kEpilogueRows * kColumnsPerPanel];
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
    for (int64_t i = 0; i < args.count; i += kEpilogueRows) {
      out.rows = std::min(kEpilogueRows, args.count - i);
      out.row = args.row + i;
      for (int64_t j = 0; j < out.rows; j += kernels.rows) {
        kernels.dot(panels[p], args.rows + (i + j) * row_bytes, row_bytes,
                    std::min(kernels.rows, out.rows - j), acc + j * kColumnsPerPanel);
      }
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
  parallel.run(cut.row_blocks * cut.panel_blocks, cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_chunk(args, cut, chunk);
    }
  });
}

} // namespace octet::kernels
