// SPDX-License-Identifier: Apache-2.0
// octet.native Resize (1). x, scales f32 `_`, sizes i64 `_`: one for each of `axes`, with the
// attributes of ONNX's Resize (opset 19) but tf_crop_and_resize. Weights are found in double and
// rounded to float, those of 0 left out. Axes are resized from the last of `axes` to the first:
// each element one product, then one fused multiply-add for each further tap in their order; 0 of
// no taps. Nearest copies. docs/native-operators.md.
#include "ops/shared/resize.h"

#include <cmath>

#include "core/format.h"
#include "ops/native/epilogue.h"
#include "ops/shared/movement.h"

namespace octet::native::op_Resize {
namespace {

/// Whose attributes are meant.
constexpr int64_t kVersion = 19;

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 3));
  OCTET_TRY(check_input(c, 0, kNumericTypes));
  const TypeInfo& x = c.input(0).type;
  if (x.has_rank()) {
    const ResizeAttrs a = OCTET_TRY(parse_resize(c.node, kVersion, x.rank()));
    if (a.mode.coordinates == Coordinates::kTfCropAndResize)
      return error("tf_crop_and_resize has no native form; keep ONNX's Resize");
    const bool nearest = a.mode.interpolation == Interpolation::kNearest;
    if (!nearest) OCTET_TRY(check_input(c, 0, kF32));
    if (nearest && (a.mode.antialias || a.mode.exclude_outside))
      return error("nearest with antialias or exclude_outside has no native form; keep ONNX's "
                   "Resize");
  }
  return one(x.type, OCTET_TRY(resized_dims(c, kVersion, 1)));
}

/// The sizes and scales of all axes on actual tensors.
Result<std::vector<ResizeAxis>> axes_of(const EvalContext& c, const ResizeAttrs& a) {
  const auto list = [&](size_t i) {
    return c.has(i) && c.inputs[i].count() > 0 ? &c.inputs[i] : nullptr;
  };
  if (list(1) == nullptr && list(2) == nullptr)
    return error("neither scales nor sizes; give one of them");
  return resize_axes(a, c.inputs[0].shape(), list(1), list(2));
}

std::vector<float> along(const std::vector<float>& x,
                         Shape& shape,
                         size_t axis,
                         const std::vector<std::vector<ResizeTap>>& taps) {
  const int64_t inner = strides_of(shape)[axis], in = shape[axis];
  shape[axis] = static_cast<int64_t>(taps.size());
  const int64_t count = element_count(shape).value();
  std::vector<float> y(static_cast<size_t>(count), 0.0F);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t line = i / inner / shape[axis];
    const auto& mine = taps[static_cast<size_t>(i / inner % shape[axis])];
    float& out = y[static_cast<size_t>(i)];
    for (size_t k = 0; k < mine.size(); ++k) {
      const float v = x[static_cast<size_t>((line * in + mine[k].index) * inner + i % inner)];
      out = k == 0 ? mine[k].weight * v : std::fma(mine[k].weight, v, out);
    }
  }
  return y;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const Shape target = OCTET_TRY(infer_shape(infer, c));
  const Tensor& x = c.inputs[0];
  const ResizeAttrs a = OCTET_TRY(parse_resize(c.node, kVersion, x.rank()));
  const auto sizes = OCTET_TRY(axes_of(c, a));
  if (a.mode.interpolation == Interpolation::kNearest) {
    std::vector<int64_t> index(static_cast<size_t>(element_count(target).value()), 0);
    const Shape own = strides_of(x.shape()), strides = strides_of(target);
    for (size_t axis = 0; axis < target.size(); ++axis) {
      std::vector<int64_t> from;
      for (int64_t k = 0; k < target[axis]; ++k)
        from.push_back(nearest_index(a, sizes, static_cast<int64_t>(axis), k));
      for (size_t i = 0; i < index.size(); ++i)
        index[i] +=
            own[axis] *
            from[static_cast<size_t>(static_cast<int64_t>(i) / strides[axis] % target[axis])];
    }
    return one(OCTET_TRY(take(x, target, index)));
  }
  auto values = OCTET_TRY(x.to_floats());
  Shape shape = x.shape();
  for (size_t i = a.axes.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(a.axes[i]);
    values = along(values, shape, axis, resize_taps(a.mode, sizes[axis]));
  }
  return one(Tensor::of<float>(target, values));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_Resize
