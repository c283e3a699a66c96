// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

namespace octet::train {

/// What autocast makes of the operand of a product. LibTorch's own does it for at::convolution on
/// CUDA alone.
inline at::Tensor lowered(const at::Tensor& x) {
  if (!x.is_cpu() || !at::autocast::is_autocast_enabled(at::kCPU)) return x;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(at::kCPU), x, at::kCPU);
}

} // namespace octet::train
