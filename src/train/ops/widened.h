// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace octet::train {

/// At least f32, for what takes several steps and is rounded once: f64 stays.
inline at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

} // namespace octet::train
