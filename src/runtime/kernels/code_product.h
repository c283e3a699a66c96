// SPDX-License-Identifier: Apache-2.0
// Product of two matrices of 8-bit codes, the right one packed into panels (igemm_tile.h) while it
// runs: what the batched product and attention share. y = epilogue(sum over k of (a - z_a) * (b -
// z_b)), sums exact in int32 on every instruction set. Where bytes are multiplied without saturation
// panels are of plain groups, and sums of the rows of a stand against the zero point of b; else of
// wide groups of b less its zero point. Column sums of b, which stand against the zero point of a,
// come from the same tiles with a row of ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {

/// Codes of both operands and what becomes of their products.
struct CodeProductForm {
  bool a_signed = true;
  int32_t a_zero_point = 0;
  bool b_signed = true;
  int32_t b_zero_point = 0;
  float multiplier = 1.0F;
};

/// Element (k, n) of the right operand is at b[k * k_stride + n * n_stride].
struct RightCodes {
  const uint8_t* b = nullptr;
  int64_t k_stride = 0;
  int64_t n_stride = 1;
};

/// Rows of the left operand as unsigned bytes, readable to a multiple of 4 of k.
struct LeftRows {
  const uint8_t* first = nullptr;
  int64_t stride = 0; ///< bytes
  int64_t count = 0;
  const int32_t* terms = nullptr; ///< of each row, where terms_bytes() is not 0
};

/// Where results go: `y` is where the first row and column lie.
struct CodeProductOut {
  const Epilogue* epilogue = nullptr; ///< without residual and row_multiplier
  void* y = nullptr;
  int64_t y_stride = 0; ///< elements
};

/// Products of one form, depth and number of columns.
class CodeProduct {
 public:
  CodeProduct(const CodeProductForm& form, int64_t n, int64_t k, Isa isa);

  /// What all of one depth share: offsets of the groups and a row of ones.
  static size_t shared_bytes(int64_t k);
  static void fill_shared(int64_t k, std::byte* shared);

  int64_t row_bytes() const { return groups_ * 4; } ///< of a packed row of a
  int64_t panels() const { return (n_ + kColumnsPerPanel - 1) / kColumnsPerPanel; }
  int64_t panels_together() const { return together_; }
  int64_t panel_bytes() const;
  /// Of so many rows: 0 where no row has a term.
  int64_t terms_bytes(int64_t rows) const;
  /// Whether rows need no packing.
  bool rows_in_place() const { return !form_.a_signed && k_ % 4 == 0; }

  /// Copies `count` rows, row_bytes() apart, as unsigned bytes.
  void pack_rows(const uint8_t* a, int64_t stride, int64_t count, uint8_t* out) const;
  void fill_terms(const LeftRows& rows, int32_t* terms) const;
  /// Panels of b, panel_bytes() each, and for each its 16 numbers of `init`.
  void pack_panels(const RightCodes& b,
                   Range panels,
                   const std::byte* shared,
                   std::byte* out,
                   int32_t* init) const;
  /// `packed` and `init` are of the first of the panels.
  void run(const LeftRows& rows,
           Range panels,
           const std::byte* shared,
           const std::byte* packed,
           const int32_t* init,
           const CodeProductOut& out) const;

 private:
  bool plain() const { return plain_; }
  void pack_panel(const RightCodes& b, int64_t column, std::byte* out) const;
  void dot(const PackedPanel* panels,
           int64_t count,
           const uint8_t* const* rows,
           int64_t row_count,
           int32_t* acc,
           int64_t step) const;
  void set_panels(PackedPanel* panels,
                  Range which,
                  const std::byte* shared,
                  const std::byte* packed) const;

  CodeProductForm form_;
  int64_t n_;
  int64_t k_;
  int64_t groups_; ///< of 4 k each
  TileKernels kernels_;
  bool plain_;
  int64_t together_;
  int32_t a_zero_; ///< as unsigned bytes
  int32_t b_zero_; ///< as signed bytes
  bool bounded_;
  std::array<float, kColumnsPerPanel> multiplier_;
};

} // namespace octet::kernels
