// SPDX-License-Identifier: Apache-2.0
// Geometry of native convolutions and pools, from attributes and operand shapes.
#pragma once

#include "runtime/kernels/conv_shape.h"
#include "runtime/step.h"

namespace octet::runtime {

/// The window of a node over NHWC images; sizes of the images are left at 1.
/// `kernel` is [height, width]; `channels_in` and `channels_out` are per whole image.
kernels::ConvShape window_of(const Node& node,
                             std::span<const int64_t> kernel,
                             int64_t channels_in,
                             int64_t channels_out);

/// The same with the sizes of bound operands x and y, both [N, H, W, C].
kernels::ConvShape with_images(kernels::ConvShape shape, const Operand& x, const Operand& y);

} // namespace octet::runtime
