// SPDX-License-Identifier: Apache-2.0
// int8 convolution without patches (conv_lines.h). Taps that lie beside each other, a window's row or
// one tap where columns are dilated, are a run, whose weights are padded to a multiple of 4; what is
// read past its last tap meets weights of 0. Where tiles multiply runs of
// groups, pixels of the same taps inside the image run together without those in the padding, and x
// is read in place. Else lines are copied where they need padding, the shift by 128 or other orders
// of bytes.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "core/threads.h"
#include "runtime/kernels/conv_lines.h"
#include "runtime/kernels/conv_pixels.h"
#include "runtime/kernels/iconv.h"
#include "runtime/kernels/igemm_matrix.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

// Copied lines stay in a share of the second-level cache, and so do lines that are read where they
// lie once for each few panels of weights.
constexpr int64_t kLineBytes = int64_t{160} << 10;
// Weights that stay in the second-level cache from chunk to chunk.
constexpr int64_t kKeptBytes = int64_t{384} << 10;
constexpr int64_t kShortestChunk = 128;
constexpr int64_t kLongestChunk = 512;
constexpr int64_t kLongestCopied = 256;
constexpr int64_t kLongestPass = 1024;
constexpr int64_t kChunks = 8;
constexpr int64_t kMinDirectPanels = 4;
constexpr double kCopyBytesPerNs = 10.0;
constexpr double kPixelNs = 1.0;
// Lines and pixels are made ready again for each chunk of panels: at most this part of its products.
constexpr double kMostOfProducts = 1.0 / 32;
// In steps of k of a tile: what one costs besides, and making its rows ready for all panels.
constexpr int64_t kTileSteps = 16;
constexpr int64_t kReadySteps = 320;

struct DirectPlan {
  LinePlan lines;
  bool skip = false; ///< taps in the padding are left out, and x is read in place
  Cut cut;           ///< of output lines and panels
};

/// Lines under such windows are many for each line of y: they are read in place, or patches instead.
bool spreads_over_lines(const ConvShape& s) {
  return WindowRuns(s).of_row > 1 && s.kernel_h > 1;
}

bool is_padded(const ConvShape& s) {
  return rows_axis(s).padded() || columns_axis(s).padded();
}

/// Pixels of a chunk where what lies under them stays near in any case: y stays in the first cache
/// between panels, unless windows share much of x.
int64_t few_pixels(const ConvShape& s, int64_t most) {
  if (s.kernel_h * s.kernel_w == 1) return kShortestChunk;
  return std::clamp(s.pixels() / kChunks, kShortestChunk, most);
}

/// Output lines whose windows are read in place, few enough that what lies under them stays near
/// while panels of weights come and go.
Blocks blocks_in_place(const ConvShape& s) {
  // Weights that do not stay are read again for each chunk.
  const int64_t under = std::max<int64_t>(s.stride_h * s.stride_w * s.in_c, 1);
  const int64_t many = std::clamp(kLineBytes / under, kShortestChunk, kLongestPass);
  const int64_t pixels = s.out_c * s.k() <= kKeptBytes ? few_pixels(s, kLongestChunk) : many;
  const int64_t all = s.batch * s.out_h;
  return even_blocks(all, std::clamp<int64_t>(pixels / s.out_w, 1, all), 1);
}

/// Whether windows are read where they lie in x, without their taps in the padding.
bool skips_padding(const IconvArgs& args, const Blocks& lines) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = args.w->groups.front();
  if (!tile_kernels(w.isa).takes_runs || rows_are_shifted(w)) return false;
  if (s.pad_top < 0 || s.pad_left < 0 || WindowRuns(s).bytes % 4 != 0) return false;
  // Offsets into a window are int32.
  const double window =
      static_cast<double>(s.kernel_h) * static_cast<double>(s.dilation_h) *
          static_cast<double>(s.in_w * s.in_c) +
      static_cast<double>(s.kernel_w) * static_cast<double>(s.dilation_w * s.in_c);
  if (window > std::numeric_limits<int32_t>::max()) return false;
  const int64_t times = Blocks(panel_count(w), kPanelsTogether).count;
  const TileCost cost{
      .rows = kTileRows, .steps = kTileSteps + kReadySteps / times, .waited_rows = 3, .depth = 4};
  return !is_padded(s) || spreads_over_lines(s) ||
         (s.in_c % 4 == 0 && skipping_pays(s, lines.size, cost));
}

DirectPlan plan_direct(const IconvArgs& args, int threads) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = args.w->groups.front();
  DirectPlan plan;
  plan.lines.blocks = blocks_in_place(s);
  plan.skip = skips_padding(args, plan.lines.blocks);
  if (plan.skip) {
    plan.lines.pitch = s.in_w * s.in_c;
    plan.lines.in_place = true;
  } else {
    const bool as_it_is = !rows_are_shifted(w) && WindowRuns(s).bytes % 4 == 0;
    plan.lines = plan_lines(s, few_pixels(s, kLongestCopied), kLineBytes, 4, as_it_is);
  }
  const int64_t pixels = plan.lines.blocks.longest() * s.out_w;
  ChunkCost cost;
  cost.panel_ns = panel_ns(pixels, w);
  cost.rows_ns = kPixelNs * static_cast<double>(pixels) +
                 static_cast<double>(plan.lines.size) / kCopyBytesPerNs +
                 gather_ns(pixels, w, s.kernel_h * s.kernel_w > 1);
  // As long as each thread has a chunk.
  const int64_t most = panel_count(w) * plan.lines.blocks.count / std::max(threads, 1);
  cost.min_panels = std::max(
      kMinDirectPanels, std::min(most, panels_worth(cost.rows_ns, cost.panel_ns, kMostOfProducts)));
  cost.panels_together = kPanelsTogether;
  plan.cut = cut_panels(plan.lines.blocks, panel_count(w), cost);
  return plan;
}

/// Adds to `init` what padding that is left out has no part in: its zero point, read as unsigned,
/// times the sums of its weights.
void add_left_out(
    const PackedConv& conv, const SamePixels& same, uint32_t zero, Range columns, int32_t* init) {
  const ConvShape& s = conv.shape;
  const int64_t padded = round_up(s.out_c, kColumnsPerPanel);
  for (int64_t h = 0; h < s.kernel_h; ++h) {
    for (int64_t w = 0; w < s.kernel_w; ++w) {
      if (h >= same.taps_h.begin && h < same.taps_h.end && w >= same.taps_w.begin &&
          w < same.taps_w.end)
        continue;
      const int32_t* sums = conv.tap_sums.as<int32_t>() + (h * s.kernel_w + w) * padded;
      for (int64_t c = columns.begin; c < columns.end; ++c)
        init[c] = static_cast<int32_t>(static_cast<uint32_t>(init[c]) +
                                       zero * static_cast<uint32_t>(sums[c]));
    }
  }
}

/// The rows of a block, class by class of pixels. Scratch::kRowsFloat of the chunk.
class Classes {
 public:
  Classes(const IconvArgs& args, const ChunkPixels<uint8_t>& pixels, Range panels)
      : args_(args),
        s_(args.shape), columns_{panels.begin * kColumnsPerPanel, panels.end * kColumnsPerPanel},
        padded_(round_up(s_.out_c, kColumnsPerPanel)) {
    const auto classes = static_cast<size_t>(pixels.classes());
    const size_t made = classes * sizeof(RowClass);
    const size_t inits = classes * static_cast<size_t>(padded_) * sizeof(int32_t);
    const size_t runs = classes * static_cast<size_t>(s_.kernel_h) * sizeof(GroupRun);
    std::byte* memory = chunk_scratch(Scratch::kRowsFloat, made + inits + runs);
    classes_ = reinterpret_cast<RowClass*>(memory);
    init_ = reinterpret_cast<int32_t*>(memory + made);
    runs_ = reinterpret_cast<GroupRun*>(memory + made + inits);
    for (const SamePixels& same : pixels)
      add(same);
  }
  std::span<const RowClass> all() const { return {classes_, static_cast<size_t>(count_)}; }

 private:
  void add(const SamePixels& same) {
    const int64_t row = s_.kernel_w * s_.in_c / 4, taps = same.taps_w.count();
    RowClass& made = classes_[count_++];
    made = {{same.first, same.first + same.count}, runs_, 0, 0, args_.columns->init};
    if (taps == s_.kernel_w && same.taps_h.count() > 0) {
      add_run(same.taps_h.begin * row, same.taps_h.count() * row, made);
    } else {
      for (int64_t h = same.taps_h.begin; taps > 0 && h < same.taps_h.end; ++h)
        add_run(h * row + same.taps_w.begin * s_.in_c / 4, taps * s_.in_c / 4, made);
    }
    // Rows begin at their first tap.
    made.shift =
        -(same.taps_h.begin * s_.dilation_h * s_.in_w + same.taps_w.begin * s_.dilation_w) *
        s_.in_c;
    const auto zero = static_cast<uint32_t>(args_.x_zero_point + args_.w->groups.front().shift);
    if (zero == 0 || same.taps_h.count() * taps == s_.kernel_h * s_.kernel_w) return;
    std::copy(args_.columns->init + columns_.begin, args_.columns->init + columns_.end,
              init_ + columns_.begin);
    add_left_out(*args_.w, same, zero, columns_, init_);
    made.init = init_;
    init_ += padded_;
  }
  void add_run(int64_t first, int64_t count, RowClass& made) {
    *runs_++ = {static_cast<int32_t>(first), static_cast<int32_t>(count)};
    ++made.run_count;
  }

  const IconvArgs& args_;
  const ConvShape& s_;
  Range columns_;
  int64_t padded_;
  RowClass* classes_;
  int32_t* init_;
  GroupRun* runs_;
  int64_t count_ = 0;
};

/// The lines under some of y, copied as tiles read them.
const uint8_t* copied_lines(const IconvArgs& args, const LinePlan& plan, Range some) {
  const ConvShape& s = args.shape;
  const PackedWeights& w = args.w->groups.front();
  const auto* x = static_cast<const uint8_t*>(args.x);
  auto* lines =
      reinterpret_cast<uint8_t*>(chunk_scratch(Scratch::kRows, static_cast<size_t>(plan.size)));
  const auto pad = static_cast<uint8_t>(args.x_zero_point);
  const TileKernels kernels = tile_kernels(w.isa);
  const auto shifted = [&](const uint8_t* from, int64_t count, uint8_t* to) {
    kernels.shift_copy(from, count, w.shift, to);
  };
  if (rows_are_shifted(w))
    copy_lines(s, plan, x, some, static_cast<uint8_t>(pad + w.shift), lines, shifted);
  else
    copy_lines(s, plan, x, some, pad, lines);
  return lines;
}

void run_chunk(const IconvArgs& args,
               const DirectPlan& plan,
               const int32_t* offsets,
               int64_t chunk) {
  const ConvShape& s = args.shape;
  const Range some = plan.cut.rows_of(chunk);
  const auto* x = static_cast<const uint8_t*>(args.x);
  BlockArgs block;
  block.w = &args.w->groups.front();
  block.columns = args.columns;
  block.epilogue = &args.epilogue;
  block.offsets = offsets;
  block.y = args.y;
  block.y_stride = s.out_c;
  block.panels = plan.cut.panels_of(chunk);
  ChunkPixels<uint8_t> pixels(s, 1, some, {0, s.out_w}, Scratch::kTile);
  if (plan.skip)
    pixels.add_in_place(x);
  else
    pixels.add_windows(plan.lines, x,
                       plan.lines.in_place ? nullptr : copied_lines(args, plan.lines, some));
  block.rows = pixels.starts(*pixels.begin());
  block.places = pixels.places(*pixels.begin());
  block.count = pixels.count();
  if (!plan.skip) return run_block(block);
  const Classes classes(args, pixels, block.panels);
  block.classes = classes.all();
  run_block(block);
}

void pack_tap_sums(const int8_t* w, PackedConv& packed) {
  const ConvShape& s = packed.shape;
  if (!tile_kernels(packed.isa).takes_runs) return;
  const int64_t taps = s.kernel_h * s.kernel_w, padded = round_up(s.out_c, kColumnsPerPanel);
  packed.tap_sums = AlignedBuffer(static_cast<size_t>(taps * padded) * sizeof(int32_t));
  for (int64_t c = 0; c < s.out_c; ++c) {
    for (int64_t tap = 0; tap < taps; ++tap, w += s.in_c)
      packed.tap_sums.as<int32_t>()[tap * padded + c] = std::accumulate(w, w + s.in_c, 0);
  }
}

} // namespace

bool pack_direct(const int8_t* w, PackedConv& packed) {
  const ConvShape& s = packed.shape;
  const WindowRuns runs(s);
  const int64_t padded = runs.padded(), k = s.kernel_h * runs.of_row * padded;
  if (s.groups != 1 || s.k() <= 0 || k > kMaxK) return false;
  if (spreads_over_lines(s) && (!tile_kernels(packed.isa).takes_runs || s.in_c % 4 != 0))
    return false;
  // Runs of few taps would mostly multiply padding.
  if (2 * k > 3 * round_up(s.k(), 4)) return false;
  if (runs.of_row * runs.step > std::numeric_limits<int32_t>::max()) return false;
  std::vector<int8_t> rows(static_cast<size_t>(s.out_c * k), 0);
  for (int64_t i = 0; i < s.out_c * s.kernel_h * runs.of_row; ++i) {
    std::copy_n(w + i * runs.bytes, runs.bytes, rows.begin() + i * padded);
  }
  packed.groups.push_back(pack_weights(rows.data(), k, s.out_c, k, packed.x, packed.isa));
  const PackedWeights& made = packed.groups.front();
  const std::span offsets(made.offsets.as<int32_t>(), made.offsets.bytes() / sizeof(int32_t));
  for (const int32_t offset : offsets) {
    const int64_t which = offset / padded;
    packed.window.push_back(
        {static_cast<int32_t>(which / runs.of_row),
         static_cast<int32_t>(which % runs.of_row * runs.step + offset % padded)});
  }
  pack_tap_sums(w, packed);
  return true;
}

void iconv_direct(const IconvArgs& args, ParallelFor& parallel) {
  const DirectPlan plan = plan_direct(args, parallel.threads());
  const std::vector<WindowGroup>& window = args.w->window;
  auto* offsets = reinterpret_cast<int32_t*>(args.shared);
  const int64_t row = args.shape.dilation_h * plan.lines.pitch;
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowGroup& g = window[i];
    offsets[i] = static_cast<int32_t>(g.row * row + g.column);
  }
  parallel.run(plan.cut.chunks(), plan.cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      run_chunk(args, plan, offsets, chunk);
    }
  });
}

} // namespace octet::kernels
