// SPDX-License-Identifier: Apache-2.0
// Resize (opset 10). x interpolated to other sizes along some axes, given scales or sizes. Opset 10
// has scales only (asymmetric coordinates, floor); 11 adds the coordinate modes, sizes and the
// region of interest; 13 drops the mode tf_half_pixel_for_nn, which runtimes go on taking; 18 adds
// axes, antialias and aspect ratio policies.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"
#include "ops/shared/resize_weights.h"

namespace octet::onnx::op_Resize {
namespace {

struct ResizeAttrs {
  ResizeMode mode;
  std::vector<int64_t> axes;
  double extrapolation = 0;
  std::string policy;
};

template <class T, size_t N>
Result<T> choice(const Node& node,
                 const char* attribute,
                 const char* otherwise,
                 const std::array<std::pair<const char*, T>, N>& names) {
  const std::string text = node.attr_string(attribute, otherwise);
  std::string all;
  for (const auto& [name, value] : names) {
    if (text == name) return value;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return error("{} is \"{}\"; use one of {}", attribute, text, all);
}

Result<ResizeMode> parse_mode(const Node& node, int64_t version) {
  using C = Coordinates;
  ResizeMode m;
  m.interpolation = OCTET_TRY(choice<Interpolation, 3>(node, "mode", "nearest",
                                                       {{{"nearest", Interpolation::kNearest},
                                                         {"linear", Interpolation::kLinear},
                                                         {"cubic", Interpolation::kCubic}}}));
  if (version < 11) {
    m.coordinates = C::kAsymmetric;
    m.nearest = Nearest::kFloor;
    return m;
  }
  m.coordinates = OCTET_TRY(choice<C, 7>(node, "coordinate_transformation_mode", "half_pixel",
                                         {{{"half_pixel", C::kHalfPixel},
                                           {"tf_half_pixel_for_nn", C::kTfHalfPixelForNn},
                                           {"half_pixel_symmetric", C::kHalfPixelSymmetric},
                                           {"pytorch_half_pixel", C::kPytorchHalfPixel},
                                           {"align_corners", C::kAlignCorners},
                                           {"asymmetric", C::kAsymmetric},
                                           {"tf_crop_and_resize", C::kTfCropAndResize}}}));
  m.nearest = OCTET_TRY(choice<Nearest, 4>(node, "nearest_mode", "round_prefer_floor",
                                           {{{"round_prefer_floor", Nearest::kRoundPreferFloor},
                                             {"round_prefer_ceil", Nearest::kRoundPreferCeil},
                                             {"floor", Nearest::kFloor},
                                             {"ceil", Nearest::kCeil}}}));
  m.cubic_a = node.attr_float("cubic_coeff_a", -0.75F);
  m.exclude_outside = node.attr_int("exclude_outside", 0) != 0;
  m.antialias = node.attr_int("antialias", 0) != 0;
  return m;
}

Result<ResizeAttrs> parse(const Node& node, int64_t version, int64_t rank) {
  ResizeAttrs a{.mode = OCTET_TRY(parse_mode(node, version)),
                .axes = std::vector<int64_t>(static_cast<size_t>(rank)),
                .extrapolation = node.attr_float("extrapolation_value", 0),
                .policy = node.attr_string("keep_aspect_ratio_policy", "stretch")};
  std::iota(a.axes.begin(), a.axes.end(), 0);
  if (node.has_attr("axes")) a.axes = OCTET_TRY(normalize_axes(node.attr_ints("axes"), rank));
  if (a.policy != "stretch" && a.policy != "not_larger" && a.policy != "not_smaller")
    return error("keep_aspect_ratio_policy is \"{}\"; use stretch, not_larger or not_smaller",
                 a.policy);
  return a;
}

/// Scales and sizes for each axis of x. Errors: counts that do not fit, scales that are not above
/// 0.
Result<std::vector<ResizeAxis>>
resize_axes(const ResizeAttrs& a, const Shape& x, const Tensor* scales, const Tensor* sizes) {
  std::vector<ResizeAxis> out;
  for (int64_t size : x)
    out.push_back({.in = size, .out = size});
  const Tensor& given = scales != nullptr ? *scales : *sizes;
  if (given.count() != static_cast<int64_t>(a.axes.size()))
    return error("{} scales or sizes for {} axes; give one for each", given.count(), a.axes.size());
  double common = a.policy == "not_larger" ? INFINITY : 0;
  for (size_t i = 0; i < a.axes.size(); ++i) {
    ResizeAxis& axis = out[static_cast<size_t>(a.axes[i])];
    const double value = given.at(static_cast<int64_t>(i));
    if (axis.in < 1) return error("axis {} of x is empty; there is nothing to resize", a.axes[i]);
    if (!(value > 0 && value < 0x1p40))
      return error("axis {} is given {}; scales and sizes are above 0", a.axes[i], value);
    axis.scale = scales != nullptr ? value : value / static_cast<double>(axis.in);
    axis.out = static_cast<int64_t>(
        std::floor(scales != nullptr ? value * static_cast<double>(axis.in) : value));
    common = a.policy == "not_larger" ? std::min(common, axis.scale) : std::max(common, axis.scale);
  }
  if (scales != nullptr || a.policy == "stretch") return out;
  for (int64_t i : a.axes) {
    ResizeAxis& axis = out[static_cast<size_t>(i)];
    axis.scale = common;
    axis.out = static_cast<int64_t>(std::floor(common * static_cast<double>(axis.in) + 0.5));
  }
  return out;
}

/// The input with scales or sizes, when it is given and not empty.
const Tensor* list_at(const InferContext& ctx, size_t i) {
  const Tensor* t = ctx.has(i) ? ctx.input(i).constant : nullptr;
  return t != nullptr && t->count() > 0 ? t : nullptr;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, ctx.version < 11 ? 2 : 1, ctx.version < 11 ? 2 : 4));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  const ResizeAttrs a = OCTET_TRY(parse(ctx.node, ctx.version, x.rank()));
  const Tensor* scales = list_at(ctx, ctx.version < 11 ? 1 : 2);
  const Tensor* sizes = ctx.version < 11 ? nullptr : list_at(ctx, 3);
  if (scales != nullptr && sizes != nullptr)
    return error("both scales and sizes; give one of them");
  std::vector<Dim> out = *x.shape;
  const auto shape = x.static_shape();
  if (shape && (scales != nullptr || sizes != nullptr)) {
    const auto axes = OCTET_TRY(resize_axes(a, *shape, scales, sizes));
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = axes[i].out;
  } else {
    for (int64_t axis : a.axes)
      out[static_cast<size_t>(axis)] = Dim::unknown();
  }
  return one(x.type, out);
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
  const ResizeAttrs a = OCTET_TRY(parse(ctx.node, ctx.version, x.rank()));
  const size_t at = ctx.version < 11 ? 1 : 2;
  const bool scaled = ctx.has(at) && ctx.inputs[at].count() > 0;
  if (!scaled && !ctx.has(3)) return error("neither scales nor sizes; give one of them");
  auto axes = OCTET_TRY(resize_axes(a, x.shape(), scaled ? &ctx.inputs[at] : nullptr,
                                    scaled ? nullptr : &ctx.inputs[3]));
  const size_t n = a.axes.size();
  const bool region = a.mode.coordinates == Coordinates::kTfCropAndResize;
  if (region && (!ctx.has(1) || ctx.inputs[1].count() != static_cast<int64_t>(2 * n)))
    return error("roi does not hold a start and an end for each of {} axes", n);
  for (size_t i = 0; region && i < n; ++i) {
    axes[static_cast<size_t>(a.axes[i])].roi_start = ctx.inputs[1].at(static_cast<int64_t>(i));
    axes[static_cast<size_t>(a.axes[i])].roi_end = ctx.inputs[1].at(static_cast<int64_t>(n + i));
  }
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
