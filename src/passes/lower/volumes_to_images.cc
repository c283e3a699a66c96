// SPDX-License-Identifier: Apache-2.0
// Windows over volumes [N, C, D, H, W] as windows over images:
//   Conv          =>  the sum over kernel planes of Convs over the planes of x that each meets; of
//                     one plane and windows of one, Conv without that axis
//   MaxPool       =>  MaxPool over the planes, then along the depth; AveragePool the same, for the
//                     taps that count are a product over the axes
//   Global*Pool   =>  over [N, C, D, H * W]
// Conv of several planes and AveragePool: rounding. The others: exact.
#include <algorithm>
#include <cmath>

#include "graph/domains.h"
#include "ops/shared/window.h"
#include "passes/lower/chains.h"
#include "passes/lower/to_images.h"

namespace octet::lowering {
namespace {

/// C, D, H and W, where all are known and none is 0.
std::optional<Shape> known_volume(const TypeInfo& x) {
  if (!x.has_rank() || x.rank() != 5 || x.type != DType::kFloat32) return std::nullopt;
  Shape sizes;
  for (size_t i = 1; i < 5; ++i) {
    const int64_t size = (*x.shape)[i].maybe_value().value_or(0);
    if (size <= 0) return std::nullopt;
    sizes.push_back(size);
  }
  return sizes;
}

ValueId ints(Patch& patch, const std::string& name, std::vector<int64_t> values) {
  return patch.constant(name, int_list(values));
}

ValueId reshape(Patch& patch, ValueId x, std::vector<int64_t> shape, const std::string& name) {
  return patch.emit("Reshape", {x, ints(patch, name + "/shape", std::move(shape))}, {}, name);
}

/// Channels behind planes or planes behind channels: [N, C, D, H, W] and [N, D, C, H, W].
ValueId exchange(Patch& patch, ValueId x, const std::string& name) {
  Attributes a;
  a["perm"].value = std::vector<int64_t>{0, 2, 1, 3, 4};
  return patch.emit("Transpose", {x}, std::move(a), name);
}

/// The window along the last two axes, or along the depth beside an axis of 1.
Attributes over_planes(const WindowAttrs& w, const std::vector<int64_t>& pads) {
  Attributes a;
  a["kernel_shape"].value = std::vector<int64_t>{w.kernel[1], w.kernel[2]};
  a["strides"].value = std::vector<int64_t>{w.strides[1], w.strides[2]};
  a["pads"].value = std::vector<int64_t>{pads[1], pads[2], pads[4], pads[5]};
  a["dilations"].value = std::vector<int64_t>{w.dilations[1], w.dilations[2]};
  return a;
}
Attributes along_depth(const WindowAttrs& w, const std::vector<int64_t>& pads) {
  Attributes a;
  a["kernel_shape"].value = std::vector<int64_t>{w.kernel[0], 1};
  a["strides"].value = std::vector<int64_t>{w.strides[0], 1};
  a["pads"].value = std::vector<int64_t>{pads[0], 0, pads[3], 0};
  a["dilations"].value = std::vector<int64_t>{w.dilations[0], 1};
  return a;
}

/// Sizes of the output; nullopt where the window does not fit.
std::optional<Shape> sizes_of(const WindowAttrs& w, const Shape& volume) {
  const std::vector<Dim> spatial(volume.begin() + 1, volume.end());
  const auto dims = window_sizes(w, spatial);
  if (!dims.ok()) return std::nullopt;
  Shape sizes;
  for (const Dim& d : *dims)
    sizes.push_back(d.value());
  return sizes;
}

/// Plane `k` of weights [O, I, kd, kh, kw].
Tensor plane_of(const Tensor& w, int64_t k) {
  Tensor plane = Tensor::zeros(DType::kFloat32, {w.dim(0), w.dim(1), w.dim(3), w.dim(4)}).value();
  const Tensor from = w.aligned();
  const int64_t size = w.dim(3) * w.dim(4);
  for (int64_t i = 0; i < w.dim(0) * w.dim(1); ++i)
    std::copy_n(from.data<float>().data() + (i * w.dim(2) + k) * size, size,
                plane.mutable_data<float>().data() + i * size);
  return plane;
}

bool all_finite(const Tensor& w) {
  const Tensor aligned = w.aligned();
  const auto values = aligned.data<float>();
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

/// [O, I, 1, kh, kw] as [O, I, kh, kw].
std::optional<Shape> without_depth(const Shape& w) {
  return w.size() == 5 && w[kUnitAxis] == 1 ? std::optional(Shape{w[0], w[1], w[3], w[4]})
                                            : std::nullopt;
}

/// Conv over one plane by windows of one: the sizes of images may be open, the weights codes.
std::optional<Patch> plane_to_image(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!x.has_rank() || x.rank() != 5 || !((*x.shape)[kUnitAxis] == Dim(1))) return std::nullopt;
  Attributes attributes = node.attributes;
  for (const char* key : {"kernel_shape", "strides", "dilations"}) {
    const std::vector<int64_t> values = node.attr_ints(key);
    if (!values.empty()) attributes[key].value = std::vector(values.begin() + 1, values.end());
  }
  if (const std::vector<int64_t> pads = node.attr_ints("pads"); !pads.empty()) {
    if (pads.size() != 6 || pads[0] != 0 || pads[3] != 0) return std::nullopt;
    attributes["pads"].value = std::vector<int64_t>{pads[1], pads[2], pads[4], pads[5]};
  }
  Patch patch(g, "a volume of one plane is an image", Exactness::kExact);
  patch.from(node);
  const auto w = reshaped_weights(patch, g, node.input(1), without_depth);
  if (!w) return std::nullopt;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = emit_unit_axis(patch, g, "Squeeze", node.input(0), node.name + "/image");
  inputs[1] = *w;
  const ValueId y = patch.emit("Conv", std::move(inputs), std::move(attributes), node.name);
  patch.replace(node.output(0), emit_unit_axis(patch, g, "Unsqueeze", y, node.name + "/volume"));
  return patch;
}

} // namespace

std::optional<Patch> volume_conv_to_images(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Conv")) return std::nullopt;
  if (auto image = plane_to_image(c, node)) return image;
  if (g.opset() < 11) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  const auto volume = known_volume(x);
  const Tensor* w = g.constant(node.input(1));
  if (!volume || w == nullptr || w->rank() != 5 || w->type() != DType::kFloat32 || w->count() == 0)
    return std::nullopt;
  // Planes of padding are multiplied by all of them.
  if (!all_finite(*w)) return std::nullopt;
  const auto window = parse_window(node, {w->dim(2), w->dim(3), w->dim(4)});
  if (!window.ok()) return std::nullopt;
  const auto out = sizes_of(*window, *volume);
  if (!out) return std::nullopt;
  const std::vector<int64_t> pads =
      resolve_pads(*window, std::span<const int64_t>(*volume).subspan(1));
  const int64_t channels = (*volume)[0], height = (*volume)[2], width = (*volume)[3];
  const int64_t batch = (*x.shape)[0].maybe_value().value_or(-1);
  Patch patch(g, "a volume is a stack of images", Exactness::kRounding);
  patch.from(node);
  ValueId planes = exchange(patch, node.input(0), node.name + "/planes");
  if (pads[0] > 0 || pads[3] > 0)
    planes = patch.emit(
        "Pad",
        {planes, ints(patch, node.name + "/pads", {0, pads[0], 0, 0, 0, 0, pads[3], 0, 0, 0})}, {},
        node.name + "/pad");
  Attributes attributes = over_planes(*window, pads);
  attributes["group"].value = node.attr_int("group", 1);
  const int64_t stride = window->strides[0], depth = (*out)[0];
  ValueId sum;
  for (int64_t k = 0; k < w->dim(2); ++k) {
    const std::string name = node.name + "/plane_" + std::to_string(k);
    const int64_t first = k * window->dilations[0];
    const ValueId met =
        patch.emit("Slice",
                   {planes, ints(patch, name + "/starts", {first}),
                    ints(patch, name + "/ends", {first + (depth - 1) * stride + 1}),
                    ints(patch, name + "/axes", {1}), ints(patch, name + "/steps", {stride})},
                   {}, name + "/slice");
    const ValueId images = reshape(
        patch, met, {batch < 0 ? -1 : batch * depth, channels, height, width}, name + "/images");
    std::vector<ValueId> inputs = {images, patch.constant(name + "/weights", plane_of(*w, k))};
    if (k == 0 && node.input(2).valid()) inputs.push_back(node.input(2));
    const ValueId part = patch.emit("Conv", std::move(inputs), attributes, name);
    sum = sum.valid() ? patch.emit("Add", {sum, part}, {}, name + "/sum") : part;
  }
  const ValueId y =
      reshape(patch, sum, {batch, depth, w->dim(0), (*out)[1], (*out)[2]}, node.name + "/volume");
  patch.replace(node.output(0), exchange(patch, y, node.name));
  return patch;
}

std::optional<Patch> volume_pool_to_images(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const bool global = node.is("GlobalAveragePool") || node.is("GlobalMaxPool");
  const bool average = node.is("GlobalAveragePool") || node.is("AveragePool");
  if (!global && !average && !node.is("MaxPool")) return std::nullopt;
  const auto volume = known_volume(g.value(node.input(0)).type);
  if (!volume || node.outputs.size() > 1) return std::nullopt;
  const int64_t channels = (*volume)[0], depth = (*volume)[1], height = (*volume)[2],
                width = (*volume)[3];
  Patch patch(g, "a volume is a stack of images",
              average ? Exactness::kRounding : Exactness::kExact);
  patch.from(node);
  if (global) {
    const ValueId image =
        reshape(patch, node.input(0), {0, channels, depth, height * width}, node.name + "/image");
    const ValueId y = patch.emit(node.op_type, {image}, {}, node.name + "/plane");
    patch.replace(node.output(0), reshape(patch, y, {0, channels, 1, 1, 1}, node.name));
    return patch;
  }
  const auto window = parse_window(node, node.attr_ints("kernel_shape"));
  if (!window.ok() || window->spatial_rank() != 3) return std::nullopt;
  const auto out = sizes_of(*window, *volume);
  if (!out) return std::nullopt;
  const std::vector<int64_t> pads =
      resolve_pads(*window, std::span<const int64_t>(*volume).subspan(1));
  const auto pool = [&](ValueId x, Attributes a, const std::string& name) {
    if (window->dilations == std::vector<int64_t>{1, 1, 1}) a.erase("dilations");
    for (const char* key : {"ceil_mode", "count_include_pad"})
      if (const Attribute* as_is = node.attr(key)) a[key] = *as_is;
    return patch.emit(node.op_type, {x}, std::move(a), name);
  };
  const ValueId planes =
      reshape(patch, node.input(0), {0, channels * depth, height, width}, node.name + "/images");
  const ValueId flat = pool(planes, over_planes(*window, pads), node.name + "/planes");
  const ValueId lines =
      reshape(patch, flat, {0, channels, depth, (*out)[1] * (*out)[2]}, node.name + "/lines");
  const ValueId y = pool(lines, along_depth(*window, pads), node.name + "/depth");
  patch.replace(node.output(0),
                reshape(patch, y, {0, channels, (*out)[0], (*out)[1], (*out)[2]}, node.name));
  return patch;
}

} // namespace octet::lowering
