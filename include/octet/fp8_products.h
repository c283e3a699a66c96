// SPDX-License-Identifier: Apache-2.0
// Products of matrices in FP8 E4M3FN with a factor for each row, block or tensor, with the meaning
// of FBGEMM's GPU operators (fbgemm_gpu gen_ai: f8f8bf16_rowwise, f8f8bf16_blockwise, f8f8bf16) but
// exact sums, so that a result depends on no order.
#pragma once

#include <cstdint>
#include <optional>

#include "octet/result.h"
#include "octet/tensor.h"

namespace octet {

/// A matrix [R, K] as codes and what each code is multiplied by: the scale of its block.
struct Fp8Matrix {
  Tensor codes;                              ///< f8e4m3fn[R, K]
  Tensor scales;                             ///< f32[ceil(R / block_rows), ceil(K / block_columns)]
  int64_t block_rows = 1, block_columns = 1; ///< those at the ends may be shorter
};

/// x: f32[R, K], finite. Values are multiplied by a factor in f32, clamped to 448 and rounded half
/// to even; `scales` holds the reciprocals of the factors. With `bound` a larger magnitude counts
/// as that, and what exceeds it saturates. Errors: another type or rank, a value that is not
/// finite, a bound that is not positive.
///
/// A factor for each row: min(448 / max|row|, 448 * 512).
Result<Fp8Matrix> quantize_fp8_rows(const Tensor& x, std::optional<float> bound = {});
/// A factor for each block, the magnitude being 1e-12 at least: 448 / max(max|block|, 1e-12).
/// Errors: a block without rows or columns.
Result<Fp8Matrix> quantize_fp8_blocks(const Tensor& x,
                                      int64_t block_rows,
                                      int64_t block_columns,
                                      std::optional<float> bound = {});
/// One factor, as of a block.
Result<Fp8Matrix> quantize_fp8_tensor(const Tensor& x, std::optional<float> bound = {});

/// x [M, K], w [N, K]: y bf16[M, N] = x w'. The codes of each block of columns are multiplied and
/// added up exactly, the sum is rounded to f32, multiplied by the scale of x, by that of w, and
/// added to those of the blocks before it, each step rounded to f32; then comes the bias, f32[N],
/// and one rounding to bf16. A code that is NaN makes its row or column NaN. Errors: other shapes or
/// types, blocks of columns that differ, more than 2^27 columns.
Result<Tensor> fp8_product(const Fp8Matrix& x, const Fp8Matrix& w, const Tensor* bias = nullptr);

} // namespace octet
