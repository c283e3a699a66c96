// SPDX-License-Identifier: Apache-2.0
// Resize (opset 10). x interpolated to other sizes along some axes, given scales or sizes. Opset 10
// has scales only (asymmetric coordinates, floor); 11 adds the coordinate modes, sizes and the
// region of interest; 13 drops the mode tf_half_pixel_for_nn, which runtimes go on taking; 18 adds
// axes, antialias and aspect ratio policies.
#include "ops/shared/resize.h"

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Resize {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, ctx.version < 11 ? 2 : 1, ctx.version < 11 ? 2 : 4));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  const TypeInfo& x = ctx.input(0).type;
  return one(x.type, OCTET_TRY(resized_dims(ctx, ctx.version, ctx.version < 11 ? 1 : 2)));
}

/// y = the weighted elements of x along one axis.
std::vector<double> along(const std::vector<double>& x,
                          Shape& shape,
                          size_t axis,
                          const std::vector<ResizeWeights>& weights) {
  const Shape strides = strides_of(shape);
  shape[axis] = static_cast<int64_t>(weights.size());
  const int64_t run = strides[axis];
  const Shape after = strides_of(shape);
  Shape lines = strides;
  lines[axis] = 0;
  const auto starts = strided_index(shape, lines);
  std::vector<double> y(starts.size(), 0);
  for (size_t i = 0; i < y.size(); ++i) {
    const auto at = static_cast<size_t>(static_cast<int64_t>(i) / after[axis] % shape[axis]);
    const ResizeWeights& w = weights[at];
    for (size_t k = 0; k < w.weight.size(); ++k)
      if (w.weight[k] != 0)
        y[i] += w.weight[k] * x[static_cast<size_t>(starts[i] + w.index[k] * run)];
  }
  return y;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape target = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const ResizeAttrs a = OCTET_TRY(parse_resize(ctx.node, ctx.version, x.rank()));
  const auto axes = OCTET_TRY(resize_axes_of_inputs(a, ctx.version, x.shape(), ctx.inputs));
  const bool region = a.mode.coordinates == Coordinates::kTfCropAndResize;
  Shape shape = x.shape();
  auto values = OCTET_TRY(x.to_doubles());
  std::vector<std::vector<bool>> outside(shape.size());
  for (int64_t i : a.axes) {
    const auto axis = static_cast<size_t>(i);
    std::vector<ResizeWeights> weights;
    for (int64_t k = 0; k < axes[axis].out; ++k) {
      weights.push_back(resize_weights(a.mode, axes[axis], k));
      outside[axis].push_back(weights.back().outside);
    }
    values = along(values, shape, axis, weights);
  }
  const Shape strides = strides_of(target);
  for (size_t i = 0; region && i < values.size(); ++i)
    for (int64_t axis : a.axes) {
      const auto k = static_cast<size_t>(axis);
      const int64_t place = static_cast<int64_t>(i) / strides[k] % target[k];
      if (outside[k][static_cast<size_t>(place)]) values[i] = a.extrapolation;
    }
  return one(OCTET_TRY(real_tensor(x.type(), target, values)));
}

QuantTrait quant(const Node& node, std::span<const InputInfo> inputs) {
  if (node.attr_string("mode", "nearest") == "nearest") return moves_data(node, inputs);
  return QuantTrait::none("interpolation between elements has no integer form here");
}

/// Interpolation computes, and tf_crop_and_resize fills in what lies outside.
Motion motion(const Node& node) {
  const bool selects =
      node.attr_string("mode", "nearest") == "nearest" &&
      node.attr_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize" &&
      node.attr_int("exclude_outside", 0) == 0 && node.attr_int("antialias", 0) == 0;
  return {.kind = selects ? Motion::Kind::kSelect : Motion::Kind::kNone};
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = quant,
    .motion = motion,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Resize
