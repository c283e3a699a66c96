// SPDX-License-Identifier: Apache-2.0
// What the instruction sets supply to igemm and iconv: sums of one tile, and the epilogue of one
// tile.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "runtime/kernels/cut.h"
#include "runtime/kernels/igemm.h"

namespace octet::kernels {

/// Some of the groups of a panel, in the order that they are stored.
struct GroupRun {
  int32_t first = 0;
  int32_t count = 0;
};

/// Groups of 4 k, stored one after another: `paired` come two by two and may be added in int16,
/// `plain` may not. Flipped ones are |w| as u8, then for each byte what x is read through: 0x80, or
/// 0x7F where w < 0; those of `flipped_paired` come two by two, too. Where there are any, int32 of
/// each column follow, which are added to its sum. `wide` are int16 and need x as int16. Offsets
/// follow the same order.
struct PackedGroups {
  const int8_t* data = nullptr;
  const int32_t* offsets = nullptr;
  int32_t paired = 0;
  int32_t plain = 0;
  int32_t flipped_paired = 0;
  int32_t flipped = 0;
  int32_t wide = 0;

  int64_t all_flipped() const { return int64_t{flipped_paired} + flipped; }
  int64_t count() const { return int64_t{paired} + plain + all_flipped() + wide; }
  /// Of `data`, where groups hold so many columns.
  int64_t bytes(int64_t columns) const {
    constexpr int64_t kGroupDepth = 4; // bytes of a column, which an int32 has, too
    const int64_t more = all_flipped() > 0 ? 1 : 0;
    return (count() + all_flipped() + wide + more) * columns * kGroupDepth;
  }
};

/// The weights of 16 columns.
struct PackedPanel {
  PackedGroups groups; ///< of all columns, or of columns 0 to 7 where the panel is split
  PackedGroups right;  ///< of columns 8 to 15 of a split panel that is not half
  bool split = false;  ///< groups hold 8 columns each (TileKernels::splits)
  bool half = false;   ///< columns 8 to 15 are padding
  /// What tiles that flip sign bits themselves (TileKernels::flips) read x through.
  uint8_t flip = 0;
  /// The groups that tiles which take runs (TileKernels::takes_runs) multiply; null: all.
  const GroupRun* runs = nullptr;
  int64_t run_count = 0;
  int64_t shift = 0; ///< such tiles add this to offsets
  bool more = false; ///< two panels follow that will be multiplied next: such tiles bring them near
};

constexpr int64_t kTileRows = 8;

/// acc[r * 16 + c] = sum over k of x[r, k] * w[c, k]; rows[r] is where packed row r starts, count
/// is at least 1. Columns 8 to 15 of a half panel may be left as they are.
using DotTileFn = void (*)(const PackedPanel& panel,
                           const uint8_t* const* rows,
                           int64_t count,
                           int32_t* acc);

/// The same of several panels, whose sums are `acc_step` apart: 2 of them, or 4 for up to kFewRows
/// rows, or fewer of the last ones. All groups are plain, in one order.
using DotPanelsFn = void (*)(const PackedPanel* panels,
                             int64_t panel_count,
                             const uint8_t* const* rows,
                             int64_t count,
                             int32_t* acc,
                             int64_t acc_step);
constexpr int64_t kPanelsTogether = 2;
constexpr int64_t kFewRows = 2;
constexpr int64_t kPanelsOfFewRows = 4;

struct TileOut {
  const int32_t* acc = nullptr; ///< [rows, 16]
  int64_t rows = 0;
  int64_t columns = 0; ///< 1 to 16
  int64_t row = 0;     ///< place of the tile in y
  int64_t column = 0;
  const int32_t* init = nullptr; ///< arrays over n, at column 0 of y
  const float* multiplier = nullptr;
  const float* bias = nullptr;
  bool bounded = false; ///< IgemmColumns::bounded
  void* y = nullptr;    ///< at row 0, column 0
  int64_t y_stride = 0;
  /// For DotCodesFn and EndCodesFn alone: the row of y, from `row` on, that each row comes to.
  const int64_t* places = nullptr;
};

/// A tile of y whose place and sums are still to be said.
inline TileOut tile_of(const IgemmColumns& columns, void* y, int64_t y_stride) {
  TileOut out;
  out.init = columns.init;
  out.multiplier = columns.multiplier;
  out.bias = columns.bias;
  out.bounded = columns.bounded;
  out.y = y;
  out.y_stride = y_stride;
  return out;
}

/// Sums of one or two panels and what becomes of them at once, for 8-bit outputs whose scaled sums
/// are bounded (IgemmColumns::bounded), also with the residual, without a function.
/// `tile` has no acc, and up to 32 columns.
using DotCodesFn = void (*)(const PackedPanel* panels,
                            int64_t panel_count,
                            const uint8_t* const* rows,
                            const Epilogue& epilogue,
                            const TileOut& tile);

using EpilogueTileFn = void (*)(const Epilogue& epilogue, const TileOut& tile);

/// The second half of DotCodesFn: what becomes of the sums of one or two panels, `acc_step` apart, rows
/// and panels aligned to 64. `tile` has no acc, up to 32 columns, and places.
using EndCodesFn = void (*)(const int32_t* acc,
                            int64_t acc_step,
                            int64_t panel_count,
                            const Epilogue& epilogue,
                            const TileOut& tile);

void dot_tile_scalar(const PackedPanel& panel,
                     const uint8_t* const* rows,
                     int64_t count,
                     int32_t* acc);
void dot_tile_avx2(const PackedPanel& panel,
                   const uint8_t* const* rows,
                   int64_t count,
                   int32_t* acc);
void dot_tile_vnni256(const PackedPanel& panel,
                      const uint8_t* const* rows,
                      int64_t count,
                      int32_t* acc);
void dot_tile_avxvnni(const PackedPanel& panel,
                      const uint8_t* const* rows,
                      int64_t count,
                      int32_t* acc);
void dot_tile_avx512(const PackedPanel& panel,
                     const uint8_t* const* rows,
                     int64_t count,
                     int32_t* acc);
void dot_tile_avx512vnni(const PackedPanel& panel,
                         const uint8_t* const* rows,
                         int64_t count,
                         int32_t* acc);
void dot_panels_avx512vnni(const PackedPanel* panels,
                           int64_t panel_count,
                           const uint8_t* const* rows,
                           int64_t count,
                           int32_t* acc,
                           int64_t acc_step);
void dot_codes_avx512vnni(const PackedPanel* panels,
                          int64_t panel_count,
                          const uint8_t* const* rows,
                          const Epilogue& epilogue,
                          const TileOut& tile);

/// Whether sums of k products of codes less their zero points, with no more than `added` beside
/// them, stay below 2^30 times m plus b. False for NaN.
inline bool is_bounded(float m, float b, int64_t k, double added = 0.0) {
  constexpr double kProduct = 255.0 * 256.0; // with the excess of weights
  constexpr double kHalf = 1 << 29;
  const double sum = std::min(static_cast<double>(k) * kProduct + added, 0x1p31);
  return std::fabs(m) * sum <= kHalf && std::fabs(b) <= kHalf;
}

/// Whether scaled sums that are bounded (IgemmColumns::bounded) stay within int32 with a residual.
inline bool has_bounded_residual(const Epilogue& e) {
  // |v| <= 2^30 and |codes - zero point| < 2^9. False for NaN.
  return std::fabs(e.residual_multiplier) <= static_cast<float>(1 << 20);
}

void epilogue_tile_scalar(const Epilogue& epilogue, const TileOut& tile);
void epilogue_tile_avx2(const Epilogue& epilogue, const TileOut& tile);
void epilogue_tile_avx512(const Epilogue& epilogue, const TileOut& tile);
void end_codes_avx512(const int32_t* acc,
                      int64_t acc_step,
                      int64_t panel_count,
                      const Epilogue& epilogue,
                      const TileOut& tile);

/// For an epilogue with a function: `epilogue` makes the floats, up to kTileNumbers of them.
void epilogue_with_function(EpilogueTileFn epilogue, const Epilogue& e, const TileOut& tile);

/// Copies `count` bytes, each shifted by `shift` modulo 256; `to` may be `from`.
using ShiftCopyFn = void (*)(const uint8_t* from, int64_t count, int32_t shift, uint8_t* to);
void shift_copy_scalar(const uint8_t* from, int64_t count, int32_t shift, uint8_t* to);
void shift_copy_avx2(const uint8_t* from, int64_t count, int32_t shift, uint8_t* to);

/// What an instruction set supplies.
struct TileKernels {
  DotTileFn dot = nullptr;
  DotPanelsFn dot_panels = nullptr; ///< null where panels are taken one by one
  DotCodesFn dot_codes = nullptr;   ///< null where sums go through memory
  EpilogueTileFn epilogue = nullptr;
  EndCodesFn end_codes = nullptr; ///< null: epilogue takes codes, too
  ShiftCopyFn shift_copy = nullptr;
  /// Tiles can flip the sign bits of x as they read it, by PackedPanel::flip. Where they do not, rows hold
  /// x shifted (rows_are_shifted).
  bool flips = false;
  bool takes_runs = false; ///< PackedPanel::runs
  bool splits = false;     ///< PackedPanel::split
};
TileKernels tile_kernels(Isa isa);

/// Whether dot multiplies by vpmaddubsw, whose sums saturate: groups are proven or widened then.
bool multiplies_in_int16(Isa isa);
/// Whether it multiplies by vpdpbusd: all groups are plain.
inline bool multiplies_in_int32(Isa isa) {
  return isa.has(Isa::kAvx2) && !multiplies_in_int16(isa);
}

/// Whether packed rows hold x + w.shift in place of x: tiles that flip sign bits leave it to a copy
/// where that is faster.
bool rows_are_shifted(const PackedWeights& w);

/// Packs `count` rows of x, `stride` bytes apart, as finish_rows leaves them.
void pack_rows(
    const PackedWeights& w, const uint8_t* x, int64_t stride, int64_t count, uint8_t* rows);

/// Turns rows whose first k bytes are x into packed ones, w.k_padded apart, in place. Bytes between k and
/// k_padded meet weights of 0 and may hold anything.
void finish_rows(const PackedWeights& w, uint8_t* rows, int64_t count);

/// Chunks of at least `min_panels` panels; m is at least 1.
Cut cut_by_shape(int64_t m, const PackedWeights& w, int64_t min_panels);

/// Nanoseconds that `rows` rows take against one panel; only sets how much work a chunk has.
double panel_ns(int64_t rows, const PackedWeights& w);

inline int64_t panel_count(const PackedWeights& w) {
  return (w.n + kColumnsPerPanel - 1) / kColumnsPerPanel;
}

/// Rows of a block that meet some groups of weights alone.
struct RowClass {
  Range rows;
  const GroupRun* runs = nullptr; ///< as PackedPanel has them
  int64_t run_count = 0;
  int64_t shift = 0;
  const int32_t* init = nullptr; ///< in place of IgemmColumns::init
};

/// Runs a range of panels over packed rows: row i of the block is row `row + i` of y, or
/// `row + places[i]`.
struct BlockArgs {
  using Element = uint8_t;
  static constexpr int64_t kMaxRows = 128;

  const PackedWeights* w = nullptr;
  const IgemmColumns* columns = nullptr;
  const Epilogue* epilogue = nullptr;
  const uint8_t* const* rows = nullptr; ///< where each packed row starts
  const int32_t* offsets = nullptr;     ///< in place of w->offsets, if not null
  int64_t count = 0;                    ///< up to kMaxRows where places is null
  int64_t row = 0;
  const int64_t* places = nullptr;
  std::span<const RowClass> classes; ///< of all rows; none: all rows meet all groups
  void* y = nullptr;
  int64_t y_stride = 0;
  Range panels;
};
void run_block(const BlockArgs& args);

/// Whether what becomes of its sums is what DotCodesFn and EndCodesFn do.
bool makes_codes(const BlockArgs& args);

/// All rows of a block that has no classes.
inline RowClass whole_class(const BlockArgs& args) {
  return {.rows = {0, args.count}, .init = args.columns->init};
}

/// The place in y of each row of a block, from `row` on.
const int64_t* places_of(const BlockArgs& args);

/// What becomes of the sums of rows that come to `places`: those that follow one another together.
void end_sums(const BlockArgs& args, EpilogueTileFn epilogue, const int64_t* places, TileOut out);

/// The sums of all panels over up to kTileRows packed rows, [panel][count][16], before what shift
/// and zero point take from them. The weights are packed for u8, x not shifted.
void dot_panels(const PackedWeights& w, const uint8_t* const* rows, int64_t count, int32_t* acc);

} // namespace octet::kernels
