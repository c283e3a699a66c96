// SPDX-License-Identifier: Apache-2.0
// Windows of ConvTranspose, which spread each input element over the output.
// Source: ONNX ConvTranspose (opset 1 to 22).
#pragma once

#include "ops/shared/window.h"

namespace octet {

struct TransposedWindow {
  WindowAttrs window;
  std::vector<int64_t> output_padding, output_shape; ///< the shape may be empty
  int64_t group = 1;
};
/// The attributes of a node whose kernel is `kernel`. Errors: as parse_window, a kernel_shape that
/// is not the weights', counts and values that do not fit.
Result<TransposedWindow> parse_transposed(const Node& node, std::vector<int64_t> kernel);

/// Whether each element of the input makes a block of the output of its own, as large as the kernel:
/// a product of pixels, whose results DepthToSpace moves to their places.
bool makes_blocks(const TransposedWindow& window);

/// Output elements along an axis, and the padding taken off in front. Automatic padding takes off
/// what exceeds input times stride and never adds: where the kernel is shorter than the stride, the
/// output is.
struct TransposedExtent {
  int64_t size, pad;
};
/// Of `in` elements.
TransposedExtent transposed_extent(const TransposedWindow& window, size_t axis, int64_t in);

} // namespace octet
