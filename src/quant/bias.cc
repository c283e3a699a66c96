// SPDX-License-Identifier: Apache-2.0
// Biases of integer products. A runtime that adds them to its sums needs them as int32 codes at s_x
// * s_w: ONNX Runtime rounds a float bias to them by itself. So the float biases of a quantized
// file are rounded to the same grid here, and every runtime then adds the same value, whether it
// keeps it in float or not.
#include <cmath>
#include <limits>

#include "ops/op.h"
#include "quant/apply.h"
#include "quant/qdq_writer.h"

namespace octet {

std::optional<Int32Bias> int32_bias(const Graph& graph,
                                    const Node& product,
                                    float x_scale,
                                    const std::vector<float>& w_scales) {
  const Tensor* bias = graph.constant(product.input(2));
  if (bias == nullptr || bias->type() != DType::kFloat32 || bias->rank() != 1) return std::nullopt;
  if (w_scales.size() != 1 && static_cast<int64_t>(w_scales.size()) != bias->count())
    return std::nullopt;
  const auto beta = static_cast<double>(product.attr_float("beta", 1.0F));
  constexpr int32_t kLargestCode = std::numeric_limits<int32_t>::max() / 2;
  Int32Bias out;
  for (const float w : w_scales)
    out.scales.push_back(x_scale * w);
  for (int64_t i = 0; i < bias->count(); ++i) {
    const float scale = out.scale(static_cast<size_t>(i));
    const double code = std::nearbyint(beta * bias->at(i) / static_cast<double>(scale));
    if (!std::isnormal(scale) || !(std::fabs(code) <= kLargestCode)) return std::nullopt;
    out.codes.push_back(static_cast<int32_t>(code));
  }
  return out;
}

namespace {

/// The same by the scales of the codes that the product reads; nullopt unless both inputs come from
/// codes.
Result<std::optional<Int32Bias>> int32_bias(const Graph& graph, const Node& product) {
  const Node* x = graph.producer(product.input(0));
  const Node* w = graph.producer(product.input(1));
  if (x == nullptr || w == nullptr || !x->is("DequantizeLinear") || !w->is("DequantizeLinear"))
    return std::optional<Int32Bias>();
  const Tensor* x_scale = graph.constant(x->input(1));
  const Tensor* w_scale = graph.constant(w->input(1));
  if (x_scale == nullptr || w_scale == nullptr || x_scale->count() != 1)
    return std::optional<Int32Bias>();
  if (product.attr_float("alpha", 1.0F) != 1.0F) return std::optional<Int32Bias>();
  return int32_bias(graph, product, OCTET_TRY(x_scale->to_floats())[0],
                    OCTET_TRY(w_scale->to_floats()));
}

} // namespace

Status store_bias(Graph& graph, QdqWriter& writer, NodeId id) {
  const auto bias = OCTET_TRY(int32_bias(graph, graph.node(id)));
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
    const auto bias = OCTET_TRY(int32_bias(graph, node));
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
