// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the float convolution: windows where they lie on the tiles of sgemm, groups
// narrower than a vector by narrow_conv. Pixels whose windows have the same taps inside the image
// run together, without those in the padding; where they would be too few, lines are copied with
// their padding (conv_lines.h).
#include "runtime/kernels/fconv.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "runtime/kernels/conv_axis.h"
#include "runtime/kernels/conv_lines.h"
#include "runtime/kernels/conv_pixels.h"
#include "runtime/kernels/sgemm_tile.h"

namespace octet::kernels {
namespace {

constexpr double kFconvProductsPerNs = 40.0;
// Copied lines stay in a share of the second-level cache, and so do lines that are read where they
// lie once for each panel of weights.
constexpr int64_t kCopiedFloats = int64_t{32} << 10;
constexpr int64_t kLineFloats = int64_t{96} << 10;
// Panels of weights that a chunk goes over its pixels with at a time.
constexpr int64_t kPanelFloats = int64_t{64} << 10;
// Weights that stay in the second-level cache from chunk to chunk.
constexpr int64_t kKeptFloats = int64_t{96} << 10;
// Neighbouring output lines share most of the input lines under them: so a chunk is several blocks
// of rows where that leaves enough chunks for the threads.
constexpr int64_t kLongestChunk = 4 * FloatBlock::kMaxRows;
constexpr int64_t kLongestPass = 1024;
constexpr int64_t kChunks = 8;
constexpr int64_t kTileSteps = 24; // of k
constexpr int64_t kWaitedRows = 3;

/// How a convolution is cut. Depends on shapes alone, and on whether weights are finite.
struct FconvPlan {
  LinePlan lines;    ///< of output lines; copied with their padding, or in place
  Blocks columns;    ///< of y; whole lines where several are in a chunk
  Blocks panels;     ///< that a chunk computes
  bool skip = false; ///< taps in the padding are left out, and x is read in place
  int64_t chunks_of_pixels() const { return lines.blocks.count * columns.count; }
};

/// Cuts y where x is read in place: pixels that share what lies under them, few enough that it stays
/// near while panels of weights come and go.
void cut_in_place(const ConvShape& s, bool weights_stay, FconvPlan& plan) {
  const int64_t few = std::clamp(s.pixels() / kChunks, FloatBlock::kMaxRows, kLongestChunk);
  // Weights that do not stay are read again for each chunk.
  const int64_t under = std::max<int64_t>(s.stride_h * s.stride_w * s.in_c, 1);
  const int64_t many = std::clamp<int64_t>(kLineFloats / under, FloatBlock::kMaxRows, kLongestPass);
  const int64_t pixels = weights_stay ? few : many;
  plan.lines.in_place = true;
  plan.lines.pitch = s.in_w * s.in_c;
  const int64_t all = s.batch * s.out_h;
  plan.lines.blocks = even_blocks(all, std::clamp<int64_t>(pixels / s.out_w, 1, all), 1);
  if (plan.lines.blocks.size == 1) plan.columns = even_blocks(s.out_w, pixels, 1);
}

FconvPlan plan_fconv(const FconvArgs& args) {
  const ConvShape& s = args.shape;
  const PackedFloat& w = args.w->groups[0];
  const bool weights_stay = s.groups > 1 || s.out_c * s.k() <= kKeptFloats;
  FconvPlan plan;
  plan.columns = {s.out_w, s.out_w};
  cut_in_place(s, weights_stay, plan);
  const bool padded = rows_axis(s).padded() || columns_axis(s).padded();
  plan.skip = !padded || s.pad_top < 0 || s.pad_left < 0 || !args.w->finite ||
              skipping_pays(s, plan.lines.blocks.size,
                            {.rows = float_tile_kernels(w.isa, w.n).rows,
                             .steps = kTileSteps,
                             .waited_rows = kWaitedRows});
  if (!plan.skip) {
    const int64_t pixels = std::clamp(s.pixels() / kChunks, FloatBlock::kMaxRows, kLongestChunk);
    plan.lines = plan_lines(s, pixels, kCopiedFloats, 1, false);
    plan.columns = {s.out_w, s.out_w};
  }
  const int64_t panels = panel_count(w);
  const int64_t cuts = weights_stay ? 1 : std::max<int64_t>(kChunks / plan.chunks_of_pixels(), 1);
  plan.panels = even_blocks(panels, std::max<int64_t>(panels / cuts, 1), 1);
  return plan;
}

/// The pixels of a chunk: where each lies in x or in the copied lines, and at which element in y.
class FloatPixels : public ChunkPixels<float> {
 public:
  FloatPixels(const FconvArgs& args, const FconvPlan& plan, Range lines, Range columns)
      : ChunkPixels(args.shape, args.shape.out_c, lines, columns, Scratch::kRows) {
    if (plan.skip)
      add_in_place(args.x);
    else
      add_windows(plan.lines, args.x, copied_lines(args, plan.lines, lines));
  }

 private:
  static const float* copied_lines(const FconvArgs& args, const LinePlan& plan, Range lines) {
    auto* copied = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(plan.size) * sizeof(float)));
    copy_lines(args.shape, plan, args.x, lines, 0.0F, copied);
    return copied;
  }
};

/// The runs of a window of some taps in a group; `pitch` leads from line to line.
int64_t fill_runs(
    const ConvShape& s, const SamePixels& same, int64_t pitch, int64_t group, FloatRun* runs) {
  const int64_t in = s.group_in(), first = group * in;
  const bool whole = s.groups == 1 && s.dilation_w == 1;
  const int64_t in_row = whole ? std::min<int64_t>(same.taps_w.count(), 1) : same.taps_w.count();
  int64_t count = 0;
  for (int64_t i = 0; i < same.taps_h.count(); ++i)
    for (int64_t j = 0; j < in_row; ++j) {
      const int64_t tap = (same.taps_h.begin + i) * s.kernel_w + same.taps_w.begin + j;
      runs[count++] = {i * s.dilation_h * pitch + j * s.dilation_w * s.in_c + first, tap * in};
    }
  return count;
}

void run_chunk(const FconvArgs& args, const FconvPlan& plan, int64_t chunk) {
  const ConvShape& s = args.shape;
  const Range all = plan.panels[chunk % plan.panels.count];
  const int64_t at = chunk / plan.panels.count;
  const FloatPixels pixels(args, plan, plan.lines.blocks[at / plan.columns.count],
                           plan.columns[at % plan.columns.count]);
  auto* runs = reinterpret_cast<FloatRun*>(chunk_scratch(
      Scratch::kTile, static_cast<size_t>(s.kernel_h * s.kernel_w) * sizeof(FloatRun)));
  for (int64_t group = 0; group < s.groups; ++group) {
    const PackedFloat& w = args.w->groups[static_cast<size_t>(group)];
    FloatBlock block;
    block.w = w.data.as<float>();
    block.k = w.k;
    block.n = w.n;
    block.kernels = float_tile_kernels(w.isa, w.n);
    block.epilogue = args.epilogue;
    if (block.epilogue.bias != nullptr) block.epilogue.bias += group * s.group_out();
    block.y = args.y + group * s.group_out();
    const int64_t together =
        std::max<int64_t>(kPanelFloats / std::max<int64_t>(w.k * w.width, 1), 1);
    for (int64_t p = all.begin; p < all.end; p += together) {
      block.panels = {p, std::min(p + together, all.end)};
      for (const SamePixels& same : pixels) {
        const int64_t count = fill_runs(s, same, plan.lines.pitch, group, runs);
        // A sum over nothing still gets its bias.
        block.segments = std::max<int64_t>(count, 1);
        block.runs = count == 0 ? kOneRun : runs;
        block.run = count == 0 ? 0 : s.group_in();
        if (s.groups == 1 && s.dilation_w == 1) block.run *= same.taps_w.count();
        block.rows = pixels.starts(same);
        block.places = pixels.places(same);
        block.count = same.count;
        run_block(block);
      }
    }
  }
}

} // namespace

PackedFloatConv pack_float_conv(const float* w, const ConvShape& shape, Isa isa) {
  PackedFloatConv packed;
  packed.shape = shape;
  packed.finite =
      std::all_of(w, w + shape.out_c * shape.k(), [](float v) { return std::isfinite(v); });
  packed.narrow = pack_narrow(w, shape, isa);
  if (packed.narrow.lanes > 0) return packed;
  for (int64_t g = 0; g < shape.groups; ++g) {
    const float* first = w + g * shape.group_out() * shape.k();
    packed.groups.push_back(pack_float({first, 1, shape.k(), shape.group_out(), shape.k()}, isa));
  }
  return packed;
}

void fconv(const FconvArgs& args, ParallelFor& parallel) {
  const ConvShape& s = args.shape;
  if (s.pixels() <= 0 || s.out_c <= 0) return;
  if (args.w->narrow.lanes > 0)
    return narrow_conv({s, args.x, &args.w->narrow, args.epilogue, args.y}, parallel);
  const FconvPlan plan = plan_fconv(args);
  const double chunk_ns =
      static_cast<double>(plan.lines.blocks.size * plan.columns.size * s.k() * s.out_c) /
      (kFconvProductsPerNs * static_cast<double>(plan.panels.count));
  parallel.run(plan.chunks_of_pixels() * plan.panels.count, grain_for(chunk_ns),
               [&](int64_t begin, int64_t end) {
                 for (int64_t chunk = begin; chunk < end; ++chunk)
                   run_chunk(args, plan, chunk);
               });
}

} // namespace octet::kernels
