// SPDX-License-Identifier: Apache-2.0
//   QuantizeWithOrder(x)             =>   [into order_output] Q
//   DequantizeWithOrder(x)           =>   DQ [into order_output]
//   QOrderedMatMul(a, b, bias, c)    =>   MatMul(DQ(a), DQ(b)) [+ bias] [+ DQ(c)], then Q
//   QOrderedGelu(x)                  =>   Gelu(DQ(x)), then Q
//   QOrderedLayerNormalization(x)    =>   LayerNormalization(DQ(x)), then Q
// of com.microsoft. Rounding: a code may be one step off at a tie; DequantizeWithOrder to f32 is
// exact. Wanted: constant weights and scales. Weights are put row after row in the file;
// activations of another order than ORDER_ROW are moved by Reshape, Transpose and Reshape on the
// float side. Source: ONNX Runtime, docs/ContribOperators.md.
#include "passes/standardize/ordered_codes.h"

namespace octet {

namespace {

using ms::MatrixOrder;

MatrixOrder order_of(const Node& node, const char* attribute) {
  const auto order = ms::parse_order(node, attribute, MatrixOrder::kRows);
  return order.ok() ? *order : MatrixOrder::kRows; // inference has refused the others
}

/// A rule for one operator; the patch is dropped where the value is invalid.
using Emit = ValueId(const Graph&, const Node&, Patch&, OrderedCodes&);

ValueId quantize(const Graph& g, const Node& node, Patch&, OrderedCodes& o) {
  if (!o.has_scale(1)) return {};
  const TypeInfo& type = g.value(node.input(0)).type;
  ValueId x = node.input(0);
  if (type.type == DType::kFloat16) x = o.cast(x, DType::kFloat32, o.name("float"));
  x = o.reorder(x, type, order_of(node, "order_input"), order_of(node, "order_output"),
                o.name("order"));
  return x.valid() ? o.codes(x, 1, node.name) : x;
}

ValueId dequantize(const Graph& g, const Node& node, Patch&, OrderedCodes& o) {
  if (!o.has_scale(1)) return {};
  const TypeInfo& type = g.value(node.input(0)).type;
  const auto to = static_cast<DType>(node.attr_int("to", 0));
  ValueId y = o.values(node.input(0), 1, o.name("values"));
  y = o.reorder(y, type, order_of(node, "order_input"), order_of(node, "order_output"),
                o.name("order"));
  return y.valid() && to == DType::kFloat16 ? o.cast(y, to, node.name) : y;
}

ValueId product(const Graph& g, const Node& node, Patch& patch, OrderedCodes& o) {
  if (!o.has_scale(1) || !o.has_scale(3, true) || !o.has_scale(4)) return {};
  const TypeInfo &a = g.value(node.input(0)).type, &y = g.value(node.output(0)).type;
  const TypeInfo& b = g.value(node.input(2)).type;
  if (!a.has_rank() || !b.has_rank()) return {};
  const MatrixOrder order = order_of(node, "order_A");
  ValueId x = o.values(node.input(0), 1, o.name("a"));
  x = o.reorder(x, a, order, MatrixOrder::kRows, o.name("a_rows"));
  const ValueId w = o.weight(2, 3, order_of(node, "order_B"), a.rank() < b.rank(), o.name("b"));
  if (!x.valid() || !w.valid()) return {};
  ValueId sum = patch.emit("MatMul", {x, w}, {}, o.name("product"));
  if (node.input(5).valid()) sum = patch.emit("Add", {sum, node.input(5)}, {}, o.name("biased"));
  if (node.input(6).valid()) {
    const TypeInfo& c = g.value(node.input(6)).type;
    if (!o.has_scale(7) || !c.has_rank() || c.rank() > a.rank()) return {};
    ValueId other = o.values(node.input(6), 7, o.name("c"));
    other = o.reorder(other, c, order, MatrixOrder::kRows, o.name("c_rows"));
    if (!other.valid()) return {};
    sum = patch.emit("Add", {sum, other}, {}, o.name("sum"));
  }
  sum = o.reorder(sum, y, MatrixOrder::kRows, order, o.name("y_order"));
  return sum.valid() ? o.codes(sum, 4, node.name) : sum;
}

ValueId gelu(const Graph&, const Node& node, Patch& patch, OrderedCodes& o) {
  if (!o.has_scale(1) || !o.has_scale(2)) return {};
  const ValueId x = o.values(node.input(0), 1, o.name("x"));
  return o.codes(patch.emit("Gelu", {x}, {}, o.name("gelu"), kMicrosoft), 2, node.name);
}

ValueId layer_norm(const Graph& g, const Node& node, Patch& patch, OrderedCodes& o) {
  const TypeInfo& type = g.value(node.input(0)).type;
  if (!o.has_scale(1) || !o.has_scale(4) || !type.has_rank()) return {};
  const MatrixOrder order = order_of(node, "order_X");
  ValueId x = o.values(node.input(0), 1, o.name("x"));
  x = o.reorder(x, type, order, MatrixOrder::kRows, o.name("x_rows"));
  if (!x.valid()) return {};
  ValueId gain = node.input(2), bias = node.input(3);
  if (g.value(gain).type.type == DType::kFloat16) {
    gain = o.cast(gain, DType::kFloat32, o.name("gain"));
    if (bias.valid()) bias = o.cast(bias, DType::kFloat32, o.name("bias"));
  }
  Node norm = node;
  norm.name = o.name("norm");
  norm.attributes["epsilon"].value = node.attr_float("epsilon", 1e-5F);
  ValueId y = emit_layer_norm(patch, g, norm, x, gain, bias, type.rank(), DType::kFloat32);
  y = o.reorder(y, type, MatrixOrder::kRows, order, o.name("y_order"));
  return y.valid() ? o.codes(y, 4, node.name) : y;
}

Emit* rule_of(const Node& node) {
  if (node.domain != kMicrosoft) return nullptr;
  if (node.op_type == "QuantizeWithOrder") return quantize;
  if (node.op_type == "DequantizeWithOrder") return dequantize;
  if (node.op_type == "QOrderedMatMul") return product;
  if (node.op_type == "QOrderedGelu") return gelu;
  if (node.op_type == "QOrderedLayerNormalization") return layer_norm;
  return nullptr;
}

} // namespace

std::optional<Patch> decompose_ordered(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  Emit* const emit = rule_of(node);
  if (emit == nullptr || g.opset() < 10) return std::nullopt;
  const bool moves = emit == dequantize && node.attr_int("to", 0) == 1;
  Patch patch(g, node.op_type + " is its float operator between DQ and Q",
              moves ? Exactness::kExact : Exactness::kRounding);
  patch.from(node);
  OrderedCodes ordered(g, node, patch);
  const ValueId y = emit(g, node, patch, ordered);
  if (!y.valid()) return std::nullopt;
  patch.replace(node.output(0), y);
  return patch;
}

} // namespace octet
