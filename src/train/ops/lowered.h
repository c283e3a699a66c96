// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

namespace octet::train {

/// What autocast makes of the operand of a product. LibTorch's own does it for at::convolution on
/// CUDA alone.
inline at::Tensor lowered(const at::Tensor& x) {
  const c10::DeviceType device = x.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return x;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), x, device);
}

} // namespace octet::train
