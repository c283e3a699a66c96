// SPDX-License-Identifier: Apache-2.0
// int8 convolution without patches (conv_lines.h). Weights of a window's row are padded to a
// multiple of 4; what is read past its last tap meets weights of 0. Lines are copied where they
// need padding, the shift by 128 or other orders of bytes.
#include "core/threads.h"
#include "runtime/kernels/conv_lines.h"
#include "runtime/kernels/iconv.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

// Copied lines stay in a share of the second-level cache.
constexpr int64_t kLineBytes = int64_t{160} << 10;
constexpr int64_t kMinDirectPanels = 4;
constexpr double kCopyBytesPerNs = 10.0;
constexpr double kPixelNs = 1.0;

struct DirectPlan {
  LinePlan lines;
  int64_t panels = 1;
  int64_t panel_blocks = 0;
  int64_t grain = 1;
};

int64_t run_bytes(const ConvShape& s) {
  return round_up(s.kernel_w * s.in_c, 4);
}

DirectPlan plan_direct(const IconvArgs& args) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = args.w->groups.front();
  DirectPlan plan;
  const bool as_it_is = !w.flip && !args.w->permuted && s.kernel_w * s.in_c % 4 == 0;
  plan.lines = plan_lines(s, kMaxBlockRows, kLineBytes, 4, as_it_is);
  const int64_t pixels = std::min(plan.lines.lines, s.batch * s.out_h) * s.out_w;
  const double ns = panel_ns(pixels, w);
  const int64_t wanted = round_up(std::max(grain_for(ns), kMinDirectPanels), kPanelsTogether);
  plan.panels = std::clamp<int64_t>(wanted, 1, panel_count(w));
  plan.panel_blocks = (panel_count(w) + plan.panels - 1) / plan.panels;
  plan.grain =
      grain_for(ns * static_cast<double>(plan.panels) + kPixelNs * static_cast<double>(pixels) +
                static_cast<double>(plan.lines.size) / kCopyBytesPerNs);
  return plan;
}

void run_chunk(const IconvArgs& args,
               const DirectPlan& plan,
               const int32_t* offsets,
               int64_t chunk) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = args.w->groups.front();
  const int64_t first = chunk / plan.panel_blocks * plan.lines.lines;
  const int64_t end = std::min(first + plan.lines.lines, s.batch * s.out_h);
  const auto* x = static_cast<const uint8_t*>(args.x);
  uint8_t* lines = nullptr;
  if (!plan.lines.in_place) {
    const int64_t size = plan.lines.size;
    lines = reinterpret_cast<uint8_t*>(
        chunk_scratch(Scratch::kRows, static_cast<size_t>(size * (args.w->permuted ? 3 : 1))));
    const auto pad = static_cast<uint8_t>(args.x_zero_point);
    const int64_t used = copy_lines(s, plan.lines, x, first, end, pad, lines) - lines;
    if (w.flip) flip_bytes(lines, used);
    if (args.w->permuted) permute_bytes(lines, used, lines + size, lines + 2 * size);
  }
  const uint8_t* starts[kMaxBlockRows];
  BlockArgs block;
  block.w = &w;
  block.columns = args.columns;
  block.epilogue = &args.epilogue;
  block.offsets = offsets;
  block.rows = starts;
  block.row = first * s.out_w;
  block.y = args.y;
  block.y_stride = s.out_c;
  block.panel_begin = chunk % plan.panel_blocks * plan.panels;
  block.panel_end = std::min(block.panel_begin + plan.panels, panel_count(w));
  const auto flush = [&] {
    run_block(block);
    block.row += block.count;
    block.count = 0;
  };
  each_window<uint8_t>(s, plan.lines, x, lines, first, end, [&](const uint8_t* start) {
    starts[block.count++] = start;
    if (block.count == kMaxBlockRows) flush();
  });
  if (block.count > 0) flush();
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
  parallel.run(plan.lines.blocks * plan.panel_blocks, plan.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_chunk(args, plan, offsets, chunk);
    }
  });
}

} // namespace octet::kernels
