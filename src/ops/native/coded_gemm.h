// SPDX-License-Identifier: Apache-2.0
// The weights of CodedGemm: codes with scales in blocks along the sum.
#pragma once

#include <vector>

#include "ops/shared/types.h"

namespace octet::native {

/// Integers of 2 to 8 bits, and FP8.
inline constexpr TypeSet kStoredWeights{
    DType::kInt8,       DType::kUint8,         DType::kInt4,         DType::kUint4,
    DType::kInt2,       DType::kUint2,         DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
    DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ};

/// Elements along k that share a scale: attribute `block`, or all of them (at least 1).
inline int64_t block_of(const Node& node, int64_t k) {
  const int64_t block = node.attr_int("block", 0);
  return block > 0 ? block : k > 0 ? k : 1;
}

/// [N, K]: what the codes mean, each step rounded to f32. `zeros` may be empty; scales and zeros
/// have ceil(K / block) columns.
Result<std::vector<float>>
decoded_weights(const Tensor& codes, const Tensor& scales, const Tensor& zeros, int64_t block);

} // namespace octet::native
