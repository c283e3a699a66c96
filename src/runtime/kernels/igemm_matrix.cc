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
    for (int32_t g = run.first; g < run.first + run.count; ++g) {
      const int64_t place = g % kStepGroups;
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
        gathered_(groups_.plain, args.count), epilogue_(tile_kernels(args.w->isa).epilogue) {
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
    for (int64_t g = 1; g < groups_.plain; ++g)
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
    const auto end = [&](Range together) {
      for (int64_t q = 0; q < which.count(); ++q)
        end_rows(which.begin + q, together, before + q * kSums);
    };
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

  void end_rows(int64_t p, Range rows, const int32_t* acc) {
    TileOut out = tile_of(*args_.columns, args_.y, args_.y_stride);
    out.column = p * kColumnsPerPanel;
    out.columns = std::min(kColumnsPerPanel, args_.w->n - out.column);
    for (const RowClass& some : classes_) {
      const Range which = common(rows, some.rows);
      if (which.count() <= 0) continue;
      out.init = some.init;
      out.rows = which.count();
      out.acc = acc + (which.begin - rows.begin) * kColumnsPerPanel;
      end_sums(args_, epilogue_, places_of(args_) + which.begin, out);
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
  EpilogueTileFn epilogue_;
  uint8_t* rows_;        ///< gathered ones, in Scratch::kMatrix as what follows
  int32_t* signed_init_; ///< [n], padded
  LinePiece* pieces_;
};

} // namespace

const MatrixKernels* matrix_kernels(Isa isa) {
  constexpr const MatrixKernels* kNone = nullptr;
  return for_isa<kNone, Isa::kAmxInt8, &kMatrixKernelsAmx>(isa);
}

void run_matrix(const BlockArgs& args, const MatrixKernels& kernels) {
  MatrixBlock(args, kernels).run();
}

} // namespace octet::kernels
