// SPDX-License-Identifier: Apache-2.0
// Biases of integer products. A runtime that adds them to its sums needs them as int32 codes at s_x
// * s_w: ONNX Runtime rounds a float bias to them by itself. So the float biases of a quantized
// file are rounded to the same grid here, and every runtime then adds the same value, whether it
// keeps it in float or not.
#include "ops/qdq/bias.h"

#include "ops/op.h"
#include "ops/qdq/site.h"
#include "quant/apply.h"
#include "quant/qdq_writer.h"

namespace octet {

namespace {

/// By the scales of the codes that the product reads; nullopt unless both inputs come from codes.
std::optional<qdq::RoundedBias> rounded_bias(const Graph& graph, const Node& product) {
  constexpr qdq::Reading kReading{.written_zero = false, .byte_codes = true, .microsoft = false};
  const auto x = qdq::read_dequantize(graph, product.input(0), kReading);
  const auto w = qdq::read_dequantize(graph, product.input(1), kReading);
  const Tensor* bias = graph.constant(product.input(2));
  if (!x || !w || !x->grid.per_tensor() || bias == nullptr) return std::nullopt;
  if (product.attr_float("alpha", 1.0F) != 1.0F) return std::nullopt;
  return qdq::round_to_steps(*bias, static_cast<double>(product.attr_float("beta", 1.0F)),
                             x->grid.one_scale(), w->grid.scales());
}

} // namespace

Status store_bias(Graph& graph, QdqWriter& writer, NodeId id) {
  const auto bias = rounded_bias(graph, graph.node(id));
  if (!bias) return ok_status(); // stays float: the layer then runs in float there
  const std::string name = graph.value(graph.node(id).input(2)).name;
  graph.mutable_node(id).attributes.erase("beta");
  graph.set_node_input(id, 2, writer.int32_bias(name, bias->codes, bias->scales));
  return ok_status();
}

Status round_biases(Graph& graph) {
  const Uses uses(graph);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const OpDef* op = find_op(node.domain, node.op_type);
    if (op == nullptr || !node.input(2).valid() || op->roles.fn(node, 2) != Role::kBias) continue;
    const auto bias = rounded_bias(graph, node);
    if (!bias) continue;
    std::vector<float> values;
    for (size_t i = 0; i < bias->codes.size(); ++i)
      values.push_back(static_cast<float>(bias->codes[i] * static_cast<double>(bias->scale(i))));
    Tensor rounded =
        Tensor::of<float>({static_cast<int64_t>(values.size())}, std::span<const float>(values));
    const ValueId old = node.input(2);
    graph.mutable_node(id).attributes.erase("beta");
    if (uses.count(old) == 1)
      graph.set_constant(old, std::move(rounded));
    else
      graph.set_node_input(id, 2, graph.add_constant(graph.value(old).name, std::move(rounded)));
  }
  return ok_status();
}

} // namespace octet
