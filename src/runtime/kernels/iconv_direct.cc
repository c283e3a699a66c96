// SPDX-License-Identifier: Apache-2.0
// int8 convolution without patches (conv_lines.h). Weights of a window's row are padded to a
// multiple of 4; what is read past its last tap meets weights of 0. Lines are copied where they
// need padding, the shift by 128 or other orders of bytes.
#include "core/threads.h"
#include "runtime/kernels/conv_lines.h"
#include "runtime/kernels/iconv.h"
#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/row_block.h"

namespace octet::kernels {
namespace {

// Copied lines stay in a share of the second-level cache.
constexpr int64_t kLineBytes = int64_t{160} << 10;
constexpr int64_t kMinDirectPanels = 4;
constexpr double kCopyBytesPerNs = 10.0;
constexpr double kPixelNs = 1.0;

struct DirectPlan {
  LinePlan lines;
  Cut cut; ///< of output lines and panels
};

int64_t run_bytes(const ConvShape& s) {
  return round_up(s.kernel_w * s.in_c, 4);
}

DirectPlan plan_direct(const IconvArgs& args) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = args.w->groups.front();
  DirectPlan plan;
  const bool as_it_is = !rows_are_shifted(w) && !args.w->permuted && s.kernel_w * s.in_c % 4 == 0;
  plan.lines = plan_lines(s, BlockArgs::kMaxRows, kLineBytes, 4, as_it_is);
  const int64_t pixels = plan.lines.blocks.longest() * s.out_w;
  ChunkCost cost;
  cost.panel_ns = panel_ns(pixels, w);
  cost.rows_ns = kPixelNs * static_cast<double>(pixels) +
                 static_cast<double>(plan.lines.size) / kCopyBytesPerNs;
  cost.min_panels = kMinDirectPanels;
  cost.panels_together = kPanelsTogether;
  plan.cut = cut_panels(plan.lines.blocks, panel_count(w), cost);
  return plan;
}

void run_chunk(const IconvArgs& args,
               const DirectPlan& plan,
               const int32_t* offsets,
               int64_t chunk) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = args.w->groups.front();
  const Range some = plan.cut.rows_of(chunk);
  const auto* x = static_cast<const uint8_t*>(args.x);
  uint8_t* lines = nullptr;
  if (!plan.lines.in_place) {
    const int64_t size = plan.lines.size;
    lines = reinterpret_cast<uint8_t*>(
        chunk_scratch(Scratch::kRows, static_cast<size_t>(size * (args.w->permuted ? 3 : 1))));
    const auto pad = static_cast<uint8_t>(args.x_zero_point);
    const TileKernels kernels = tile_kernels(w.isa);
    const auto shifted = [&](const uint8_t* from, int64_t count, uint8_t* to) {
      kernels.shift_copy(from, count, w.shift, to);
    };
    const uint8_t* end = rows_are_shifted(w)
                             ? copy_lines(s, plan.lines, x, some,
                                          static_cast<uint8_t>(pad + w.shift), lines, shifted)
                             : copy_lines(s, plan.lines, x, some, pad, lines);
    const int64_t used = end - lines;
    if (args.w->permuted) kernels.permute(lines, used, lines + size, lines + 2 * size);
  }
  BlockArgs block;
  block.w = &w;
  block.columns = args.columns;
  block.epilogue = &args.epilogue;
  block.offsets = offsets;
  block.row = some.begin * s.out_w;
  block.y = args.y;
  block.y_stride = s.out_c;
  block.panels = plan.cut.panels_of(chunk);
  RowCollector rows(block);
  each_window<uint8_t>(s, plan.lines, x, lines, some,
                       [&](const uint8_t* start) { rows.add(start); });
  rows.flush();
}

} // namespace

bool pack_direct(const int8_t* w, PackedConv& packed) {
  const ConvShape& s = packed.shape;
  const int64_t run = s.kernel_w * s.in_c;
  const int64_t padded = run_bytes(s);
  const int64_t k = s.kernel_h * padded;
  if (s.groups != 1 || s.dilation_w != 1 || s.k() <= 0 || k > kMaxK) return false;
  // Rows of few taps would mostly multiply padding.
  if (2 * k > 3 * round_up(s.k(), 4)) return false;
  std::vector<int8_t> rows(static_cast<size_t>(s.out_c * k), 0);
  for (int64_t i = 0; i < s.out_c * s.kernel_h; ++i) {
    std::copy_n(w + i * run, run, rows.begin() + i * padded);
  }
  // Groups keep to one grid of 4 bytes if windows do.
  const bool grid = s.stride_w * s.in_c % 4 == 0;
  packed.groups.push_back(pack_weights(rows.data(), k, s.out_c, k, packed.x, packed.isa,
                                       grid ? RowOrders::kMany : RowOrders::kOne));
  const PackedWeights& made = packed.groups.front();
  const auto* offsets = made.offsets.as<int32_t>();
  for (int64_t i = 0; i < panel_count(made) * (k / 4); ++i) {
    const int64_t at = offsets[i] % k;
    packed.window.push_back({static_cast<int32_t>(offsets[i] / k),
                             static_cast<int32_t>(at / padded), static_cast<int32_t>(at % padded)});
    packed.permuted = packed.permuted || offsets[i] >= k;
  }
  return true;
}

void iconv_direct(const IconvArgs& args, ParallelFor& parallel) {
  const DirectPlan plan = plan_direct(args);
  const std::vector<WindowGroup>& window = args.w->window;
  auto* offsets = reinterpret_cast<int32_t*>(args.shared);
  const int64_t row = args.shape.dilation_h * plan.lines.pitch;
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowGroup& g = window[i];
    offsets[i] = static_cast<int32_t>(g.order * plan.lines.size + g.row * row + g.column);
  }
  parallel.run(plan.cut.chunks(), plan.cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_chunk(args, plan, offsets, chunk);
    }
  });
}

} // namespace octet::kernels
