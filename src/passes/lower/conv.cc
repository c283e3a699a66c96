// SPDX-License-Identifier: Apache-2.0
// Conv over images:
//   DQ ─ Conv(DQ weights, bias) ─ epilogue     becomes QConv
//   x  ─ Conv(float weights, bias) ─ epilogue  becomes native Conv
//   x  ─ ConvTranspose(...) ─ epilogue         becomes native ConvTranspose
//   of windows side by side, in codes too      becomes QConv or Conv ─ DepthToSpace
// Float weights and biases may be computed.
// All in NHWC, weights turned from OIHW, and IOHW within each group, to OHWI.
#include <algorithm>

#include "core/format.h"
#include "graph/edit.h"
#include "ops/shared/transposed_window.h"
#include "passes/lower/context.h"
#include "passes/lower/to_images.h"

namespace octet::lowering {
namespace {

/// Explicit [top, left, bottom, right] pads; nullopt when auto_pad needs sizes that are known once
/// the operator is bound to them.
std::optional<std::vector<int64_t>> explicit_pads(const Context& c,
                                                  const Node& node,
                                                  const Shape& kernel,
                                                  const std::vector<int64_t>& strides,
                                                  const std::vector<int64_t>& dilations) {
  const std::string mode = node.attr_string("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode.empty()) {
    std::vector<int64_t> pads = node.attr_ints("pads");
    if (pads.empty()) pads.assign(4, 0);
    return pads;
  }
  std::vector<int64_t> pads(4, 0);
  if (mode == "VALID") return pads;
  const auto& dims = *c.in().value(node.input(0)).type.shape;
  for (size_t i = 0; i < 2; ++i) {
    const auto size = dims[2 + i].maybe_value();
    if (!size) return std::nullopt;
    const int64_t out = (*size + strides[i] - 1) / strides[i];
    const int64_t total =
        std::max<int64_t>(0, (out - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - *size);
    const int64_t small = total / 2, large = total - small;
    pads[i] = mode == "SAME_UPPER" ? small : large;
    pads[i + 2] = mode == "SAME_UPPER" ? large : small;
  }
  return pads;
}

std::vector<int64_t> ones_if_empty(std::vector<int64_t> v) {
  if (v.empty()) v = {1, 1};
  return v;
}

/// Weights of four axes: codes where the input has some, else floats.
struct WindowWeights {
  std::optional<qdq::StoredCodes> codes;
  Tensor real;           ///< without codes, where they are constant
  std::string why_float; ///< why codes are not used, where there are some
  Shape shape;
};

bool has_computed_bias(const Context& c, const Node& node) {
  return node.input(2).valid() && !c.constant(node.input(2));
}

/// Those of a node whose output channels run along `axis` of them; nullopt where it has others.
std::optional<WindowWeights> weights_of(const Context& c, const Node& node, int64_t axis) {
  WindowWeights w;
  w.codes = c.weights(node.input(1), w.why_float);
  if (w.codes && has_computed_bias(c, node)) w.why_float = "its bias is computed";
  if (w.codes && !w.codes->grid.per_tensor() && w.codes->grid.axis != axis)
    w.why_float = fmt::format("its weight scales do not run along axis {}", axis);
  if (w.codes && !c.codes(node.input(0))) w.why_float = "its input is not quantized";
  if (!w.why_float.empty()) w.codes.reset();
  if (!w.codes) {
    const TypeInfo& type = c.in().value(node.input(1)).type;
    const auto shape = type.static_shape();
    if (type.type != DType::kFloat32 || !shape) return std::nullopt;
    if (const std::optional<Tensor> real = c.constant(node.input(1))) w.real = *real;
    w.shape = *shape;
  } else {
    w.shape = w.codes->codes.shape();
  }
  const bool some = std::count(w.shape.begin(), w.shape.end(), 0) == 0;
  return w.shape.size() == 4 && (some || w.codes || !w.real.empty()) ? std::optional(std::move(w))
                                                                     : std::nullopt;
}

/// The bias of the node, where it has one.
void take_bias(Context& c, const Node& node, Product& p) {
  if (has_computed_bias(c, node))
    p.made_bias = c.plain(node.input(2)).id;
  else
    p.bias = node.input(2);
}

/// QConv or Conv of a node, as its weights ask for, without attributes; `turn` brings them to OHWI.
Product convolution(Context& c, const Node& node, WindowWeights w, Tensor (*turn)(const Tensor&)) {
  Product p{.node = node,
            .x = w.codes ? c.codes_nhwc(node.input(0)) : c.nhwc(node.input(0)),
            .x_quant = c.source(node.input(0)).quant,
            .weights = std::nullopt,
            .coded = std::nullopt,
            .real_weights = {},
            .bias = {},
            .added_bias = std::nullopt,
            .result = node.outputs[0],
            .absorbed = {},
            .why_float = std::move(w.why_float),
            .attributes = {},
            .quantized_op = "QConv",
            .float_op = "Conv",
            .layout = Layout::kNhwc};
  if (w.codes) {
    w.codes->codes = turn(w.codes->codes);
    p.weights = std::move(w.codes);
  } else if (!w.real.empty()) {
    p.real_weights = turn(w.real);
  } else {
    p.made_weights = c.nhwc(node.input(1)).id; // [O, I, kh, kw] as [O, kh, kw, I]
  }
  take_bias(c, node, p);
  return p;
}

/// [O, I, kh, kw] as [O, kh, kw, I].
Tensor as_ohwi(const Tensor& w) {
  constexpr int64_t kOrder[] = {0, 2, 3, 1};
  return permuted(w, kOrder);
}

/// [I, O / group, kh, kw] as [O, kh, kw, I / group].
Tensor turned(const Tensor& w, int64_t group) {
  const int64_t per = w.dim(0) / group;
  const Tensor split = w.reshaped({group, per, w.dim(1), w.dim(2), w.dim(3)}).value();
  constexpr int64_t kOrder[] = {0, 2, 3, 4, 1};
  return permuted(split, kOrder).reshaped({group * w.dim(1), w.dim(2), w.dim(3), per}).value();
}

/// The same of weights that the graph computes.
ValueId turned(Context& c, ValueId w, const Shape& shape, int64_t group) {
  const ValueId plain = c.plain(w).id;
  const int64_t per = shape[0] / group;
  const std::string name = c.in().value(w).name;
  const auto emit = [&](const char* op, ValueId x, const char* attribute,
                        std::vector<int64_t> sizes, const char* part) {
    Attributes a;
    std::vector<ValueId> inputs = {x};
    if (attribute != nullptr)
      a[attribute].value = std::move(sizes);
    else
      inputs.push_back(c.out().add_constant(name + part + "/sizes", int_list(sizes)));
    return c.out().emit(op, std::move(inputs), std::move(a), name + part);
  };
  const ValueId split =
      emit("Reshape", plain, nullptr, {group, per, shape[1], shape[2], shape[3]}, "/groups");
  const ValueId moved = emit("Transpose", split, "perm", {0, 2, 3, 4, 1}, "/turned");
  return emit("Reshape", moved, nullptr, {group * shape[1], shape[2], shape[3], per}, "/ohwi");
}

/// [I, O, kh, kw] as [kh * kw * O, 1, 1, I]: the pixels of a block after one another.
Tensor as_pixels(const Tensor& w) {
  constexpr int64_t kOrder[] = {2, 3, 1, 0};
  return permuted(w, kOrder).reshaped({w.dim(1) * w.dim(2) * w.dim(3), 1, 1, w.dim(0)}).value();
}

/// ConvTranspose whose windows lie side by side: a product of 1 x 1 pixels for all places of the
/// window at once. False where it is another.
Result<bool> lower_blocks(Context& c, const Node& node) {
  auto w = weights_of(c, node, 1);
  const Shape shape = w ? w->shape : Shape{0};
  if (std::count(shape.begin(), shape.end(), 0) > 0 || (!w->codes && w->real.empty()) ||
      has_computed_bias(c, node))
    return false;
  const auto window = parse_transposed(node, {shape[2], shape[3]});
  if (!window.ok() || !makes_blocks(*window)) return false;
  const int64_t channels = shape[1], pixels = shape[2] * shape[3];
  const std::optional<Tensor> bias =
      node.input(2).valid() ? c.constant(node.input(2)) : std::nullopt;
  if (bias && (bias->type() != DType::kFloat32 || bias->count() != channels)) return false;
  Product p = convolution(c, node, *std::move(w), as_pixels);
  p.blocks = window->window.kernel;
  p.bias = {};
  if (bias) p.added_bias = repeated(*bias, pixels);
  if (p.weights && !p.weights->grid.per_tensor()) {
    qdq::Grid& grid = p.weights->grid;
    grid.scale = repeated(grid.scale, pixels);
    if (grid.zero.count() > 1) grid.zero = repeated(grid.zero, pixels);
    grid.axis = grid.axis_written = 0;
  }
  return emit_product(c, p);
}

/// ConvTranspose of floats; DQ of weights that are stored as codes is done ahead.
Result<bool> lower_conv_transpose(Context& c, const Node& node) {
  const TypeInfo& x = c.in().value(node.input(0)).type;
  if (!x.has_rank() || x.rank() != 4 || x.type != DType::kFloat32) return false;
  if (OCTET_TRY(lower_blocks(c, node))) return true;
  const std::optional<Tensor> w = c.constant(node.input(1));
  const TypeInfo& type = c.in().value(node.input(1)).type;
  const auto shape = type.static_shape();
  const int64_t group = node.attr_int("group", 1);
  if (type.type != DType::kFloat32 || !shape || shape->size() != 4 || group < 1 ||
      (*shape)[0] % group != 0 || std::count(shape->begin(), shape->end(), 0) > 0)
    return false;
  Product p{.node = node,
            .x = c.nhwc(node.input(0)),
            .x_quant = {},
            .weights = std::nullopt,
            .coded = std::nullopt,
            .real_weights = w ? turned(*w, group) : Tensor(),
            .bias = {},
            .added_bias = std::nullopt,
            .result = node.outputs[0],
            .absorbed = {},
            .why_float = "octet has no ConvTranspose on codes where windows overlap",
            .attributes = node.attributes,
            .quantized_op = "",
            .float_op = "ConvTranspose",
            .layout = Layout::kNhwc};
  if (!w) p.made_weights = turned(c, node.input(1), *shape, group);
  take_bias(c, node, p);
  p.attributes.erase("kernel_shape");
  return emit_product(c, p);
}

} // namespace

Result<bool> lower_conv(Context& c, const Node& node) {
  if (node.is("ConvTranspose")) return lower_conv_transpose(c, node);
  if (!node.is("Conv")) return false;
  const TypeInfo& x = c.in().value(node.input(0)).type;
  if (!x.has_rank() || x.rank() != 4 || x.type != DType::kFloat32) return false;
  auto w = weights_of(c, node, 0);
  if (!w) return false;
  const Shape shape = w->shape;
  const auto strides = ones_if_empty(node.attr_ints("strides"));
  const auto dilations = ones_if_empty(node.attr_ints("dilations"));
  const auto pads = explicit_pads(c, node, {shape[2], shape[3]}, strides, dilations);
  Product p = convolution(c, node, *std::move(w), as_ohwi);
  p.attributes["strides"].value = strides;
  p.attributes["dilations"].value = dilations;
  if (pads)
    p.attributes["pads"].value = *pads;
  else
    p.attributes["auto_pad"] = node.attributes.at("auto_pad");
  p.attributes["group"].value = node.attr_int("group", 1);
  return emit_product(c, p);
}

} // namespace octet::lowering
