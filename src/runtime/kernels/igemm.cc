// SPDX-License-Identifier: Apache-2.0
// Driver of the int8 product: cuts [m, n] into chunks by shape, packs rows of x, runs tiles.
#include "runtime/kernels/igemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <numeric>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/igemm_matrix.h"
#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/row_block.h"
#include "runtime/kernels/tile_function.h"

namespace octet::kernels {
namespace {

// Packed rows of one chunk stay in a share of the second-level cache.
constexpr int64_t kRowBytes = int64_t{192} << 10;
// Rows that are packed before their products start, when several chunks share them.
constexpr int64_t kSharedBytes = int64_t{4} << 20;
// Packing or gathering a row.
constexpr double kRowNs = 5.0;
constexpr double kPackBytesPerNs = 10.0;
constexpr int64_t kMinPanels = 4;
// Rows that do not lie as matrices read them are gathered for each chunk of panels.
constexpr double kGatherOfProducts = 1.0 / 16;
// Sums of several tiles share one call of the epilogue.
constexpr int64_t kEpilogueRows = kTileNumbers / kColumnsPerPanel;
// Rows stay in the first-level cache while panels go by, panels in the second-level one while rows do.
constexpr int64_t kNearRowBytes = int64_t{20} << 10;
constexpr int64_t kNearWeightBytes = int64_t{96} << 10;

/// Whether rows of x are packed as they are.
bool packs_nothing(const PackedWeights& w) {
  return !rows_are_shifted(w) && w.k_padded == w.k && w.k > 0;
}

void pack_rows(const IgemmArgs& args, Range which, uint8_t* rows) {
  const uint8_t* x = static_cast<const uint8_t*>(args.x) + which.begin * args.x_stride;
  pack_rows(*args.w, x, args.x_stride, which.count(), rows);
}

/// A chunk of packed rows that are `stride` apart, the first of them at `packed`.
void run_chunk(
    const IgemmArgs& args, Range rows, Range panels, const uint8_t* packed, int64_t stride) {
  BlockArgs block;
  block.w = args.w;
  block.columns = args.columns;
  block.epilogue = &args.epilogue;
  block.row = rows.begin;
  block.y = args.y;
  block.y_stride = args.y_stride;
  block.panels = panels;
  run_rows(block, packed, stride, rows.count());
}

/// Each chunk packs the rows that it needs.
void run_private(const IgemmArgs& args, const Cut& cut, ParallelFor& parallel) {
  const PackedWeights& w = *args.w;
  parallel.run(cut.chunks(), cut.grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const Range rows = cut.rows_of(chunk);
      auto* packed = reinterpret_cast<uint8_t*>(
          chunk_scratch(Scratch::kRows, static_cast<size_t>(rows.count() * w.k_padded)));
      pack_rows(args, rows, packed);
      run_chunk(args, rows, cut.panels_of(chunk), packed, w.k_padded);
    }
  });
}

/// Whether each chunk packs its own rows: nobody else needs them.
bool packs_privately(const PackedWeights& w, const Cut& cut) {
  return cut.panels.count == 1 && !packs_nothing(w);
}

/// How many rows run_shared takes at a time.
int64_t rows_together(const PackedWeights& w, const Cut& cut) {
  const int64_t bytes = cut.rows.size * std::max<int64_t>(w.k_padded, 1);
  return std::max<int64_t>(kSharedBytes / bytes, 1) * cut.rows.size;
}

/// All rows are packed first, then chunks of rows and panels share them.
void run_shared(const IgemmArgs& args, Cut cut, ParallelFor& parallel) {
  const PackedWeights& w = *args.w;
  const int64_t fit = rows_together(w, cut);
  const bool in_place = packs_nothing(w);
  for (Range part{0, std::min(fit, args.m)}; part.count() > 0;
       part = {part.end, std::min(part.end + fit, args.m)}) {
    const auto* x = static_cast<const uint8_t*>(args.x) + part.begin * args.x_stride;
    int64_t stride = args.x_stride;
    if (!in_place) {
      stride = w.k_padded;
      auto* rows = reinterpret_cast<uint8_t*>(args.shared);
      const double row_ns = kRowNs + static_cast<double>(w.k_padded) / kPackBytesPerNs;
      parallel.run(part.count(), grain_for(row_ns), [&](int64_t begin, int64_t end) {
        pack_rows(args, {part.begin + begin, part.begin + end}, rows + begin * stride);
      });
      x = rows;
    }
    cut.rows = Blocks(part.count(), cut.rows.size);
    parallel.run(cut.chunks(), cut.grain, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const Range rows = cut.rows_of(chunk);
        run_chunk(args, {part.begin + rows.begin, part.begin + rows.end}, cut.panels_of(chunk),
                  x + rows.begin * stride, stride);
      }
    });
  }
}

/// Panels [p, p + count) as the block reads x: by its offsets, with or without a sign.
void panels_at(const BlockArgs& args, int64_t p, int64_t count, PackedPanel* panels) {
  std::copy_n(args.w->panels.as<PackedPanel>() + p, count, panels);
  const auto* first = args.w->offsets.as<int32_t>();
  const uint8_t flip = args.w->shift != 0 && !rows_are_shifted(*args.w) ? 0x80 : 0;
  for (int64_t q = 0; q < count; ++q) {
    panels[q].flip = flip;
    panels[q].more = p + 2 * kPanelsTogether <= panel_count(*args.w);
    if (args.offsets == nullptr) continue;
    for (PackedGroups* groups : {&panels[q].groups, &panels[q].right})
      if (groups->offsets != nullptr) groups->offsets = args.offsets + (groups->offsets - first);
  }
}

/// Whether the rows of a block are not in one piece.
bool is_scattered(const BlockArgs& args) {
  const int64_t groups = args.w->k_padded / 4;
  if (args.offsets == nullptr || groups == 0) return false;
  return !args.classes.empty() || args.offsets[groups - 1] - args.offsets[0] != 4 * (groups - 1);
}

constexpr auto kInOrder = [] {
  std::array<int64_t, BlockArgs::kMaxRows> places{};
  std::iota(places.begin(), places.end(), int64_t{0});
  return places;
}();

/// Calls visit(class) for the rows of a block, class by class.
template <typename Visit>
void each_class(const BlockArgs& args, const Visit& visit) {
  if (args.classes.empty()) return visit(whole_class(args));
  for (const RowClass& some : args.classes)
    visit(some);
}

void set_runs(const RowClass& some, int64_t count, PackedPanel* panels) {
  for (int64_t q = 0; q < count; ++q) {
    panels[q].runs = some.runs;
    panels[q].run_count = some.run_count;
    panels[q].shift = some.shift;
  }
}

/// Returns the first panel that it leaves to run_sums: a half panel alone.
int64_t run_codes(const BlockArgs& args, const TileKernels& kernels) {
  TileOut out = tile_of(*args.columns, args.y, args.y_stride);
  out.row = args.row;
  for (int64_t p = args.panels.begin; p < args.panels.end; p += kPanelsTogether) {
    const int64_t count = std::min(kPanelsTogether, args.panels.end - p);
    PackedPanel panels[kPanelsTogether];
    panels_at(args, p, count, panels);
    if (panels[0].half) return p;
    out.column = p * kColumnsPerPanel;
    out.columns = std::min(count * kColumnsPerPanel, args.w->n - out.column);
    each_class(args, [&](const RowClass& some) {
      set_runs(some, count, panels);
      out.init = some.init;
      out.rows = some.rows.count();
      out.places = places_of(args) + some.rows.begin;
      kernels.dot_codes(panels, count, args.rows + some.rows.begin, *args.epilogue, out);
    });
  }
  return args.panels.end;
}

/// How many rows meet how many panels before others do.
struct NearBlock {
  int64_t rows, panels;
};

NearBlock near_block(const PackedWeights& w) {
  const int64_t rows = kNearRowBytes / std::max<int64_t>(w.k_padded, 1) / kTileRows * kTileRows;
  const int64_t panels = kNearWeightBytes / std::max<int64_t>(w.k_padded * kColumnsPerPanel, 1);
  return {std::clamp(rows, kTileRows, kEpilogueRows),
          std::clamp<int64_t>(panels, 1, kPanelsOfFewRows)};
}

/// The weights of panels [p, p + count), as far as there are any.
std::span<const int8_t> data_of(const PackedWeights& w, int64_t p, int64_t count) {
  const int64_t end = std::min(p + count, panel_count(w));
  if (p >= end) return {};
  const auto* panels = w.panels.as<PackedPanel>();
  const int8_t* const all = w.data.as<int8_t>();
  return {panels[p].groups.data,
          end < panel_count(w) ? panels[end].groups.data : all + w.data.bytes()};
}

/// Brings weights that come next into the second-level cache, some between any two tiles: at once
/// they would hold up what the tiles read themselves.
class Ahead {
 public:
  Ahead(std::span<const int8_t> weights, int64_t tiles)
      : weights_(weights),
        each_(round_up(static_cast<int64_t>(weights.size()) / std::max<int64_t>(tiles, 1) + 1,
                       kLineBytes)) {}

  void fetch_some() {
    const auto count = std::min(weights_.size(), static_cast<size_t>(each_));
    for (size_t at = 0; at < count; at += kLineBytes)
      __builtin_prefetch(weights_.data() + at, 0, 2);
    weights_ = weights_.subspan(count);
  }

 private:
  static constexpr int64_t kLineBytes = 64;
  std::span<const int8_t> weights_;
  int64_t each_;
};

/// Sums go through memory to the epilogue.
void run_sums(const BlockArgs& args, const TileKernels& kernels, Range which) {
  const bool alone = kernels.dot_panels == nullptr;
  const NearBlock block = alone                    ? near_block(*args.w)
                          : args.count <= kFewRows ? NearBlock{kEpilogueRows, kPanelsOfFewRows}
                                                   : NearBlock{kEpilogueRows, kPanelsTogether};
  constexpr int64_t kSums = kEpilogueRows * kColumnsPerPanel;
  alignas(64) int32_t acc[kPanelsOfFewRows * kSums];
  // What a half panel leaves as it is.
  const auto* all_panels = args.w->panels.as<PackedPanel>();
  if (all_panels[which.end - 1].half) std::fill_n(acc, std::size(acc), 0);
  TileOut out = tile_of(*args.columns, args.y, args.y_stride);
  const auto end_panel = [&](int64_t p, const int64_t* places) {
    out.column = p * kColumnsPerPanel;
    out.columns = std::min(kColumnsPerPanel, args.w->n - out.column);
    end_sums(args, kernels.epilogue, places, out);
  };
  for (int64_t p = which.begin; p < which.end; p += block.panels) {
    const int64_t count = std::min(block.panels, which.end - p);
    PackedPanel panels[kPanelsOfFewRows];
    panels_at(args, p, count, panels);
    Ahead ahead(alone ? data_of(*args.w, p + count, block.panels) : std::span<const int8_t>(),
                (args.count + kTileRows - 1) / kTileRows * count);
    each_class(args, [&](const RowClass& some) {
      set_runs(some, count, panels);
      out.init = some.init;
      for (int64_t i = some.rows.begin; i < some.rows.end; i += block.rows) {
        const int64_t* places = places_of(args) + i;
        out.rows = std::min(block.rows, some.rows.end - i);
        if (!alone) kernels.dot_panels(panels, count, args.rows + i, out.rows, acc, kSums);
        for (int64_t q = 0; q < count; ++q) {
          for (int64_t r = 0; alone && r < out.rows; r += kTileRows) {
            ahead.fetch_some();
            kernels.dot(panels[q], args.rows + i + r, std::min(kTileRows, out.rows - r),
                        acc + r * kColumnsPerPanel);
          }
          out.acc = alone ? acc : acc + q * kSums;
          end_panel(p + q, places);
        }
      }
    });
  }
}

} // namespace

bool makes_codes(const BlockArgs& args) {
  const Epilogue& e = *args.epilogue;
  const bool codes = e.type == YType::kInt8 || e.type == YType::kUint8;
  return codes && e.function == nullptr && args.columns->bounded &&
         (e.residual == nullptr || has_bounded_residual(e));
}

const int64_t* places_of(const BlockArgs& args) {
  return args.places == nullptr ? kInOrder.data() : args.places;
}

void end_sums(const BlockArgs& args, EpilogueTileFn epilogue, const int64_t* places, TileOut out) {
  const int64_t all = out.rows;
  for (int64_t i = 0; i < all; i += out.rows, out.acc += out.rows * kColumnsPerPanel) {
    out.rows = 1;
    while (i + out.rows < all && places[i + out.rows] == places[i] + out.rows)
      ++out.rows;
    out.row = args.row + places[i];
    if (args.epilogue->function != nullptr)
      epilogue_with_function(epilogue, *args.epilogue, out);
    else
      epilogue(*args.epilogue, out);
  }
}

double panel_ns(int64_t rows, const PackedWeights& w) {
  // Products of one core; the epilogue of a row of one panel.
  const bool vnni = multiplies_in_int32(w.isa);
  const bool matrix = pays_in_matrices(rows, w, false);
  const double products_per_ns = matrix ? 1000.0 : vnni ? 200.0 : 80.0;
  const double epilogue_ns = vnni ? 1.5 : 3.0;
  return static_cast<double>(rows) *
         (static_cast<double>(w.k_padded * kColumnsPerPanel) / products_per_ns + epilogue_ns);
}

Cut cut_by_shape(int64_t m, const PackedWeights& w, int64_t min_panels) {
  const int64_t bytes_per_row = std::max<int64_t>(w.k_padded, 1);
  const int64_t limit =
      std::clamp<int64_t>(kRowBytes / bytes_per_row, kTileRows, BlockArgs::kMaxRows);
  const Blocks rows = even_blocks(m, limit, kTileRows);
  ChunkCost cost;
  cost.panel_ns = panel_ns(rows.longest(), w);
  const double gather = gather_ns(rows.longest(), w, false);
  cost.rows_ns = static_cast<double>(rows.longest()) * kRowNs + gather;
  cost.min_panels = std::max(min_panels, panels_worth(gather, cost.panel_ns, kGatherOfProducts));
  cost.panels_together = kPanelsTogether;
  return cut_panels(rows, panel_count(w), cost);
}

void pack_rows(
    const PackedWeights& w, const uint8_t* x, int64_t stride, int64_t count, uint8_t* rows) {
  const TileKernels kernels = tile_kernels(w.isa);
  const bool shifts = rows_are_shifted(w);
  if (shifts && stride == w.k && w.k_padded == w.k)
    return kernels.shift_copy(x, count * w.k, w.shift, rows);
  for (int64_t i = 0; i < count; ++i, x += stride, rows += w.k_padded) {
    if (shifts) {
      kernels.shift_copy(x, w.k, w.shift, rows);
    } else if (w.k > 0) {
      std::memcpy(rows, x, static_cast<size_t>(w.k));
    }
  }
}

void finish_rows(const PackedWeights& w, uint8_t* rows, int64_t count) {
  if (rows_are_shifted(w)) tile_kernels(w.isa).shift_copy(rows, count * w.k_padded, w.shift, rows);
}

void run_block(const BlockArgs& args) {
  if (pays_in_matrices(args.count, *args.w, is_scattered(args)))
    return run_matrix(args, *matrix_kernels(args.w->isa));
  const TileKernels kernels = tile_kernels(args.w->isa);
  Range panels = args.panels;
  if (kernels.dot_codes != nullptr && args.count > kFewRows && makes_codes(args))
    panels.begin = run_codes(args, kernels);
  if (panels.count() > 0) run_sums(args, kernels, panels);
}

void dot_panels(const PackedWeights& w, const uint8_t* const* rows, int64_t count, int32_t* acc) {
  const TileKernels kernels = tile_kernels(w.isa);
  const auto* panels = w.panels.as<PackedPanel>();
  const int64_t all = panel_count(w), step = count * kColumnsPerPanel;
  int64_t together = 1;
  if (kernels.dot_panels != nullptr)
    together = count <= kFewRows ? kPanelsOfFewRows : kPanelsTogether;
  for (int64_t p = 0; p < all; p += together, acc += together * step) {
    if (kernels.dot_panels != nullptr)
      kernels.dot_panels(panels + p, std::min(together, all - p), rows, count, acc, step);
    else
      kernels.dot(panels[p], rows, count, acc);
  }
}

bool rows_are_shifted(const PackedWeights& w) {
  if (w.shift == 0) return false;
  if (!tile_kernels(w.isa).flips) return true;
  // Two units take an exclusive or from every second product of two panels: a third of the time.
  constexpr int64_t kPanelsForCopy = 2;
  return has_two_vector_units() && panel_count(w) >= kPanelsForCopy &&
         !pays_in_matrices(BlockArgs::kMaxRows, w, false);
}

bool multiplies_in_int16(Isa isa) {
  return for_isa<false, Isa::kAvx2, true, Isa::kVnni256, false, Isa::kAvx512, true,
                 Isa::kAvx512Vnni, false>(isa);
}

TileKernels tile_kernels(Isa isa) {
  constexpr DotPanelsFn kNone = nullptr;
  constexpr DotCodesFn kNoCodes = nullptr;
  constexpr EndCodesFn kNoEnd = nullptr;
  return {
      .dot = for_isa<dot_tile_scalar, Isa::kAvx2, dot_tile_avx2, Isa::kVnni256, dot_tile_vnni256,
                     Isa::kAvxVnni, dot_tile_avxvnni, Isa::kAvx512, dot_tile_avx512,
                     Isa::kAvx512Vnni, dot_tile_avx512vnni>(isa),
      .dot_panels = for_isa<kNone, Isa::kAvx512Vnni, dot_panels_avx512vnni>(isa),
      .dot_codes = for_isa<kNoCodes, Isa::kAvx512Vnni, dot_codes_avx512vnni>(isa),
      .epilogue = for_isa<epilogue_tile_scalar, Isa::kAvx2, epilogue_tile_avx2, Isa::kAvx512,
                          epilogue_tile_avx512>(isa),
      .end_codes = for_isa<kNoEnd, Isa::kAvx512, end_codes_avx512>(isa),
      .shift_copy = for_isa<shift_copy_scalar, Isa::kAvx2, shift_copy_avx2>(isa),
      .flips = for_isa<false, Isa::kAvx512Vnni, true>(isa),
      .takes_runs = for_isa<false, Isa::kAvx512Vnni, true>(isa),
      .splits = for_isa<false, Isa::kAvx2, true, Isa::kVnni256, false, Isa::kAvx512, false>(isa),
  };
}

size_t shared_bytes(const IgemmArgs& args) {
  const PackedWeights& w = *args.w;
  if (args.m <= 0 || w.n <= 0 || packs_nothing(w)) return 0;
  const Cut cut = cut_by_shape(args.m, w, kMinPanels);
  if (packs_privately(w, cut)) return 0;
  return static_cast<size_t>(std::min(args.m, rows_together(w, cut)) * w.k_padded);
}

void igemm(const IgemmArgs& args, ParallelFor& parallel) {
  if (args.m <= 0 || args.w->n <= 0) return;
  const Cut cut = cut_by_shape(args.m, *args.w, kMinPanels);
  if (packs_privately(*args.w, cut)) return run_private(args, cut, parallel);
  run_shared(args, cut, parallel);
}

} // namespace octet::kernels
