// SPDX-License-Identifier: Apache-2.0
// Windows over volumes [N, C, D, H, W] as windows over images:
//   Conv          =>  the sum over kernel planes of Convs over the planes of x that each meets; with
//                     codes as weights one Conv, whose channels are those of all these planes; of one
//                     plane and windows of one, Conv without that axis
//   MaxPool       =>  MaxPool over the planes, then along the depth; AveragePool the same, for the
//                     taps that count are a product over the axes
//   Global*Pool   =>  over [N, C, D, H * W]
// Conv of several planes and AveragePool: rounding. The others: exact.
#include <algorithm>
#include <cmath>

#include "graph/domains.h"
#include "ops/evaluate.h"
#include "ops/qdq/stored.h"
#include "ops/shared/window.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"
#include "passes/lower/to_images.h"

namespace octet::lowering {
namespace {

/// Windows over a volume [N, C, D, H, W] of f32 whose pads are known; nullopt of others.
struct Volume {
  WindowAttrs window;
  std::vector<int64_t> pads;
};
/// Not of one that is surely empty: -1 in a shape would say nothing.
bool is_volume(const TypeInfo& x) {
  return x.has_rank() && x.rank() == 5 && x.type == DType::kFloat32 &&
         std::none_of(x.shape->begin(), x.shape->end(), [](const Dim& d) { return d == Dim(0); });
}
std::optional<Volume> volume_of(const TypeInfo& x, const Result<WindowAttrs>& window) {
  if (!is_volume(x) || !window.ok() || window->spatial_rank() != 3) return std::nullopt;
  const bool same =
      window->auto_pad == AutoPad::kSameUpper || window->auto_pad == AutoPad::kSameLower;
  if (!same) return Volume{*window, window->pads};
  Shape sizes;
  for (size_t i = 2; i < 5; ++i) {
    const auto size = (*x.shape)[i].maybe_value();
    if (!size) return std::nullopt; // how much is padded follows from the sizes
    sizes.push_back(*size);
  }
  return Volume{*window, resolve_pads(*window, sizes)};
}

ValueId ints(Patch& patch, const std::string& name, std::vector<int64_t> values) {
  return patch.constant(name, int_list(values));
}

/// Sizes of a value along some of its axes.
struct Sizes {
  ValueId of;
  int64_t begin, end;
};

/// `x` in a shape of given sizes, or those of other values.
class NewShape {
 public:
  NewShape(Patch& patch, const Graph& graph, std::string name)
      : patch_(patch), opset_(graph.opset()), name_(std::move(name)) {}

  NewShape& like(const Sizes& sizes) {
    parts_.push_back(size(sizes, fresh()));
    return *this;
  }
  /// One axis for two that follow one another.
  NewShape& joined(ValueId value, int64_t axis) {
    const std::string name = fresh();
    parts_.push_back(patch_.emit("Mul",
                                 {size({value, axis, axis + 1}, name + "/first"),
                                  size({value, axis + 1, axis + 2}, name + "/second")},
                                 {}, name));
    return *this;
  }
  NewShape& as(std::vector<int64_t> sizes) {
    parts_.push_back(ints(patch_, fresh(), std::move(sizes)));
    return *this;
  }
  ValueId of(ValueId x) {
    Attributes axis;
    axis["axis"].value = int64_t{0};
    const ValueId shape =
        parts_.size() == 1 ? parts_[0] : patch_.emit("Concat", parts_, axis, name_ + "/sizes");
    return patch_.emit("Reshape", {x, shape}, {}, name_);
  }

 private:
  ValueId size(const Sizes& sizes, const std::string& name) {
    const ValueId shape = patch_.emit("Shape", {sizes.of}, {}, name + "/shape");
    if (opset_ < 10)
      return patch_.emit("Slice", {shape},
                         {{"starts", {std::vector<int64_t>{sizes.begin}}},
                          {"ends", {std::vector<int64_t>{sizes.end}}}},
                         name);
    return patch_.emit("Slice",
                       {shape, ints(patch_, name + "/begin", {sizes.begin}),
                        ints(patch_, name + "/end", {sizes.end})},
                       {}, name);
  }
  std::string fresh() const { return name_ + "/size_" + std::to_string(parts_.size()); }

  Patch& patch_;
  int64_t opset_;
  std::string name_;
  std::vector<ValueId> parts_;
};

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

/// Conv over a volume with constant weights [O, I, kd, kh, kw].
struct VolumeConv {
  Volume volume;
  Shape shape;
  int64_t group = 1;
  bool stacked = false;          ///< codes: the planes that meet one of y are channels of one image
  std::optional<Tensor> numbers; ///< f32, of those that are not

  int64_t channels() const { return shape[1] * group; }
};

std::optional<VolumeConv> volume_conv(const Graph& g, const Node& node) {
  VolumeConv out;
  out.group = node.attr_int("group", 1);
  const auto stored = qdq::stored_codes(g, node.input(1));
  out.stacked = stored && is_byte(stored->codes.type()) && out.group == 1 &&
                stored->grid.block == 0 && (stored->grid.per_tensor() || stored->grid.axis == 0);
  if (!out.stacked) {
    out.numbers = constant_value(g, node.input(1));
    if (!out.numbers || out.numbers->type() != DType::kFloat32) return std::nullopt;
  }
  out.shape = out.stacked ? stored->codes.shape() : out.numbers->shape();
  if (out.shape.size() != 5 || std::count(out.shape.begin(), out.shape.end(), 0) > 0)
    return std::nullopt;
  // Planes of padding are multiplied by all of them.
  if (out.numbers && !all_finite(*out.numbers)) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  auto volume = volume_of(x, parse_window(node, {out.shape[2], out.shape[3], out.shape[4]}));
  if (!volume) return std::nullopt;
  out.volume = *std::move(volume);
  const std::vector<int64_t>& pads = out.volume.pads;
  // An open depth that the window does not fit into would give no planes, and not an error.
  if (!(*x.shape)[2].is_constant() && out.volume.window.extent(0) - pads[0] - pads[3] > 1)
    return std::nullopt;
  // Other channels than the weights have are an error too, and no other images.
  if (!((*x.shape)[1] == Dim(out.channels()))) return std::nullopt;
  return out;
}

/// Images [N D, O, H, W] as the volume [N, O, D, H, W] that `node` makes.
ValueId as_volume(Patch& patch,
                  const VolumeConv& conv,
                  const Graph& g,
                  const Node& node,
                  ValueId met,
                  ValueId images) {
  const TypeInfo& x = g.value(node.input(0)).type;
  const auto batch = (*x.shape)[0].maybe_value(), depth = (*x.shape)[2].maybe_value();
  if (!batch && !depth) {
    const ValueId y = NewShape(patch, g, node.name + "/volume")
                          .like({met, 0, 2})
                          .as({conv.shape[0]})
                          .like({images, 2, 4})
                          .of(images);
    return exchange(patch, y, node.name + "/channels_first");
  }
  // No Shape reads the images: what follows the product stays alone with it.
  const WindowAttrs& w = conv.volume.window;
  std::vector<int64_t> sizes = {0, 0, 0, batch.value_or(0), -1};
  if (depth) {
    const int64_t padded = *depth + conv.volume.pads[0] + conv.volume.pads[3];
    sizes[3] = -1;
    sizes[4] = (padded - w.extent(0)) / w.strides[0] + 1;
  }
  Moves moves(patch, node.name);
  const ValueId y = moves.reshaped(moves.turned(images, {1, 2, 3, 0}), std::move(sizes));
  return moves.turned(y, {3, 0, 4, 1, 2});
}

} // namespace

std::optional<Patch> volume_conv_to_images(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Conv")) return std::nullopt;
  if (auto image = plane_to_image(c, node)) return image;
  if (g.opset() < 11) return std::nullopt;
  const std::optional<VolumeConv> conv = volume_conv(g, node);
  if (!conv) return std::nullopt;
  Patch patch(g, "a volume is a stack of images",
              conv->stacked ? Exactness::kExact : Exactness::kRounding);
  patch.from(node);
  const WindowAttrs& window = conv->volume.window;
  const std::vector<int64_t>& pads = conv->volume.pads;
  ValueId planes = exchange(patch, node.input(0), node.name + "/planes");
  if (pads[0] > 0 || pads[3] > 0)
    planes = patch.emit(
        "Pad",
        {planes, ints(patch, node.name + "/pads", {0, pads[0], 0, 0, 0, 0, pads[3], 0, 0, 0})}, {},
        node.name + "/pad");
  Attributes attributes = over_planes(window, pads);
  attributes["group"].value = conv->group;
  /// The planes of x that plane `k` of the kernel meets, [N, D, C, H, W].
  const int64_t last = (conv->shape[2] - 1) * window.dilations[0];
  const auto met_by = [&](int64_t k) {
    const std::string name = node.name + "/plane_" + std::to_string(k);
    const int64_t first = k * window.dilations[0];
    const int64_t end = first == last ? INT64_MAX : first - last; // from the end
    return patch.emit("Slice",
                      {planes, ints(patch, name + "/starts", {first}),
                       ints(patch, name + "/ends", {end}), ints(patch, name + "/axes", {1}),
                       ints(patch, name + "/steps", {window.strides[0]})},
                      {}, name + "/slice");
  };
  const auto product = [&](ValueId met, int64_t channels, ValueId weights, bool biased,
                           const std::string& name) {
    const ValueId images =
        NewShape(patch, g, name + "/images").as({-1, channels}).like({node.input(0), 3, 5}).of(met);
    std::vector<ValueId> inputs = {images, weights};
    if (biased && node.input(2).valid()) inputs.push_back(node.input(2));
    return patch.emit("Conv", std::move(inputs), attributes, name);
  };
  ValueId sum, met;
  if (conv->stacked) {
    const auto weights = moved_weights(patch, g, node.input(1), 1, planes_as_channels);
    if (!weights) return std::nullopt;
    std::vector<ValueId> all;
    for (int64_t k = 0; k < conv->shape[2]; ++k)
      all.push_back(met_by(k));
    met = all.front();
    Attributes channels;
    channels["axis"].value = int64_t{2};
    const ValueId stack =
        all.size() == 1 ? met : patch.emit("Concat", all, channels, node.name + "/stack");
    sum = product(stack, conv->shape[2] * conv->channels(), *weights, true, node.name);
  } else {
    const Tensor& numbers = *conv->numbers;
    for (int64_t k = 0; k < conv->shape[2]; ++k) {
      const std::string name = node.name + "/plane_" + std::to_string(k);
      met = met_by(k);
      const ValueId part =
          product(met, conv->channels(), patch.constant(name + "/weights", plane_of(numbers, k)),
                  k == 0, name);
      sum = sum.valid() ? patch.emit("Add", {sum, part}, {}, name + "/sum") : part;
    }
  }
  patch.replace(node.output(0), as_volume(patch, *conv, c.graph, node, met, sum));
  return patch;
}

std::optional<Patch> volume_pool_to_images(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const bool global = node.is("GlobalAveragePool") || node.is("GlobalMaxPool");
  const bool average = node.is("GlobalAveragePool") || node.is("AveragePool");
  if (!global && !average && !node.is("MaxPool")) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!is_volume(x) || node.outputs.size() > 1) return std::nullopt;
  Patch patch(g, "a volume is a stack of images",
              average ? Exactness::kRounding : Exactness::kExact);
  patch.from(node);
  const ValueId all = node.input(0);
  if (global) {
    const ValueId image =
        NewShape(patch, g, node.name + "/image").like({all, 0, 3}).joined(all, 3).of(all);
    const ValueId y = patch.emit(node.op_type, {image}, {}, node.name + "/plane");
    patch.replace(node.output(0), NewShape(patch, g, node.name).as({0, 0, 1, 1, 1}).of(y));
    return patch;
  }
  const auto volume = volume_of(x, parse_window(node, node.attr_ints("kernel_shape")));
  if (!volume) return std::nullopt;
  const auto pool = [&](ValueId from, Attributes a, const std::string& name) {
    if (volume->window.dilations == std::vector<int64_t>{1, 1, 1}) a.erase("dilations");
    for (const char* key : {"ceil_mode", "count_include_pad"})
      if (const Attribute* as_is = node.attr(key)) a[key] = *as_is;
    return patch.emit(node.op_type, {from}, std::move(a), name);
  };
  // Planes are channels where their number is known, else images.
  const auto channels = (*x.shape)[1].maybe_value(), depth = (*x.shape)[2].maybe_value();
  if (!channels) return std::nullopt;
  const ValueId from = depth ? all : exchange(patch, all, node.name + "/planes_first");
  const ValueId planes = NewShape(patch, g, node.name + "/images")
                             .as({-1, *channels * depth.value_or(1)})
                             .like({all, 3, 5})
                             .of(from);
  const ValueId flat =
      pool(planes, over_planes(volume->window, volume->pads), node.name + "/planes");
  ValueId stack = flat;
  if (!depth)
    stack = exchange(patch,
                     NewShape(patch, g, node.name + "/stack")
                         .like({all, 0, 1})
                         .like({all, 2, 3})
                         .as({*channels})
                         .like({flat, 2, 4})
                         .of(flat),
                     node.name + "/channels_first");
  const ValueId lines = NewShape(patch, g, node.name + "/lines")
                            .as({-1, *channels})
                            .like({all, 2, 3})
                            .joined(flat, 2)
                            .of(stack);
  const ValueId y = pool(lines, along_depth(volume->window, volume->pads), node.name + "/depth");
  patch.replace(
      node.output(0),
      NewShape(patch, g, node.name).like({all, 0, 2}).like({y, 2, 3}).like({flat, 2, 4}).of(y));
  return patch;
}

} // namespace octet::lowering
