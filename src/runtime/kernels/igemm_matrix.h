// SPDX-License-Identifier: Apache-2.0
// What instruction sets with matrix registers supply to igemm and iconv: rows of x gathered into
// lines of 64 bytes, and the sums of up to 32 such rows with one or two panels.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/kernels/igemm.h"

namespace octet::kernels {

struct BlockArgs;

constexpr int64_t kTileOfRows = 16;
constexpr int64_t kMatrixRows = 2 * kTileOfRows; ///< that meet panels together
constexpr int64_t kStepBytes = 64;
constexpr int64_t kStepGroups = kStepBytes / 4;

/// Rows of x: `steps` lines of 64 bytes, 0 where a row has none, `stride` bytes apart. As many as
/// whole tiles have must be readable.
struct MatrixRows {
  const uint8_t* data = nullptr;
  int64_t stride = 0;
  int64_t steps = 0;      ///< at least 1
  bool is_signed = false; ///< what the bytes are
};

/// Groups of a panel in the order of lines: 16 a step, of which the last step's may stand elsewhere.
struct MatrixPanel {
  const int8_t* data = nullptr;
  const int8_t* last = nullptr;
};

/// Some groups of a line, which lie in one piece in a row: as many bytes into both.
struct LinePiece {
  int64_t from = 0; ///< where the line's first group would be, from the start of the row
  int32_t line = 0;
  uint16_t groups = 0; ///< a bit for each
  bool first = false;  ///< of its line, whose other groups are 0 until others come
};

struct MatrixKernels {
  /// Before the first `dot` of a block and after the last one, on the same thread: in between the
  /// registers are the block's.
  void (*begin)();
  void (*end)();
  /// Lines of `count` rows, `stride` bytes apart from `to`, aligned to 64. Each byte of a piece is
  /// xored with `flip`.
  void (*gather)(std::span<const LinePiece> pieces,
                 const uint8_t* const* rows,
                 int64_t count,
                 uint8_t flip,
                 uint8_t* to,
                 int64_t stride);
  /// acc[p * acc_step + r * 16 + c] = sum over lines of rows[r] * panel p's column c, of up to
  /// kMatrixRows rows and 2 panels; sums of rows up to the next multiple of 16 are unspecified.
  void (*dot)(const MatrixPanel* panels,
              int64_t panel_count,
              const MatrixRows& rows,
              int64_t count,
              int32_t* acc,
              int64_t acc_step);
};

/// Null: it has none. Panels are those of its vpdpbusd: plain groups in one order.
const MatrixKernels* matrix_kernels(Isa isa);
extern const MatrixKernels kMatrixKernelsAmx;

/// run_block() by matrices.
void run_matrix(const BlockArgs& args, const MatrixKernels& kernels);

/// Whether there are matrices, by which rows take less time than by vpdpbusd. `scattered`: their groups do
/// not lie one behind the other.
bool pays_in_matrices(int64_t rows, const PackedWeights& w, bool scattered);

/// Nanoseconds that each chunk of panels gathers such rows; 0: they are read where they lie.
double gather_ns(int64_t rows, const PackedWeights& w, bool scattered);

} // namespace octet::kernels
