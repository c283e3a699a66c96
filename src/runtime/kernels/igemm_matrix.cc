// SPDX-License-Identifier: Apache-2.0
// A block of a product with matrix registers: rows are read where they lie, or gathered in blocks that
// stay in the second-level cache; each pair of panels meets all of them, and sums go through memory to
// the epilogue.
#include "runtime/kernels/igemm_matrix.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/for_isa.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

// Gathered rows of a block.
constexpr int64_t kGatheredBytes = int64_t{256} << 10;
constexpr int64_t kTileBytes = kStepBytes * kTileOfRows;

/// How rows are gathered.
struct Gathered {
  int64_t steps, stride, rows; ///< rows that are gathered together
  size_t piece_bytes;

  // An odd number of lines: sixteen rows do not meet in one set of the cache.
  Gathered(int64_t groups, int64_t count)
      : steps(std::max<int64_t>(Blocks(groups, kStepGroups).count, 1)),
        stride((steps | 1) * kStepBytes),
        rows(std::clamp(kGatheredBytes / stride / kMatrixRows * kMatrixRows,
                        kMatrixRows,
                        round_up(count, kMatrixRows))),
        piece_bytes(static_cast<size_t>(
            round_up((groups + steps) * int64_t{sizeof(LinePiece)}, kStepBytes))) {}
  size_t row_bytes() const { return static_cast<size_t>(rows * stride); }
};

constexpr uint16_t kWholeLine = 0xFFFF;

/// Whether the groups of a step lie one behind the other.
bool is_one_piece(const int32_t* offsets) {
  int32_t off = 0;
  for (int32_t i = 1; i < kStepGroups; ++i)
    off |= offsets[i] - offsets[0] - 4 * i;
  return off == 0;
}

/// The pieces of the rows of a class, which begin at `pieces`.
std::span<const LinePiece> pieces_of(const RowClass& some,
                                     const PackedGroups& groups,
                                     const int32_t* offsets,
                                     int64_t steps,
                                     LinePiece* pieces) {
  const GroupRun all{0, groups.plain};
  const std::span<const GroupRun> runs(some.runs == nullptr ? &all : some.runs,
                                       some.runs == nullptr ? 1
                                                            : static_cast<size_t>(some.run_count));
  LinePiece* end = pieces;
  int32_t line = -1; // of the last piece
  const auto go_to = [&](int64_t next) {
    while (line < next)
      *end++ = {0, ++line, 0, true};
  };
  for (const GroupRun& run : runs) {
    const int32_t behind = run.first + run.count;
    for (int32_t g = run.first; g < behind; ++g) {
      const int64_t place = g % kStepGroups;
      if (place == 0 && behind - g >= kStepGroups && is_one_piece(offsets + g)) {
        go_to(g / kStepGroups);
        end[-1] = {offsets[g] + some.shift, line, kWholeLine, true};
        g += kStepGroups - 1;
        continue;
      }
      const int64_t from = offsets[g] + some.shift - 4 * place;
      go_to(g / kStepGroups);
      if (end[-1].groups == 0)
        end[-1].from = from;
      else if (end[-1].from != from)
        *end++ = {from, line, 0, false};
      end[-1].groups = static_cast<uint16_t>(end[-1].groups | 1U << place);
    }
  }
  go_to(steps - 1);
  return {pieces, end};
}

/// The rows of `which` that are of `some`.
Range common(Range which, Range some) {
  return {std::max(which.begin, some.begin), std::min(which.end, some.end)};
}

class MatrixBlock {
 public:
  MatrixBlock(const BlockArgs& args, const MatrixKernels& kernels)
      : args_(args), kernels_(kernels), panels_(args.w->panels.as<PackedPanel>()),
        groups_(panels_[args.panels.begin].groups),
        offsets_(args.offsets != nullptr ? args.offsets : groups_.offsets),
        whole_(whole_class(args)),
        classes_(args.classes.empty() ? std::span<const RowClass>(&whole_, 1) : args.classes),
        gathered_(groups_.plain, args.count), tiles_(tile_kernels(args.w->isa)),
        makes_codes_(tiles_.end_codes != nullptr && makes_codes(args)) {
    const auto inits = static_cast<size_t>(round_up(args.w->n, kColumnsPerPanel)) * sizeof(int32_t);
    std::byte* memory =
        chunk_scratch(Scratch::kMatrix, gathered_.row_bytes() + inits + gathered_.piece_bytes);
    rows_ = reinterpret_cast<uint8_t*>(memory);
    signed_init_ = reinterpret_cast<int32_t*>(memory + gathered_.row_bytes());
    pieces_ = reinterpret_cast<LinePiece*>(memory + gathered_.row_bytes() + inits);
  }

  void run() {
    kernels_.begin();
    const int64_t in_place = rows_in_place();
    if (in_place > 0) run_in_place(in_place);
    for (int64_t i = in_place; i < args_.count; i += gathered_.rows) {
      const Range rows{i, std::min(i + gathered_.rows, args_.count)};
      gather(rows);
      run_rows({rows_, gathered_.stride, gathered_.steps, false}, rows);
    }
    kernels_.end();
  }

 private:
  /// How many of the first rows are lines as they lie in x.
  int64_t rows_in_place() const {
    const int64_t rows = args_.count / kTileOfRows * kTileOfRows;
    if (!args_.classes.empty() || groups_.plain != gathered_.steps * kStepGroups || rows == 0)
      return 0;
    const bool in_order = args_.offsets == nullptr && groups_.plain == args_.w->k_padded / 4;
    for (int64_t g = 1; !in_order && g < groups_.plain; ++g)
      if (offsets_[g] != offsets_[g - 1] + 4) return 0;
    for (int64_t i = 2; i < rows; ++i)
      if (args_.rows[i] - args_.rows[i - 1] != args_.rows[1] - args_.rows[0]) return 0;
    return rows;
  }

  /// Signed x is multiplied as it is, so that `init` is not to take the shift from its sums.
  void run_in_place(int64_t count) {
    const int32_t* init = whole_.init;
    if (args_.w->shift != 0) {
      const auto shift = static_cast<uint32_t>(args_.w->shift);
      const int32_t* sums = args_.w->sums.as<int32_t>();
      for (int64_t c = args_.panels.begin * kColumnsPerPanel;
           c < args_.panels.end * kColumnsPerPanel; ++c)
        signed_init_[c] = static_cast<int32_t>(static_cast<uint32_t>(init[c]) +
                                               shift * static_cast<uint32_t>(sums[c]));
      whole_.init = signed_init_;
    }
    const uint8_t* first = args_.rows[0] + offsets_[0];
    run_rows({first, args_.rows[1] - args_.rows[0], gathered_.steps, args_.w->shift != 0},
             {0, count});
    whole_.init = init;
  }

  void gather(Range rows) {
    const uint8_t flip = args_.w->shift != 0 ? 0x80 : 0;
    for (const RowClass& some : classes_) {
      const Range which = common(rows, some.rows);
      if (which.count() <= 0) continue;
      const auto pieces = pieces_of(some, groups_, offsets_, gathered_.steps, pieces_);
      kernels_.gather(pieces, args_.rows + which.begin, which.count(), flip,
                      rows_ + (which.begin - rows.begin) * gathered_.stride, gathered_.stride);
    }
  }

  /// x holds `rows` of the block.
  void run_rows(const MatrixRows& x, Range rows) {
    for (int64_t p = args_.panels.begin; p < args_.panels.end; p += kPanelsTogether)
      run_panels({p, std::min(p + kPanelsTogether, args_.panels.end)}, x, rows);
  }

  /// The epilogue of some rows comes after the products of the next, which run meanwhile.
  void run_panels(Range which, MatrixRows x, Range rows) {
    alignas(64) std::array<int8_t, kPanelsTogether * kTileBytes> ends;
    std::array<MatrixPanel, kPanelsTogether> panels;
    for (int64_t q = 0; q < which.count(); ++q)
      panels[static_cast<size_t>(q)] = panel_of(which.begin + q, ends.data() + q * kTileBytes);
    constexpr int64_t kSums = kMatrixRows * kColumnsPerPanel;
    alignas(64) std::array<int32_t, 2 * kPanelsTogether * kSums> acc;
    int32_t* now = acc.data();
    int32_t* before = now + kPanelsTogether * kSums;
    const auto end = [&](Range together) { end_rows(which, together, before, kSums); };
    Range last{rows.begin, rows.begin};
    for (int64_t i = rows.begin; i < rows.end; i += kMatrixRows, x.data += kMatrixRows * x.stride) {
      const Range together{i, std::min(i + kMatrixRows, rows.end)};
      kernels_.dot(panels.data(), which.count(), x, together.count(), now, kSums);
      if (last.count() > 0) end(last);
      last = together;
      std::swap(now, before);
    }
    end(last);
  }

  /// `end` takes the groups of the last step where fewer than it reads are stored.
  MatrixPanel panel_of(int64_t p, int8_t* end) const {
    const PackedGroups& groups = panels_[p].groups;
    const int64_t before = (gathered_.steps - 1) * kTileBytes;
    MatrixPanel out{groups.data, groups.data + before};
    const int8_t* stored = args_.w->data.as<int8_t>() + args_.w->data.bytes();
    if (groups.data == nullptr || out.last + kTileBytes > stored) {
      std::fill_n(end, kTileBytes, int8_t{0});
      const int64_t rest = groups.plain * kStepBytes - before;
      if (rest > 0) std::memcpy(end, out.last, static_cast<size_t>(rest));
      out.last = end;
    }
    return out;
  }

  /// Sums of `rows` with the panels of `which`, which are `step` apart.
  void end_rows(Range which, Range rows, const int32_t* acc, int64_t step) {
    TileOut out = tile_of(*args_.columns, args_.y, args_.y_stride);
    for (const RowClass& some : classes_) {
      const Range now = common(rows, some.rows);
      if (now.count() <= 0) continue;
      out.init = some.init;
      out.rows = now.count();
      const int64_t* places = places_of(args_) + now.begin;
      const int32_t* sums = acc + (now.begin - rows.begin) * kColumnsPerPanel;
      const auto set_columns = [&](Range panels) {
        out.column = panels.begin * kColumnsPerPanel;
        out.columns = std::min(panels.count() * kColumnsPerPanel, args_.w->n - out.column);
      };
      if (makes_codes_ && !panels_[which.begin].half) {
        set_columns(which);
        out.row = args_.row;
        out.places = places;
        tiles_.end_codes(sums, step, which.count(), *args_.epilogue, out);
        continue;
      }
      for (int64_t p = which.begin; p < which.end; ++p, sums += step) {
        set_columns({p, p + 1});
        out.acc = sums;
        end_sums(args_, tiles_.epilogue, places, out);
      }
    }
  }

  const BlockArgs& args_;
  const MatrixKernels& kernels_;
  const PackedPanel* panels_;
  const PackedGroups& groups_; ///< of the first panel, in whose order all are
  const int32_t* offsets_;
  RowClass whole_;
  std::span<const RowClass> classes_;
  Gathered gathered_;
  TileKernels tiles_;
  bool makes_codes_;     ///< where a panel is not half
  uint8_t* rows_;        ///< gathered ones, in Scratch::kMatrix as what follows
  int32_t* signed_init_; ///< [n], padded
  LinePiece* pieces_;
};

} // namespace

const MatrixKernels* matrix_kernels(Isa isa) {
  constexpr const MatrixKernels* kNone = nullptr;
  return for_isa<kNone, Isa::kAmxInt8, &kMatrixKernelsAmx>(isa);
}

bool pays_in_matrices(int64_t rows, const PackedWeights& w, bool scattered) {
  if (matrix_kernels(w.isa) == nullptr || rows < kTileOfRows / 2) return false;
  // Nanoseconds of a row as seen on Sapphire Rapids. With a pair of panels, a group costs vpdpbusd 0.42
  // (0.55 where it flips bits of x) and a step matrices 1.5; what becomes of the sums costs both the same.
  const bool flips = scattered && w.shift != 0 && panel_count(w) > 1 && !rows_are_shifted(w);
  const double group_ns = flips ? 0.55 : 0.42;
  const auto groups = static_cast<double>(Blocks(w.k_padded, 4).count);
  const auto steps = static_cast<double>(Blocks(w.k_padded, kStepBytes).count);
  const auto pairs = static_cast<double>(Blocks(panel_count(w), kPanelsTogether).count);
  const double before = scattered ? 4.0 + steps : 3.0;
  return before < pairs * (group_ns * groups - 1.5 * steps);
}

double gather_ns(int64_t rows, const PackedWeights& w, bool scattered) {
  const bool in_place = !scattered && w.k_padded % kStepBytes == 0;
  if (in_place || !pays_in_matrices(rows, w, scattered)) return 0.0;
  constexpr double kLineNs = 1.0;
  return static_cast<double>(rows * Blocks(w.k_padded, kStepBytes).count) * kLineNs;
}

void run_matrix(const BlockArgs& args, const MatrixKernels& kernels) {
  MatrixBlock(args, kernels).run();
}

} // namespace octet::kernels
