// SPDX-License-Identifier: Apache-2.0
// Sliding windows of convolutions and pools: attributes, output sizes, resolved padding.
// Source: ONNX Conv (opset 11), MaxPool (12), AveragePool (19).
#pragma once

#include "ops/op.h"

namespace octet {

enum class AutoPad { kNotSet, kSameUpper, kSameLower, kValid };
enum class SizeRounding { kFloor, kCeil };

struct WindowAttrs {
  std::vector<int64_t> kernel, strides, dilations; ///< one for each spatial axis
  std::vector<int64_t> pads;                       ///< begins, then ends
  AutoPad auto_pad = AutoPad::kNotSet;
  SizeRounding rounding = SizeRounding::kFloor;

  size_t spatial_rank() const { return kernel.size(); }
  /// Input elements that the kernel spans along an axis.
  int64_t extent(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
};

/// The window attributes of a node whose kernel is `kernel`. Errors: wrong counts, values below 1,
/// negative pads, an unknown auto_pad, pads beside auto_pad.
Result<WindowAttrs> parse_window(const Node& node, std::vector<int64_t> kernel);
/// One output dim for each spatial dim; unknown where it depends on a symbol in a way that a Dim
/// cannot state. Errors: an input smaller than the kernel.
Result<std::vector<Dim>> window_sizes(const WindowAttrs& attrs, std::span<const Dim> spatial);
/// Pads with auto_pad resolved for an input of this size.
std::vector<int64_t> resolve_pads(const WindowAttrs& attrs, std::span<const int64_t> spatial);

/// A window over up to three spatial axes, missing ones in front having size 1. What reference
/// loops run over.
struct Window3 {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
          dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, pad_end[3] = {0, 0, 0};
  int64_t in_count() const { return in[0] * in[1] * in[2]; }
  int64_t out_count() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_count() const { return kernel[0] * kernel[1] * kernel[2]; }
};
/// Needs a spatial rank of 1 to 3.
Window3 window3(const WindowAttrs& attrs,
                std::span<const int64_t> in_spatial,
                std::span<const int64_t> out_spatial);

} // namespace octet
