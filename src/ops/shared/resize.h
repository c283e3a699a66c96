// SPDX-License-Identifier: Apache-2.0
// What the forms of Resize share: attributes, and the sizes that scales or sizes give.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/shared/resize_weights.h"
#include "ops/shared/types.h"

namespace octet {

struct ResizeAttrs {
  ResizeMode mode;
  std::vector<int64_t> axes; ///< those that scales and sizes are for, in their order
  double extrapolation = 0;
  std::string policy; ///< keep_aspect_ratio_policy
};

Result<ResizeAttrs> parse_resize(const Node& node, int64_t version, int64_t rank);

/// For each axis of x: sizes and scale. One of `scales` and `sizes` is null. Errors: counts that do
/// not fit, scales that are not above 0, an axis without elements.
Result<std::vector<ResizeAxis>>
resize_axes(const ResizeAttrs& a, const Shape& x, const Tensor* scales, const Tensor* sizes);

/// The same from the node's inputs behind x, by the rules of ONNX's operator set `version`, with the
/// region that tf_crop_and_resize takes of each axis. `inputs[0]` is not read. Errors: neither
/// scales nor sizes, a region that does not fit.
Result<std::vector<ResizeAxis>> resize_axes_of_inputs(const ResizeAttrs& a,
                                                      int64_t version,
                                                      const Shape& x,
                                                      std::span<const Tensor> inputs);

/// The shape of y by the rules of ONNX's operator set `version`, from input `scales_at` of the node
/// and the one behind it with sizes (which version 10 does not have). Errors: both are given.
Result<std::optional<std::vector<Dim>>>
resized_dims(const InferContext& ctx, int64_t version, size_t scales_at);

/// Which element along `axis` of x stands at place `at` of y, for mode nearest.
int64_t
nearest_index(const ResizeAttrs& a, const std::vector<ResizeAxis>& sizes, int64_t axis, int64_t at);

/// An element of x that a place of y is made of.
struct ResizeTap {
  int64_t index = 0;
  float weight = 0;
};
/// For each place along an axis of y, in order of resize_weights: weights rounded to float, those of
/// 0 left out.
std::vector<std::vector<ResizeTap>> resize_taps(const ResizeMode& mode, const ResizeAxis& axis);

} // namespace octet
