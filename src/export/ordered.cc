// SPDX-License-Identifier: Apache-2.0
//   DQ(x) in three products + bias ─▶ ... Softmax ... ─▶ heads joined  =>  QOrderedAttention ─▶ DQ
//   DQ(x), DQ(w) ─▶ MatMul ─▶ Add(bias) [─▶ Add(DQ(c))] ─▶ Q           =>  QOrderedMatMul
//   DQ(x) ─▶ Gelu, or its chain ─▶ Q                                   =>  QOrderedGelu
//   DQ(x) ─▶ LayerNormalization ─▶ Q                       =>  QOrderedLayerNormalization
// all of com.microsoft, with weights in ORDER_COL and all else in ORDER_ROW, as
// onnxruntime.transformers' optimizer writes them. Rounding: a code may be one step off at a tie.
// The optimizer leaves out the epsilon of normalizations, so that the kernel takes 1e-5; here it
// stays.
#include "export/ordered.h"

#include "graph/domains.h"
#include "graph/edit.h"
#include "ops/microsoft/matrix_order.h"
#include "targets/onnxruntime/ordered.h"

namespace octet {

namespace {

constexpr auto kRows = static_cast<int64_t>(ms::MatrixOrder::kRows);
constexpr auto kColumns = static_cast<int64_t>(ms::MatrixOrder::kColumns);

/// A patch that writes one operator of com.microsoft.
class OrderedWriter {
 public:
  OrderedWriter(const Graph& graph, const char* why)
      : g_(graph), patch_(graph, why, Exactness::kRounding) {
    patch_.import_opset(std::string(kMicrosoft), 1);
  }

  void add(ValueId value) { inputs_.push_back(value); }
  void add_codes(const OrderedInput& input) { inputs_.push_back(input.dequantize->input(0)); }
  void add_scale(const Node* qdq) { inputs_.push_back(qdq->input(1)); }
  /// The codes of a weight, column after column under the same shape.
  void add_weight(const OrderedInput& weight) {
    const ValueId codes = weight.dequantize->input(0);
    const Tensor& rows = *g_.constant(codes);
    inputs_.push_back(patch_.constant(
        g_.value(codes).name + "_columns",
        transposed(rows).reshaped(Shape(rows.shape().begin(), rows.shape().end())).value()));
  }
  void order(const char* attribute, int64_t order) { attributes_[attribute].value = order; }
  Attributes& attributes() { return attributes_; }
  Patch& patch() { return patch_; }

  ValueId emit(const char* type, const std::string& name) {
    return patch_.emit(type, std::move(inputs_), std::move(attributes_), name,
                       std::string(kMicrosoft));
  }

 private:
  const Graph& g_;
  Patch patch_;
  std::vector<ValueId> inputs_;
  Attributes attributes_;
};

/// The mask as int32.
ValueId mask_codes(const Graph& g, Patch& patch, ValueId mask) {
  if (g.value(mask).type.type == DType::kInt32) return mask;
  Attributes to;
  to["to"].value = static_cast<int64_t>(DType::kInt32);
  return patch.emit("Cast", {mask}, std::move(to), g.value(mask).name + "_int32");
}

OrderedLayers layers_of(const RuleContext& c) {
  return {c.graph, c.uses, Between::kCodes};
}

} // namespace

std::optional<Patch> ordered_attention(const RuleContext& c, const Node& node) {
  if (!node.is("Softmax")) return std::nullopt;
  const Matched<OrderedAttention> found = layers_of(c).attention(node);
  if (!found) return std::nullopt;
  OrderedWriter w(c.graph, "attention between Q and DQ");
  for (const Node* each : found->nodes())
    w.patch().from(*each);
  w.add_codes(found->x);
  w.add_scale(found->x.dequantize);
  for (const OrderedAttention::Part& part : found->parts)
    w.add_scale(part.biased.dequantize);
  for (const OrderedAttention::Part& part : found->parts)
    w.add_weight(part.weight);
  for (const OrderedAttention::Part& part : found->parts)
    w.add_scale(part.weight.dequantize);
  for (const OrderedAttention::Part& part : found->parts)
    w.add(part.bias);
  w.add_scale(found->scores.quantize);
  w.add_scale(found->shares.quantize);
  w.add_scale(found->context.dequantize);
  w.add(mask_codes(c.graph, w.patch(), found->mask));
  w.attributes()["num_heads"].value = found->heads;
  w.order("order_input", kRows);
  w.order("order_weight", kColumns);
  w.order("order_output", kRows);
  w.attributes()["qkv_hidden_sizes"].value =
      std::vector<int64_t>(found->parts.size(), found->heads * found->size);
  const ValueId codes = w.emit("QOrderedAttention", node.name);
  Node dequantize = *found->context.dequantize;
  dequantize.inputs[0] = codes;
  const ValueId y =
      w.patch().emit(dequantize.op_type, dequantize.inputs, dequantize.attributes, dequantize.name);
  w.patch().replace(found->joined->output(0), y);
  return std::move(w.patch());
}

std::optional<Patch> ordered_product(const RuleContext& c, const Node& node) {
  if (!node.is("MatMul")) return std::nullopt;
  const Matched<OrderedProduct> found = layers_of(c).product(node);
  if (!found) return std::nullopt;
  OrderedWriter w(c.graph, "MatMul and its sums between DQ and Q");
  for (const Node* each : found->nodes())
    w.patch().from(*each);
  w.add_codes(found->x);
  w.add_scale(found->x.dequantize);
  w.add_weight(found->weight);
  w.add_scale(found->weight.dequantize);
  w.add_scale(found->y.quantize);
  w.add(found->bias);
  if (found->sum != nullptr) {
    w.add_codes(found->residual);
    w.add_scale(found->residual.dequantize);
  }
  w.order("order_A", kRows);
  w.order("order_B", kColumns);
  w.order("order_Y", kRows);
  const ValueId y = w.emit("QOrderedMatMul", node.name);
  w.patch().replace(found->y.quantize->output(0), y);
  return std::move(w.patch());
}

std::optional<Patch> ordered_gelu(const RuleContext& c, const Node& node) {
  if (!node.is("Erf") && node.op_type != "Gelu") return std::nullopt;
  const Matched<OrderedGelu> found = layers_of(c).gelu(node);
  if (!found) return std::nullopt;
  OrderedWriter w(c.graph, "Gelu between DQ and Q");
  for (const Node* each : found->nodes)
    w.patch().from(*each);
  w.add_codes(found->x);
  w.add_scale(found->x.dequantize);
  w.add_scale(found->y.quantize);
  w.order("order_X", kRows);
  w.order("order_Y", kRows);
  const ValueId y = w.emit("QOrderedGelu", node.name);
  w.patch().replace(found->y.quantize->output(0), y);
  return std::move(w.patch());
}

std::optional<Patch> ordered_norm(const RuleContext& c, const Node& node) {
  const Matched<OrderedNorm> found = layers_of(c).norm(node);
  if (!found) return std::nullopt;
  OrderedWriter w(c.graph, "LayerNormalization between DQ and Q");
  w.patch().from(node);
  w.add_codes(found->x);
  w.add_scale(found->x.dequantize);
  w.add(node.input(1));
  w.add(node.input(2));
  w.add_scale(found->y.quantize);
  w.attributes()["epsilon"].value = node.attr_float("epsilon", 1e-5F);
  w.order("order_X", kRows);
  w.order("order_Y", kRows);
  const ValueId y = w.emit("QOrderedLayerNormalization", node.name);
  w.patch().replace(found->y.quantize->output(0), y);
  return std::move(w.patch());
}

} // namespace octet
