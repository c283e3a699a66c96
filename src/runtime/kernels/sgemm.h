// SPDX-License-Identifier: Apache-2.0
// Float matrix product: y[m, n] = clamp(sum over k of x[m, k] * w[k, n] + bias[n]). Each sum is one
// chain of fused multiply-adds from 0 over k in order, then the bias is added, then the clamp (NaN
// kept). Bits do not depend on instruction set, threads or how m is split. Specification:
// sgemm_scalar.cc.
#pragma once

#include <cstdint>
#include <limits>

#include "core/cpu.h"
#include "runtime/kernels/buffer.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// What follows a float sum.
struct FloatEpilogue {
  const float* bias = nullptr; ///< [n], or null
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
};

/// Where w[k, n] lies: element (k, n) is at w[k * k_stride + n * n_stride].
struct FloatWeights {
  const float* w = nullptr;
  int64_t k_stride = 0;
  int64_t n_stride = 0;
  int64_t n = 0;
  int64_t k = 0;
};

/// Weights packed for one instruction set: panels of `width` columns, [k][width] each, padded with
/// 0.
struct PackedFloat {
  Isa isa = Isa::kScalar;
  int64_t n = 0;
  int64_t k = 0;
  int64_t width = 0;
  AlignedBuffer data;
};

PackedFloat pack_float(const FloatWeights& weights, Isa isa);

struct SgemmArgs {
  int64_t m = 0;
  const float* x = nullptr;
  int64_t x_stride = 0; ///< elements between rows; k is contiguous
  const PackedFloat* w = nullptr;
  FloatEpilogue epilogue;
  float* y = nullptr;
  int64_t y_stride = 0;
};

void sgemm(const SgemmArgs& args, ParallelFor& parallel);

/// Batch of products of two activations, w packed while it runs. Operand i of the batch starts at
/// x + x_offsets[i], w + w_offsets[i], y + y_offsets[i] (elements).
struct BatchedSgemmArgs {
  int64_t batch = 0;
  int64_t m = 0;
  const float* x = nullptr;
  const int64_t* x_offsets = nullptr;
  int64_t x_stride = 0;
  FloatWeights weights;
  const int64_t* w_offsets = nullptr;
  FloatEpilogue epilogue;
  float* y = nullptr;
  const int64_t* y_offsets = nullptr;
  int64_t y_stride = 0;
  Isa isa = Isa::kScalar;
};

void batched_sgemm(const BatchedSgemmArgs& args, ParallelFor& parallel);

} // namespace octet::kernels
