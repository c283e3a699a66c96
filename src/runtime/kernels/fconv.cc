// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the float convolution: windows where they lie on the tiles of sgemm, groups
// narrower than a vector by narrow_conv. Pixels whose windows have the same taps inside the image
// run together, without those in the padding; where they would be too few, lines are copied with
// their padding (conv_lines.h).
#include "runtime/kernels/fconv.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "runtime/kernels/conv_lines.h"
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
// In steps of k of a tile: what a tile costs besides, and the rows that a shorter tile waits for.
constexpr int64_t kTileSteps = 24;
constexpr int64_t kWaitedRows = 3;

/// One axis of a convolution.
struct Axis {
  int64_t in, out, kernel, stride, pad, dilation;

  Range taps(int64_t at) const { return taps_inside(at, stride, pad, dilation, kernel, in); }
  /// The places from `at` on whose windows have the same taps inside the image.
  Range same(int64_t at) const {
    const Range first = taps(at);
    int64_t end = at + 1;
    if (first.count() == kernel) {
      end = std::max(end, (in - 1 + pad - (kernel - 1) * dilation) / stride + 1);
      return {at, std::min(end, out)};
    }
    for (; end < out; ++end) {
      const Range next = taps(end);
      if (next.begin != first.begin || next.end != first.end) break;
    }
    return {at, end};
  }
  bool padded() const { return taps(0).count() < kernel || taps(out - 1).count() < kernel; }
};
Axis rows_axis(const ConvShape& s) {
  return {s.in_h, s.out_h, s.kernel_h, s.stride_h, s.pad_top, s.dilation_h};
}
Axis columns_axis(const ConvShape& s) {
  return {s.in_w, s.out_w, s.kernel_w, s.stride_w, s.pad_left, s.dilation_w};
}

/// How a convolution is cut. Depends on shapes alone, and on whether weights are finite.
struct FconvPlan {
  LinePlan lines;    ///< of output lines; copied with their padding, or in place
  Blocks columns;    ///< of y; whole lines where several are in a chunk
  Blocks panels;     ///< that a chunk computes
  bool skip = false; ///< taps in the padding are left out, and x is read in place
  int64_t chunks_of_pixels() const { return lines.blocks.count * columns.count; }
};

/// Steps of k of tiles `tile` rows high over `rows` rows.
int64_t steps(int64_t rows, int64_t k, int64_t tile) {
  return Blocks(rows, tile).count * kTileSteps + std::max(rows, kWaitedRows) * k;
}

/// Whether leaving out the taps in the padding is less work for `lines` output lines at a time:
/// pixels of which others have other taps are fewer in a tile.
bool skipping_pays(const ConvShape& s, int64_t lines, int64_t tile) {
  const Axis rows = rows_axis(s), columns = columns_axis(s);
  const int64_t in = s.group_in(), blocks = Blocks(s.out_h, lines).count;
  const int64_t images = std::max<int64_t>(lines / s.out_h, 1);
  int64_t skipped = 0;
  for (Range h = rows.same(0);; h = rows.same(h.end)) {
    // Lines of the same taps come in about so many chunks.
    const int64_t parts = std::clamp<int64_t>(h.count() / lines, 1, blocks);
    for (Range w = columns.same(0);; w = columns.same(w.end)) {
      const int64_t k = rows.taps(h.begin).count() * columns.taps(w.begin).count() * in;
      skipped += parts * steps(images * h.count() * w.count() / parts, k, tile) / images;
      if (w.end == s.out_w) break;
    }
    if (h.end == s.out_h) break;
  }
  const int64_t padded = blocks * steps(s.out_h * s.out_w / blocks, s.k(), tile);
  return skipped < padded;
}

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
              skipping_pays(s, plan.lines.blocks.size, float_tile_kernels(w.isa, w.n).rows);
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

/// Pixels of a chunk whose windows have the same taps.
struct SamePixels {
  Range taps_h, taps_w;
  int64_t first = 0, count = 0;
};

/// The pixels of a chunk, those of the same taps together: where the first tap of each lies in x or
/// in the copied lines, and where each lies in y. In the scratch memory of the chunk.
class ChunkPixels {
 public:
  ChunkPixels(const FconvArgs& args, const FconvPlan& plan, Range lines, Range columns)
      : args_(args), s_(args.shape) {
    const auto most = static_cast<size_t>(lines.count() * columns.count());
    std::byte* memory = chunk_scratch(
        Scratch::kRows, most * (sizeof(SamePixels) + sizeof(const float*) + sizeof(int64_t)));
    same_ = reinterpret_cast<SamePixels*>(memory);
    starts_ = reinterpret_cast<const float**>(same_ + most);
    places_ = reinterpret_cast<int64_t*>(starts_ + most);
    if (plan.skip)
      add_in_place(lines, columns);
    else
      add_copied(plan.lines, lines);
  }

  const float* const* starts(const SamePixels& same) const { return starts_ + same.first; }
  const int64_t* places(const SamePixels& same) const { return places_ + same.first; }
  const SamePixels* begin() const { return same_; }
  const SamePixels* end() const { return same_ + classes_; }

 private:
  void add_copied(const LinePlan& plan, Range lines) {
    auto* copied = reinterpret_cast<float*>(
        chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(plan.size) * sizeof(float)));
    copy_lines(s_, plan, args_.x, lines, 0.0F, copied);
    same_[classes_++] = {{0, s_.kernel_h}, {0, s_.kernel_w}, 0, lines.count() * s_.out_w};
    int64_t place = lines.begin * s_.out_w * s_.out_c;
    each_window<float>(s_, plan, args_.x, copied, lines, [&](const float* start) {
      starts_[count_] = start;
      places_[count_++] = place;
      place += s_.out_c;
    });
  }

  void add_in_place(Range lines, Range columns) {
    const Axis rows = rows_axis(s_);
    for (Range h = rows.same(0);; h = rows.same(h.end)) {
      add_lines(rows.taps(h.begin), h, lines, columns);
      if (h.end == s_.out_h) break;
    }
  }

  /// Those of lines [h.begin, h.end) of each image.
  void add_lines(Range taps_h, Range h, Range lines, Range columns) {
    const Axis axis = columns_axis(s_);
    for (Range w = axis.same(columns.begin); w.begin < columns.end; w = axis.same(w.end)) {
      w.end = std::min(w.end, columns.end);
      SamePixels same{taps_h, axis.taps(w.begin), count_, 0};
      for (int64_t image = lines.begin / s_.out_h; image * s_.out_h < lines.end; ++image) {
        const int64_t first = image * s_.out_h;
        const int64_t end = std::min(first + h.end, lines.end);
        for (int64_t line = std::max(first + h.begin, lines.begin); line < end; ++line)
          add_line(same, line, w);
      }
      same.count = count_ - same.first;
      if (same.count > 0) same_[classes_++] = same;
      if (w.end == columns.end) break;
    }
  }

  void add_line(const SamePixels& same, int64_t line, Range w) {
    const int64_t image = line / s_.out_h, row = line % s_.out_h;
    const int64_t at_h = row * s_.stride_h - s_.pad_top + same.taps_h.begin * s_.dilation_h;
    const int64_t at_w = w.begin * s_.stride_w - s_.pad_left + same.taps_w.begin * s_.dilation_w;
    const bool none = same.taps_h.count() * same.taps_w.count() == 0;
    const float* start =
        none ? args_.x : args_.x + ((image * s_.in_h + at_h) * s_.in_w + at_w) * s_.in_c;
    const int64_t step = none ? 0 : s_.stride_w * s_.in_c;
    int64_t place = (line * s_.out_w + w.begin) * s_.out_c;
    for (int64_t i = 0; i < w.count(); ++i, place += s_.out_c) {
      starts_[count_] = start + i * step;
      places_[count_++] = place;
    }
  }

  const FconvArgs& args_;
  const ConvShape& s_;
  SamePixels* same_;
  const float** starts_;
  int64_t* places_;
  int64_t classes_ = 0, count_ = 0;
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
  const ChunkPixels pixels(args, plan, plan.lines.blocks[at / plan.columns.count],
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
