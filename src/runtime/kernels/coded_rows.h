// SPDX-License-Identifier: Apache-2.0
// Few rows of a product with stored codes: weights are decoded in registers, and codes are all that
// is read of them. Bit for bit the scalar tile of sgemm on what decode_scalar gives.
#pragma once

#include "runtime/kernels/coded_gemm.h"

namespace octet::kernels {

/// At most so many rows: for more, decoded weights are worth their place in the cache.
inline constexpr int64_t kCodedRows = 4;

/// One whole panel of columns.
struct CodedRowsArgs {
  DecodeArgs w; ///< all of k; `out` counts for nothing
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
