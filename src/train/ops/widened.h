// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace octet::train {

/// f16 and bf16 as f32, for formulas of several steps, whose result is rounded once; others as they
/// are.
inline at::Tensor widened(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? x.to(at::kFloat) : x;
}

} // namespace octet::train
