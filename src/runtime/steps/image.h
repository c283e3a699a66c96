// SPDX-License-Identifier: Apache-2.0
// Geometry of native convolutions and pools, from attributes and operand shapes.
#pragma once

#include "ops/shared/window.h"
#include "runtime/kernels/conv_shape.h"
#include "runtime/step.h"

namespace octet::runtime {

/// The window of a node over NHWC images.
struct ImageWindow {
  WindowAttrs attrs;
  kernels::ConvShape shape; ///< sizes of the images are left at 1, pads at 0

  /// The shape for the sizes of bound operands x and y, both [N, H, W, C].
  kernels::ConvShape on(const Operand& x, const Operand& y) const;
};

/// `kernel` is [height, width]; `channels_in` and `channels_out` are per whole image. Errors as
/// parse_window.
Result<ImageWindow> window_of(const Node& node,
                              std::span<const int64_t> kernel,
                              int64_t channels_in,
                              int64_t channels_out);

} // namespace octet::runtime
