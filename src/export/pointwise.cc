// SPDX-License-Identifier: Apache-2.0
//   DQ(a), DQ(b) ─▶ Add | Mul ─▶ Q                                      =>   QLinearAdd |
//   QLinearMul DQ(x) ─▶ AveragePool | GlobalAveragePool | Sigmoid | LeakyRelu | Softmax ─▶ Q   =>
//   QLinear... DQ(a), DQ(b), ... ─▶ Concat ─▶ Q                                    => QLinearConcat
//   condition, DQ(a), DQ(b) ─▶ Where ─▶ Q                               =>   QLinearWhere
// all of com.microsoft. Rounding: they round once, to codes, where Q/DQ rounds to float first.
//   DQ(x) ─▶ MaxPool | Reshape | Flatten | Transpose | ... ─▶ Q, equal scales   =>   on the codes
//   DQ(x) ─▶ Q, equal scales                                            =>   x
// Exact. one_type_around: uint8 and int8 around one of these become uint8 first.
#include <algorithm>
#include <array>

#include "export/coded_product.h"
#include "export/qlinear_limits.h"
#include "ops/schema_types.h"
#include "targets/checks.h"

namespace octet {

namespace {

constexpr std::array<std::string_view, 7> kAround = {
    "Add", "Mul", "AveragePool", "GlobalAveragePool", "Sigmoid", "LeakyRelu", "Softmax"};
constexpr std::array<std::string_view, 6> kMovements = {"MaxPool",   "Reshape", "Flatten",
                                                        "Transpose", "Squeeze", "Unsqueeze"};

bool is_one_of(const Node& node, std::span<const std::string_view> types) {
  return node.domain.empty() && std::find(types.begin(), types.end(), node.op_type) != types.end();
}

/// ONNX Runtime has them with one type of codes for all tensors.
bool fits(const qdq::Found<qdq::Site>& in, const CodedOutput& out) {
  return in && in->grid.per_tensor() && in->grid.codes == out.type() && is_byte(out.type());
}

void append(std::vector<ValueId>& inputs, const qdq::Site& value) {
  inputs.insert(inputs.end(), {value.codes, value.scale, value.zero});
}

bool same_parameters(const qdq::Grid& a, const qdq::Grid& b) {
  return a.per_tensor() && qdq::same(a, b, qdq::Same::kNumbers);
}

/// MaxPool has taken codes since operator set 12. ONNX Runtime moves codes of 8 and 16 bits: it has
/// no kernels for FP8 and fewer bits, whatever ONNX says.
bool takes_codes(const Graph& g, const Node& node, DType type) {
  if (!is_integer(type) || bits(type) < 8) return false;
  const auto* schema = onnx_schemas().find(node.op_type, g.opset());
  return schema != nullptr && schema->inputs.takes(0, type);
}

/// One scale, and zero points that name one value in uint8 and int8.
bool same_values(const qdq::Site& in, const CodedOutput& out) {
  const auto centered = [](const qdq::Grid& grid) {
    return grid.zero_at(0) + (grid.codes == DType::kInt8 ? 128 : 0);
  };
  const qdq::Grid &a = in.grid, &b = out.quantize.grid;
  return a.per_tensor() && a.scale_at(0) == b.scale_at(0) && centered(a) == centered(b);
}

} // namespace

std::optional<Patch> one_type_around(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool moves = is_one_of(node, kMovements);
  if (!moves && !is_one_of(node, kAround) && !node.is("Concat") && !node.is("Where"))
    return std::nullopt;
  const auto out = coded_output(context, node.output(0));
  if (!out || !is_byte(out->type())) return std::nullopt;
  std::vector<qdq::Site> inputs;
  bool mixes = false;
  for (size_t i = node.is("Where") ? 1 : 0; i < (moves ? 1 : node.inputs.size()); ++i) {
    const auto in = qdq::read_dequantize(g, node.inputs[i], kForForms);
    if (!in || !in->grid.per_tensor() || !is_byte(in->grid.codes)) return std::nullopt;
    mixes = mixes || in->grid.codes != out->type();
    inputs.push_back(*in);
  }
  if (!mixes || (moves && !same_values(inputs[0], *out))) return std::nullopt;
  return unsigned_layer(context, inputs, out);
}

std::optional<Patch> qlinear_around(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!is_one_of(node, kAround)) return std::nullopt;
  const auto out = coded_output(context, node.output(0));
  if (!out) return std::nullopt;
  std::vector<ValueId> inputs;
  for (const ValueId id : node.inputs) {
    const auto in = qdq::read_dequantize(g, id, kForForms);
    if (!fits(in, *out) || !computes_on_codes(g, node, *in, *out)) return std::nullopt;
    append(inputs, *in);
  }
  inputs.insert(inputs.end(), {out->quantize.scale, out->quantize.zero});
  Attributes attributes = node.attributes;
  if (node.is("Softmax")) attributes["opset"].value = g.opset();
  // It pools without dilations.
  if (node.is("AveragePool") && attributes.erase("dilations") > 0) {
    const auto dilations = node.attr_ints("dilations");
    if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }))
      return std::nullopt;
  }
  Patch patch(g, node.op_type + " between DQ and Q", Exactness::kRounding);
  patch.from(node).from(g.node(out->quantize.node)).import_opset(kMicrosoft, 1);
  patch.replace(out->quantize.codes, patch.emit("QLinear" + node.op_type, std::move(inputs),
                                                std::move(attributes), node.name, kMicrosoft));
  return patch;
}

std::optional<Patch> qlinear_concat(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Concat")) return std::nullopt;
  const auto out = coded_output(context, node.output(0));
  if (!out) return std::nullopt;
  std::vector<ValueId> inputs = {out->quantize.scale, out->quantize.zero};
  for (const ValueId id : node.inputs) {
    const auto in = qdq::read_dequantize(g, id, kForForms);
    if (!fits(in, *out)) return std::nullopt;
    append(inputs, *in);
  }
  Patch patch(g, "Concat between DQ and Q", Exactness::kRounding);
  patch.from(node).from(g.node(out->quantize.node)).import_opset(kMicrosoft, 1);
  patch.replace(out->quantize.codes, patch.emit("QLinearConcat", std::move(inputs), node.attributes,
                                                node.name, kMicrosoft));
  return patch;
}

std::optional<Patch> qlinear_where(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Where")) return std::nullopt;
  const auto out = coded_output(context, node.output(0));
  if (!out) return std::nullopt;
  std::vector<ValueId> inputs = {node.input(0)};
  for (const size_t i : {size_t{1}, size_t{2}}) {
    const auto in = qdq::read_dequantize(g, node.input(i), kForForms);
    if (!fits(in, *out)) return std::nullopt;
    append(inputs, *in);
  }
  inputs.insert(inputs.end(), {out->quantize.scale, out->quantize.zero});
  Patch patch(g, "Where between DQ and Q", Exactness::kRounding);
  patch.from(node).from(g.node(out->quantize.node)).import_opset(kMicrosoft, 1);
  patch.replace(out->quantize.codes,
                patch.emit("QLinearWhere", std::move(inputs), {}, node.name, kMicrosoft));
  return patch;
}

std::optional<Patch> move_on_codes(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!is_one_of(node, kMovements) || node.outputs.size() != 1) return std::nullopt;
  const auto in = qdq::read_dequantize(g, node.input(0), kForForms);
  const auto out = coded_output(context, node.output(0));
  if (!in || !out || out->clamp != nullptr || !same_parameters(in->grid, out->quantize.grid) ||
      !takes_codes(g, node, in->grid.codes))
    return std::nullopt;
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = in->codes;
  Patch patch(g, "it moves codes, and scales are equal", Exactness::kExact);
  patch.from(node).from(g.node(out->quantize.node));
  patch.replace(out->quantize.codes,
                patch.emit(node.op_type, std::move(inputs), node.attributes, node.name));
  return patch;
}

std::optional<Patch> drop_pair(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!is_quantize(node)) return std::nullopt;
  const auto in = qdq::read_dequantize(g, node.input(0), kForForms);
  const auto out = qdq::grid_of(g, node, kForForms);
  if (!in || !out || !same_parameters(in->grid, *out) || !can_replace(g, node.output(0), in->codes))
    return std::nullopt;
  Patch patch(g, "Q undoes DQ", Exactness::kExact);
  patch.from(node);
  patch.replace(node.output(0), in->codes);
  return patch;
}

} // namespace octet
