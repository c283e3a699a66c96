// SPDX-License-Identifier: Apache-2.0
// What the forms of Resize share; see resize.h.
#include "ops/shared/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

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

} // namespace

Result<ResizeAttrs> parse_resize(const Node& node, int64_t version, int64_t rank) {
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
    if (axis.in < 1 && scales == nullptr && value > 0)
      return error("axis {} of x is empty; there is nothing to resize", a.axes[i]);
    if (axis.in < 1) continue; // stays empty
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
    if (axis.in < 1) continue;
    axis.scale = common;
    axis.out = static_cast<int64_t>(std::floor(common * static_cast<double>(axis.in) + 0.5));
  }
  return out;
}

Result<std::vector<ResizeAxis>> resize_axes_of_inputs(const ResizeAttrs& a,
                                                      int64_t version,
                                                      const Shape& x,
                                                      std::span<const Tensor> inputs) {
  const auto given = [&](size_t i) {
    return i < inputs.size() && !inputs[i].empty() ? &inputs[i] : nullptr;
  };
  const Tensor* scales = given(version < 11 ? 1 : 2);
  if (scales != nullptr && scales->count() == 0) scales = nullptr;
  const Tensor* sizes = given(3);
  if (scales == nullptr && sizes == nullptr)
    return error("neither scales nor sizes; give one of them");
  auto axes = OCTET_TRY(resize_axes(a, x, scales, scales != nullptr ? nullptr : sizes));
  if (a.mode.coordinates != Coordinates::kTfCropAndResize) return axes;
  const size_t n = a.axes.size();
  const Tensor* region = given(1);
  if (region == nullptr || region->count() != static_cast<int64_t>(2 * n))
    return error("roi does not hold a start and an end for each of {} axes", n);
  for (size_t i = 0; i < n; ++i) {
    ResizeAxis& axis = axes[static_cast<size_t>(a.axes[i])];
    axis.roi_start = region->at(static_cast<int64_t>(i));
    axis.roi_end = region->at(static_cast<int64_t>(n + i));
  }
  return axes;
}

namespace {

/// The input with scales or sizes, when it is given, known and not empty. `held` keeps sizes that a
/// shape computation gave.
const Tensor* list_at(const InferContext& ctx, size_t i, Tensor& held) {
  if (!ctx.has(i)) return nullptr;
  const Tensor* t = ctx.input(i).constant;
  if (t == nullptr) {
    const auto known = known_ints(ctx.input(i));
    if (!known) return nullptr;
    held = Tensor::of<int64_t>({static_cast<int64_t>(known->size())}, *known);
    t = &held;
  }
  return t->count() > 0 ? t : nullptr;
}

/// What entry `i` of the scales or sizes makes of a dimension that may be open.
Dim resized_dim(
    const Dim& dim, const ResizeAttrs& a, const Tensor* scales, const Tensor* sizes, int64_t i) {
  const Tensor* given = scales != nullptr ? scales : sizes;
  if (given == nullptr || given->count() != std::ssize(a.axes)) return Dim::unknown();
  const double value = given->at(i);
  if (!(value > 0 && value < 0x1p30)) return Dim::unknown();
  if (scales == nullptr)
    return a.policy == "stretch" ? Dim(static_cast<int64_t>(value)) : Dim::unknown();
  const auto whole = static_cast<int64_t>(value);
  if (value == static_cast<double>(whole)) return whole == 1 ? dim : dim * Dim(whole);
  const auto size = dim.maybe_value();
  return size ? Dim(static_cast<int64_t>(std::floor(value * static_cast<double>(*size))))
              : Dim::unknown();
}

} // namespace

Result<std::optional<std::vector<Dim>>>
resized_dims(const InferContext& ctx, int64_t version, size_t scales_at) {
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return std::optional<std::vector<Dim>>();
  const ResizeAttrs a = OCTET_TRY(parse_resize(ctx.node, version, x.rank()));
  Tensor held_scales, held_sizes;
  const Tensor* scales = list_at(ctx, scales_at, held_scales);
  const Tensor* sizes = version < 11 ? nullptr : list_at(ctx, scales_at + 1, held_sizes);
  if (scales != nullptr && sizes != nullptr)
    return error("both scales and sizes; give one of them");
  std::vector<Dim> out = *x.shape;
  const auto shape = x.static_shape();
  if (shape && (scales != nullptr || sizes != nullptr)) {
    const auto axes = OCTET_TRY(resize_axes(a, *shape, scales, sizes));
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = axes[i].out;
  } else {
    // Sizes that a shape computation makes of open ones.
    const bool stretches = a.policy == "stretch" && scales == nullptr && sizes == nullptr;
    auto open_sizes = stretches && version >= 11 && ctx.has(scales_at + 1)
                          ? known_dims(ctx.input(scales_at + 1))
                          : std::nullopt;
    if (open_sizes && open_sizes->size() != a.axes.size()) open_sizes.reset();
    for (size_t i = 0; i < a.axes.size(); ++i) {
      Dim& dim = out[static_cast<size_t>(a.axes[i])];
      dim = open_sizes ? (*open_sizes)[i]
                       : resized_dim(dim, a, scales, sizes, static_cast<int64_t>(i));
    }
  }
  return std::optional(std::move(out));
}

int64_t nearest_index(const ResizeAttrs& a,
                      const std::vector<ResizeAxis>& sizes,
                      int64_t axis,
                      int64_t at) {
  if (std::find(a.axes.begin(), a.axes.end(), axis) == a.axes.end()) return at;
  const ResizeWeights w = resize_weights(a.mode, sizes[static_cast<size_t>(axis)], at);
  return w.index[w.weight[0] != 0 ? 0 : 1];
}

std::vector<std::vector<ResizeTap>> resize_taps(const ResizeMode& mode, const ResizeAxis& axis) {
  std::vector<std::vector<ResizeTap>> out(static_cast<size_t>(axis.out));
  for (int64_t place = 0; place < axis.out; ++place) {
    const ResizeWeights w = resize_weights(mode, axis, place);
    for (size_t k = 0; k < w.weight.size(); ++k) {
      const auto weight = static_cast<float>(w.weight[k]);
      if (weight != 0) out[static_cast<size_t>(place)].push_back({w.index[k], weight});
    }
  }
  return out;
}

} // namespace octet
