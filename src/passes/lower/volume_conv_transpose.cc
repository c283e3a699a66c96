// SPDX-License-Identifier: Apache-2.0
// ConvTranspose over volumes [N, C, D, H, W] whose windows lie side by side along the depth, as in
// 3-D U-Nets: the planes that one plane of x makes are channels of one image.
//   x ─ ConvTranspose(w [I, O, kd, kh, kw])
//     =>  images [N D, C, H, W] ─ ConvTranspose(w [I, kd O, kh, kw]) ─ [N, O, kd D, H', W']
// Exact.
#include <algorithm>

#include "ops/evaluate.h"
#include "ops/qdq/site.h"
#include "ops/shared/transposed_window.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"
#include "passes/lower/to_images.h"

namespace octet::lowering {
namespace {

std::optional<Shape> shape_of_weights(const Graph& g, ValueId w) {
  const auto shape = g.value(w).type.static_shape();
  const bool some = shape && std::count(shape->begin(), shape->end(), 0) == 0;
  return some && shape->size() == 5 ? shape : std::nullopt;
}

/// Whether each plane of x makes planes of its own, one after another.
bool lies_side_by_side(const TransposedWindow& w) {
  const WindowAttrs& a = w.window;
  const bool placed = a.auto_pad != AutoPad::kSameUpper && a.auto_pad != AutoPad::kSameLower &&
                      w.output_shape.empty();
  return placed && w.group == 1 && a.kernel[0] == a.strides[0] && a.dilations[0] == 1 &&
         a.pads[0] == 0 && a.pads[3] == 0 && w.output_padding[0] == 0;
}

Attributes of_images(const TransposedWindow& w) {
  const WindowAttrs& a = w.window;
  Attributes out;
  out["kernel_shape"].value = std::vector(a.kernel.begin() + 1, a.kernel.end());
  out["strides"].value = std::vector(a.strides.begin() + 1, a.strides.end());
  out["dilations"].value = std::vector(a.dilations.begin() + 1, a.dilations.end());
  out["pads"].value = std::vector<int64_t>{a.pads[1], a.pads[2], a.pads[4], a.pads[5]};
  out["output_padding"].value = std::vector(w.output_padding.begin() + 1, w.output_padding.end());
  return out;
}

/// Weights as images take them: constants, codes of a byte behind DQ whose scales run along the output
/// channels, or what the graph computes. Invalid where scales run elsewhere.
ValueId
weights_of_images(Patch& patch, Moves& moves, const Graph& g, ValueId w, const Shape& shape) {
  const auto moved = [&](ValueId id, const Tensor& t) {
    return patch.constant(g.value(id).name + "/planes", planes_as_channels(t));
  };
  const auto site = qdq::read_dequantize(g, w, {.written_zero = false, .byte_codes = true});
  if (!site || g.constant(site->codes) == nullptr) {
    if (const std::optional<Tensor> numbers = constant_value(g, w)) return moved(w, *numbers);
    return moves.reshaped(moves.turned(w, {0, 2, 1, 3, 4}),
                          {shape[0], shape[1] * shape[2], shape[3], shape[4]});
  }
  if (!site->grid.per_tensor() && site->grid.axis != 1) return {};
  const Node& dq = g.node(site->node);
  std::vector<ValueId> inputs = dq.inputs;
  inputs[0] = moved(site->codes, *g.constant(site->codes));
  for (size_t i = 1; i < inputs.size() && !site->grid.per_tensor(); ++i)
    if (inputs[i].valid())
      inputs[i] = patch.constant(g.value(inputs[i]).name + "/planes",
                                 repeated(*g.constant(inputs[i]), shape[2]));
  Attributes attributes = dq.attributes;
  attributes["axis"].value = int64_t{1}; // it may have been counted from the end
  return patch.emit(dq.op_type, std::move(inputs), std::move(attributes), dq.name + "/planes",
                    dq.domain);
}

ValueId bias_of_images(Patch& patch, const Graph& g, ValueId bias, int64_t planes) {
  const std::string name = g.value(bias).name + "/planes";
  if (const std::optional<Tensor> known = constant_value(g, bias))
    return patch.constant(name, repeated(*known, planes));
  Attributes a;
  a["axis"].value = int64_t{0};
  return patch.emit("Concat", std::vector<ValueId>(static_cast<size_t>(planes), bias), std::move(a),
                    name);
}

} // namespace

std::optional<Patch> volume_conv_transpose(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("ConvTranspose") || g.opset() < 11) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  const auto shape = shape_of_weights(g, node.input(1));
  if (!shape || !x.has_rank() || x.rank() != 5 || x.type != DType::kFloat32 ||
      std::count(x.shape->begin(), x.shape->end(), Dim(0)) > 0 || (*x.shape)[1] != Dim((*shape)[0]))
    return std::nullopt;
  const auto batch = (*x.shape)[0].maybe_value(), depth = (*x.shape)[2].maybe_value();
  const auto window = parse_transposed(node, {(*shape)[2], (*shape)[3], (*shape)[4]});
  if ((!batch && !depth) || !window.ok() || !lies_side_by_side(*window)) return std::nullopt;
  Patch patch(g, "a volume is a stack of images", Exactness::kExact);
  patch.from(node);
  Moves moves(patch, node.name);
  std::vector<ValueId> inputs(2);
  inputs[1] = weights_of_images(patch, moves, g, node.input(1), *shape);
  if (!inputs[1].valid()) return std::nullopt;
  inputs[0] = moves.turned(
      moves.reshaped(moves.turned(node.input(0), {1, 3, 4, 0, 2}), {0, 0, 0, -1}), {3, 0, 1, 2});
  if (node.input(2).valid()) inputs.push_back(bias_of_images(patch, g, node.input(2), (*shape)[2]));
  const ValueId images =
      patch.emit("ConvTranspose", std::move(inputs), of_images(*window), node.name);
  // [H, W, N D, kd O] to [H, W, N, O, D, kd], whose last two are the depth.
  std::vector<int64_t> parts = {0,           0,          batch.value_or(-1), batch ? -1 : *depth,
                                (*shape)[2], (*shape)[1]};
  const ValueId split = moves.reshaped(moves.turned(images, {2, 3, 0, 1}), std::move(parts));
  const ValueId stack = moves.reshaped(moves.turned(split, {0, 1, 2, 5, 3, 4}), {0, 0, 0, 0, -1});
  patch.replace(node.output(0), moves.turned(stack, {2, 3, 4, 0, 1}));
  return patch;
}

} // namespace octet::lowering
