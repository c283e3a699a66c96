// SPDX-License-Identifier: Apache-2.0
// Float matrix product with weights stored as codes: y[m, n] = clamp(sum over k of x[m, k] * w[k, n]
// + bias[n]), w as stored_codes.h decodes it. Bit for bit sgemm of the decoded weights, which are
// never there as a whole: a block of k of a few panels lies in the first-level cache at a time.
#pragma once

#include <cstdint>

#include "runtime/kernels/sgemm.h"
#include "runtime/kernels/stored_codes.h"

namespace octet::kernels {

struct CodedGemmArgs {
  int64_t m = 0;
  const float* x = nullptr;
  int64_t x_stride = 0; ///< elements between rows; k is contiguous
  const PackedCodes* w = nullptr;
  int64_t block = 1;                   ///< along k: elements that share a scale
  const PackedFloat* scales = nullptr; ///< weights [n, blocks], packed for the same set
  const PackedFloat* zeros = nullptr;  ///< the same; null: 0
  FloatEpilogue epilogue;
  float* y = nullptr;
  int64_t y_stride = 0;
};

void coded_gemm(const CodedGemmArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
