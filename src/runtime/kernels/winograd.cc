// SPDX-License-Identifier: Apache-2.0
// Packing and driver of the convolution by minimal filtering.
#include "runtime/kernels/winograd.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/tile_function.h"

namespace octet::kernels {
namespace {

constexpr int64_t kLeastChannels = 16;
constexpr auto kPlaces = static_cast<size_t>(kWinogradPlaces);
// Transformed tiles of a chunk stay in a share of the second-level cache, sums of a panel in the first.
constexpr int64_t kTransformedBytes = int64_t{448} << 10;
constexpr int64_t kMostTiles = 64;
constexpr int64_t kMostTilesOfLine = kTileNumbers / kColumnsPerPanel / 2;
constexpr int64_t kMinTransformPanels = 4;
// Transformed weights take four times the memory: beyond this they come too slowly for small images.
constexpr size_t kMostWeightBytes = size_t{3} << 20;
// Only say how much work a chunk has.
constexpr double kProductsPerNs = 80.0;
constexpr double kTransformsPerNs = 16.0;

/// G of the paper, doubled: what three weights are to four places.
std::array<int32_t, 4> transformed(int32_t a, int32_t b, int32_t c) {
  return {2 * a, a + b + c, a - b + c, 2 * c};
}

/// The places of the weights of one output and one input channel, taps `step` apart.
std::array<int32_t, kPlaces> transformed(const int8_t* w, int64_t step) {
  std::array<std::array<int32_t, 4>, 3> rows;
  for (int64_t i = 0; i < 3; ++i)
    rows[static_cast<size_t>(i)] =
        transformed(w[3 * i * step], w[(3 * i + 1) * step], w[(3 * i + 2) * step]);
  std::array<int32_t, kPlaces> all;
  for (size_t j = 0; j < 4; ++j) {
    const std::array<int32_t, 4> column = transformed(rows[0][j], rows[1][j], rows[2][j]);
    for (size_t i = 0; i < 4; ++i)
      all[4 * i + j] = column[i];
  }
  return all;
}

double vector_work(const PackedGroups& groups) {
  return 2.5 * groups.paired + 3.0 * groups.plain + 3.5 * groups.flipped_paired +
         4.0 * groups.flipped;
}

/// Vector instructions of a pixel on 8 columns at a time, by windows and by tiles.
double work_of_windows(const PackedWeights& w) {
  double work = 0.0;
  for (int64_t p = 0; p < panel_count(w); ++p) {
    const auto& panel = w.panels.as<PackedPanel>()[p];
    work += vector_work(panel.groups) * (panel.half || panel.split ? 1 : 2);
    work += vector_work(panel.right);
  }
  return work;
}

double work_of_tiles(const ConvShape& s) {
  const auto vectors = static_cast<double>(2 * Blocks(s.out_c, kColumnsPerPanel).count);
  const auto channels = static_cast<double>(winograd_channels(s));
  return vectors * (4.0 * channels + 12.0) + channels;
}

/// Whether four times a sum stays within int32.
bool sums_fit(const int8_t* w, const ConvShape& s, int32_t most) {
  for (int64_t c = 0; c < s.out_c; ++c, w += s.k()) {
    int64_t sum = 0;
    for (int64_t k = 0; k < s.k(); ++k)
      sum += std::abs(static_cast<int32_t>(w[k]));
    if (sum * most >= int64_t{1} << 29) return false;
  }
  return true;
}

struct WinogradPlan {
  int64_t tiles_h = 0, tiles_w = 0; ///< of an image
  Cut cut;                          ///< of tiles of all images, and panels
  // Elements from a place to the next, one line off a power of two: all places are used in turn.
  int64_t x_step = 0, sum_step = 0;
};

WinogradPlan plan_tiles(const ConvShape& s) {
  WinogradPlan plan;
  plan.tiles_h = Blocks(s.out_h, 2).count;
  plan.tiles_w = Blocks(s.out_w, 2).count;
  const int64_t channels = winograd_channels(s);
  const int64_t tile_bytes = kWinogradPlaces * channels * int64_t{sizeof(int16_t)};
  const int64_t most = std::clamp(kTransformedBytes / tile_bytes, kMostTiles / 2, kMostTiles);
  const Blocks blocks = even_blocks(s.batch * plan.tiles_h * plan.tiles_w, most, 4);
  const auto places = static_cast<double>(blocks.longest() * channels * kWinogradPlaces);
  ChunkCost cost;
  cost.panel_ns = places * kColumnsPerPanel / kProductsPerNs;
  cost.rows_ns = places / kTransformsPerNs;
  cost.min_panels = kMinTransformPanels;
  plan.cut = cut_panels(blocks, Blocks(s.out_c, kColumnsPerPanel).count, cost);
  plan.x_step = round_up(blocks.size, 4) * channels + 32;
  plan.sum_step = round_up(blocks.size, 4) * kColumnsPerPanel + 16;
  return plan;
}

/// A tile by its place among those of all images.
struct TilePlace {
  int64_t image = 0, row = 0, column = 0; ///< of its first output
};

TilePlace place_of(const WinogradPlan& plan, int64_t tile) {
  const int64_t line = tile / plan.tiles_w;
  return {line / plan.tiles_h, line % plan.tiles_h * 2, tile % plan.tiles_w * 2};
}

class WinogradChunk {
 public:
  WinogradChunk(const IconvArgs& args, const WinogradPlan& plan, Range tiles)
      : args_(args), plan_(plan), s_(args.shape), tiles_(tiles),
        x_(scratch<int16_t>(Scratch::kRows, plan.x_step, round_up(args.shape.in_c, 64))),
        pad_(reinterpret_cast<uint8_t*>(x_ + kWinogradPlaces * plan.x_step)),
        sums_(scratch<int32_t>(Scratch::kTile, plan.sum_step, 0)) {}

  void transform() {
    constexpr WinogradTileFn* kNone = nullptr;
    const auto tile =
        for_isa<kNone, Isa::kAvx2, winograd_tile_avx2, Isa::kAvx512, winograd_tile_avx512>(
            args_.w->isa);
    const int32_t shift = args_.w->groups.front().shift;
    std::fill_n(pad_, s_.in_c, static_cast<uint8_t>(args_.x_zero_point));
    for (int64_t t = tiles_.begin; t < tiles_.end; ++t) {
      const uint8_t* at[kPlaces];
      find(place_of(plan_, t), at);
      tile(at, s_.in_c, shift, x_ + (t - tiles_.begin) * winograd_channels(s_), plan_.x_step);
    }
  }

  void run(int64_t panel) {
    constexpr WinogradProductFn* kNone = nullptr;
    const auto product =
        for_isa<kNone, Isa::kAvx2, winograd_product_avx2, Isa::kAvx512, winograd_product_avx512>(
            args_.w->isa);
    const int64_t channels = winograd_channels(s_), place = channels * kColumnsPerPanel;
    const auto* w = args_.w->winograd.as<int16_t>() + panel * kWinogradPlaces * place;
    const int64_t rows = round_up(tiles_.count(), 4);
    for (int64_t p = 0; p < kWinogradPlaces; ++p)
      product(x_ + p * plan_.x_step, rows, channels, w + p * place, sums_ + p * plan_.sum_step);
    // Tiles side by side end together.
    for (int64_t t = tiles_.begin; t < tiles_.end;) {
      const int64_t line_end = (t / plan_.tiles_w + 1) * plan_.tiles_w;
      const int64_t end = std::min({line_end, tiles_.end, t + kMostTilesOfLine});
      end_tiles({t, end}, panel);
      t = end;
    }
  }

 private:
  /// `step` elements of each place, and so many bytes behind them.
  template <typename T>
  static T* scratch(Scratch area, int64_t step, int64_t more) {
    const int64_t bytes = kWinogradPlaces * step * int64_t{sizeof(T)} + more;
    return reinterpret_cast<T*>(chunk_scratch(area, static_cast<size_t>(bytes)));
  }

  /// Where the places of a tile lie; those in the padding in a line of it.
  void find(const TilePlace& tile, const uint8_t** at) const {
    const auto* image =
        static_cast<const uint8_t*>(args_.x) + tile.image * s_.in_h * s_.in_w * s_.in_c;
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t row = tile.row - s_.pad_top + i;
      for (int64_t j = 0; j < 4; ++j) {
        const int64_t column = tile.column - s_.pad_left + j;
        const bool inside = row >= 0 && row < s_.in_h && column >= 0 && column < s_.in_w;
        *at++ = inside ? image + (row * s_.in_w + column) * s_.in_c : pad_;
      }
    }
  }

  void end_tiles(Range tiles, int64_t panel) const {
    constexpr WinogradOutputFn* kNone = nullptr;
    const auto output =
        for_isa<kNone, Isa::kAvx2, winograd_output_avx2, Isa::kAvx512, winograd_output_avx512>(
            args_.w->isa);
    alignas(64) int32_t lines[2][kTileNumbers];
    output(sums_ + (tiles.begin - tiles_.begin) * kColumnsPerPanel, plan_.sum_step, tiles.count(),
           lines[0], lines[1]);
    const TilePlace first = place_of(plan_, tiles.begin);
    TileOut out = tile_of(*args_.columns, args_.y, s_.out_c);
    out.column = panel * kColumnsPerPanel;
    out.columns = std::min(kColumnsPerPanel, s_.out_c - out.column);
    out.rows = std::min(2 * tiles.count(), s_.out_w - first.column);
    for (int64_t i = 0; i < 2 && first.row + i < s_.out_h; ++i) {
      out.acc = lines[i];
      out.row = ((first.image * s_.out_h) + first.row + i) * s_.out_w + first.column;
      tile_kernels(args_.w->isa).epilogue(args_.epilogue, out);
    }
  }

  const IconvArgs& args_;
  const WinogradPlan& plan_;
  const ConvShape& s_;
  Range tiles_;
  int16_t* x_;   ///< [16 places, tiles, channels]
  uint8_t* pad_; ///< channels of a place in the padding
  int32_t* sums_;
};

} // namespace

size_t winograd_bytes(const ConvShape& s) {
  return static_cast<size_t>(round_up(s.out_c, kColumnsPerPanel) * winograd_channels(s) *
                             kWinogradPlaces) *
         sizeof(int16_t);
}

bool takes_winograd(const ConvShape& s, Isa isa) {
  return multiplies_in_int16(isa) && s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h == 1 &&
         s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 && s.groups == 1 &&
         s.in_c >= kLeastChannels;
}

PackedWeights winograd_sums(const ConvShape& s, XRange x, Isa isa, AlignedBuffer sums) {
  PackedWeights made;
  made.isa = isa;
  made.x = x;
  made.shift = shift_of(x, isa);
  made.n = s.out_c;
  made.k = s.k();
  made.sums = std::move(sums);
  return made;
}

void pack_winograd(const int8_t* w, PackedConv& packed) {
  const ConvShape& s = packed.shape;
  PackedWeights& direct = packed.groups.front();
  if (!takes_winograd(s, packed.isa) || winograd_bytes(s) > kMostWeightBytes) return;
  if (work_of_tiles(s) >= work_of_windows(direct)) return;
  if (!sums_fit(w, s, std::max(packed.x.hi + direct.shift, 1))) return;
  packed.winograd = AlignedBuffer(winograd_bytes(s));
  const int64_t place = winograd_channels(s) * kColumnsPerPanel;
  for (int64_t o = 0; o < s.out_c; ++o) {
    auto* to = packed.winograd.as<int16_t>() + o / kColumnsPerPanel * kWinogradPlaces * place +
               o % kColumnsPerPanel * 2;
    for (int64_t c = 0; c < s.in_c; ++c) {
      const std::array<int32_t, kPlaces> all = transformed(w + o * s.k() + c, s.in_c);
      int16_t* pair = to + c / 2 * 2 * kColumnsPerPanel + c % 2;
      for (size_t p = 0; p < kPlaces; ++p, pair += place)
        *pair = static_cast<int16_t>(all[p]);
    }
  }
  direct = winograd_sums(s, packed.x, packed.isa, std::move(direct.sums));
  packed.window.clear();
}

void iconv_winograd(const IconvArgs& args, ParallelFor& parallel) {
  const WinogradPlan plan = plan_tiles(args.shape);
  parallel.run(plan.cut.chunks(), plan.cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      WinogradChunk tiles(args, plan, plan.cut.rows_of(chunk));
      tiles.transform();
      const Range panels = plan.cut.panels_of(chunk);
      for (int64_t p = panels.begin; p < panels.end; ++p)
        tiles.run(p);
    }
  });
}

} // namespace octet::kernels
