// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/coded_gemm.h"

#include <algorithm>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/coded_rows.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

// Decoded weights take half of the smallest first-level cache at most.
constexpr int64_t kDecodedFloats = 4096;
// Only set how much work a chunk has.
constexpr double kCodedProductsPerNs = 40.0, kDecodedPerNs = 8.0;

CodedRowsFn* coded_rows_of(const PackedCodes& w) {
  constexpr CodedRowsFn* kNone = nullptr;
  return for_isa<kNone, Isa::kAvx2, coded_rows_avx2, Isa::kAvx512, coded_rows_avx512>(
      isa_of_panels(w.isa, w.width));
}

/// Rows of x times panels.
class CodedChunk {
 public:
  CodedChunk(const CodedGemmArgs& args, const FloatTileKernels& kernels)
      : a_(args), kernels_(kernels), decode_(decode_of(args.w->isa, args.w->width)),
        few_rows_(coded_rows_of(*args.w)) {}

  void run(Range rows, Range panels) {
    if (few_rows_ != nullptr && rows.count() <= kCodedRows) {
      const Range whole{panels.begin, std::min(panels.end, a_.w->n / a_.w->width)};
      const int64_t together = coded_panels(rows.count(), a_.w->width);
      int64_t p = whole.begin;
      for (; p + together <= whole.end; p += together)
        run_few(rows, p, together);
      for (; p < whole.end; ++p)
        run_few(rows, p, 1);
      panels.begin = std::max(panels.begin, whole.end);
    }
    const float* starts[FloatBlock::kMaxRows];
    for (int64_t i = 0; i < rows.count(); ++i)
      starts[i] = a_.x + (rows.begin + i) * a_.x_stride;
    FloatBlock block;
    block.rows = starts;
    block.count = rows.count();
    block.row = rows.begin;
    block.kernels = kernels_;
    block.y_stride = a_.y_stride;
    for (int64_t p = panels.begin; p < panels.end; ++p)
      run_panel(block, p);
  }

 private:
  void run_few(Range rows, int64_t panel, int64_t panels) const {
    const int64_t column = panel * a_.w->width;
    CodedRowsArgs few;
    few.w = decode_args(panel);
    few.w.end = a_.w->k;
    few.panels = panels;
    few.panel_bytes = a_.w->panel_bytes();
    few.panel_scales = a_.scales->k * a_.w->width;
    few.rows = rows.count();
    few.x = a_.x + rows.begin * a_.x_stride;
    few.x_stride = a_.x_stride;
    few.epilogue = a_.epilogue;
    if (few.epilogue.bias != nullptr) few.epilogue.bias += column;
    few.y = a_.y + rows.begin * a_.y_stride + column;
    few.y_stride = a_.y_stride;
    few_rows_(few);
  }

  void run_panel(FloatBlock& block, int64_t panel) const {
    const PackedCodes& w = *a_.w;
    const int64_t at_once = kDecodedFloats / w.width;
    auto* decoded = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kTile, static_cast<size_t>(at_once * w.width) * sizeof(float)));
    const int64_t column = panel * w.width;
    block.w = decoded;
    block.n = std::min(w.width, w.n - column);
    block.panels = {0, 1};
    block.y = a_.y + column;
    for (int64_t k = 0; k < w.k; k += at_once) {
      const FloatRun run{.x = k, .k = 0};
      block.runs = &run;
      block.run = std::min(at_once, w.k - k);
      decode(panel, k, k + block.run, decoded);
      const bool is_last = k + block.run == w.k;
      block.continues = k > 0;
      block.epilogue = is_last ? a_.epilogue : FloatEpilogue();
      if (block.epilogue.bias != nullptr) block.epilogue.bias += column;
      run_block(block);
    }
  }

  void decode(int64_t panel, int64_t begin, int64_t end, float* out) const {
    DecodeArgs d = decode_args(panel);
    d.begin = begin;
    d.end = end;
    d.out = out;
    decode_(d);
  }

  DecodeArgs decode_args(int64_t panel) const {
    const PackedCodes& w = *a_.w;
    const int64_t scales = panel * a_.scales->k * w.width;
    return {.type = w.type,
            .has_nan = w.has_nan,
            .codes = w.data.as<uint8_t>() + panel * w.panel_bytes(),
            .width = w.width,
            .block = a_.block,
            .scales = a_.scales->data.as<float>() + scales,
            .zeros = a_.zeros == nullptr ? nullptr : a_.zeros->data.as<float>() + scales};
  }

  const CodedGemmArgs& a_;
  FloatTileKernels kernels_;
  DecodeFn* decode_;
  CodedRowsFn* few_rows_; ///< null: there is none
};

} // namespace

void coded_gemm(const CodedGemmArgs& args, ParallelFor& parallel) {
  const PackedCodes& w = *args.w;
  if (args.m <= 0 || w.n <= 0 || w.k <= 0) return;
  const FloatTileKernels kernels = float_tile_kernels(w.isa, w.n);
  const Blocks rows = even_blocks(args.m, FloatBlock::kMaxRows, kernels.rows);
  const auto panel = static_cast<double>(w.k * w.width);
  ChunkCost cost;
  cost.panel_ns =
      panel * static_cast<double>(rows.longest()) / kCodedProductsPerNs + panel / kDecodedPerNs;
  cost.panels_together = kPanelsOfRows[0];
  const Cut cut = cut_panels(rows, round_up(w.n, w.width) / w.width, cost);
  parallel.run(cut.chunks(), cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk)
      CodedChunk(args, kernels).run(cut.rows_of(chunk), cut.panels_of(chunk));
  });
}

} // namespace octet::kernels
