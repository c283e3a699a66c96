// SPDX-License-Identifier: Apache-2.0
// Few rows of a product with stored codes: weights are decoded in registers, and codes are all that
// is read of them. Bit for bit the scalar tile of sgemm on what decode_scalar gives.
#pragma once

#include "runtime/kernels/coded_gemm.h"

namespace octet::kernels {

/// At most so many rows: for more, decoded weights are worth their place in the cache.
inline constexpr int64_t kCodedRows = 4;
/// Panels at a time: of few rows one has too few sums to keep the multipliers busy.
constexpr int64_t coded_panels(int64_t rows, int64_t width) {
  return rows == 1 && width == 32 ? 4 : rows <= 2 ? 2 : 1;
}

/// Whole panels of columns: coded_panels of them, or one.
struct CodedRowsArgs {
  DecodeArgs w; ///< of the first, all of k; `out` counts for nothing
  int64_t panels = 1;
  int64_t panel_bytes = 0,
          panel_scales = 0; ///< from a panel's codes, and scales, to the next one's
  int64_t rows = 1;
  const float* x = nullptr;
  int64_t x_stride = 0;
  FloatEpilogue epilogue; ///< its bias: at the panel's first column
  float* y = nullptr;     ///< the same
  int64_t y_stride = 0;
};
using CodedRowsFn = void(const CodedRowsArgs& args);
CodedRowsFn coded_rows_avx2, coded_rows_avx512;

} // namespace octet::kernels
