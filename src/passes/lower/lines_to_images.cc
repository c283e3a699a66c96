// SPDX-License-Identifier: Apache-2.0
// One-dimensional windows as images of height 1, which native operators and their kernels take:
//   x ─▶ Conv(w) ─▶ y        =>  x ─▶ Unsqueeze ─▶ Conv(w of height 1) ─▶ Squeeze ─▶ y, and the like
//   x ─▶ Squeeze ─▶ Relu     =>  x ─▶ Relu ─▶ Squeeze, and so for what works element by element
//   x ─▶ Squeeze ─▶ Unsqueeze =>  x
// so that a chain of them is one of images, whose layout stays as the windows want it, and a Q finds
// its product. Exact.
#include <algorithm>

#include "graph/domains.h"
#include "ops/qdq/site.h"
#include "passes/lower/chains.h"
#include "passes/lower/to_images.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

/// Whether the node takes a height of 1 from an image, or adds one.
bool moves_height(const RuleContext& c, const Node& node, std::string_view op) {
  if (!node.is(op)) return false;
  const TypeInfo& x = c.graph.value(node.input(0)).type;
  const auto axes = ints_of(c, node, "axes", 1);
  if (!axes || axes->size() != 1 || !x.has_rank()) return false;
  const int64_t rank = op == "Squeeze" ? x.rank() : x.rank() + 1;
  return rank == 4 && ((*axes)[0] == kUnitAxis || (*axes)[0] == kUnitAxis - rank);
}

/// The image of which `id` is a line; invalid where it is none.
ValueId image_behind(const RuleContext& c, ValueId id) {
  const Node* node = id.valid() ? c.graph.producer(id) : nullptr;
  return node != nullptr && moves_height(c, *node, "Squeeze") ? node->input(0) : ValueId{};
}

/// [O, I, k] as [O, I, 1, k].
std::optional<Shape> shape_of_height_1(const Shape& w) {
  return w.size() == 3 ? std::optional(Shape{w[0], w[1], 1, w[2]}) : std::nullopt;
}

/// The attributes of a window over lines for images.
Attributes of_height_1(const Node& node) {
  Attributes attributes = node.attributes;
  const auto with_first = [&](const char* key, int64_t first) {
    std::vector<int64_t> values = node.attr_ints(key);
    if (values.size() == 1) values.insert(values.begin(), first);
    if (!values.empty()) attributes[key].value = std::move(values);
  };
  for (const char* key : {"kernel_shape", "strides", "dilations", "output_shape"})
    with_first(key, 1);
  with_first("output_padding", 0);
  if (const std::vector<int64_t> pads = node.attr_ints("pads"); pads.size() == 2)
    attributes["pads"].value = std::vector<int64_t>{0, pads[0], 0, pads[1]};
  return attributes;
}

/// Works on each element of input 0 by itself, whatever the shape; others are numbers.
bool is_elementwise(const RuleContext& c, const Node& node) {
  if (node.outputs.size() != 1 || !node.captures.empty()) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* t = c.graph.constant(node.inputs[i]);
    if (node.inputs[i].valid() && (t == nullptr || t->count() != 1)) return false;
  }
  if (is_quantize(node) || is_dequantize(node)) return true;
  const OpDef* op = node.domain.empty() ? find_op(node.domain, node.op_type) : nullptr;
  if (op == nullptr || node.has_attr("axis")) return false;
  return node.is("Relu") || node.is("Clip") || node.is("Cast") ||
         op->quant.fn(node, input_infos(c.graph, node)).kind == QuantTrait::Kind::kUnary;
}

/// An operand of a broadcasting node for images: the image behind a line, or a constant with a
/// height of 1 between the axes that are its channels and its columns.
std::optional<ValueId> image_operand(const RuleContext& c, Patch& patch, ValueId id) {
  if (const ValueId image = image_behind(c, id); image.valid()) return image;
  const Tensor* t = c.graph.constant(id);
  if (t == nullptr || t->rank() > 3) return std::nullopt;
  if (t->rank() < 2) return id;
  Shape shape = t->shape();
  shape.insert(shape.end() - 1, 1);
  return patch.constant(c.graph.value(id).name + "/image", t->reshaped(std::move(shape)).value());
}

} // namespace

std::optional<Patch> lines_to_images(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const bool product = node.is("Conv") || node.is("ConvTranspose") || node.is("ConvInteger");
  const bool global = node.is("GlobalAveragePool") || node.is("GlobalMaxPool");
  if (!product && !global && !node.is("AveragePool") && !node.is("MaxPool")) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!x.has_rank() || x.rank() != 3) return std::nullopt;
  if (node.outputs.size() > 1 || node.attr_ints("output_shape").size() > 1) return std::nullopt;
  Patch patch(g, "lines are images of height 1", Exactness::kExact);
  patch.from(node);
  std::vector<ValueId> inputs = node.inputs;
  if (product) {
    const TypeInfo& type = g.value(node.input(1)).type;
    auto w = reshaped_weights(patch, g, node.input(1), shape_of_height_1);
    if (!w && type.has_rank() && type.rank() == 3)
      w = emit_unit_axis(patch, g, "Unsqueeze", node.input(1), node.name + "/weights");
    if (!w) return std::nullopt;
    inputs[1] = *w;
  }
  inputs[0] = emit_unit_axis(patch, g, "Unsqueeze", node.input(0), node.name + "/image");
  const ValueId y = patch.emit(node.op_type, std::move(inputs), of_height_1(node), node.name);
  patch.replace(node.output(0), emit_unit_axis(patch, g, "Squeeze", y, node.name + "/line"));
  return patch;
}

std::optional<Patch> sink_squeeze(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  bool any = false;
  for (const ValueId in : node.inputs)
    any = any || image_behind(c, in).valid();
  if (!any) return std::nullopt;
  Patch patch(g, "it works element by element", Exactness::kExact);
  patch.from(node);
  std::vector<ValueId> inputs = node.inputs;
  const OpDef* op = node.domain.empty() ? find_op(node.domain, node.op_type) : nullptr;
  if (op != nullptr && op->facts.value.broadcasts && node.outputs.size() == 1) {
    for (ValueId& in : inputs) {
      const auto image = image_operand(c, patch, in);
      if (!image) return std::nullopt;
      in = *image;
    }
  } else if (is_elementwise(c, node)) {
    inputs[0] = image_behind(c, node.input(0));
  } else {
    return std::nullopt;
  }
  const ValueId y =
      patch.emit(node.op_type, std::move(inputs), node.attributes, node.name, node.domain);
  patch.replace(node.output(0), emit_unit_axis(patch, g, "Squeeze", y, node.name + "/line"));
  return patch;
}

std::optional<Patch> cancel_height(const RuleContext& c, const Node& node) {
  if (!moves_height(c, node, "Unsqueeze")) return std::nullopt;
  const ValueId image = image_behind(c, node.input(0));
  if (!image.valid() || !can_replace(c.graph, node.output(0), image)) return std::nullopt;
  Patch patch(c.graph, "the height was there before", Exactness::kExact);
  patch.replace(node.output(0), image);
  return patch;
}

} // namespace octet::lowering
