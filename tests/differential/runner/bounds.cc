// SPDX-License-Identifier: Apache-2.0
#include "runner/bounds.h"

#include "core/format.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "quant/debug_graph.h"
#include "runner/arrays.h"
#include "runner/rules.h"

namespace octet::differential {

std::vector<Tensor> Step::values() const {
  std::vector<Tensor> out;
  for (const Bounded& operand : in)
    out.push_back(operand.value);
  return out;
}

Result<std::vector<Tensor>> Step::run(const Node& other, std::vector<Tensor> operands) const {
  for (Tensor& t : operands)
    if (!t.empty()) t = t.aligned();
  return evaluate_node(graph, other, std::move(operands));
}

Result<Tensor> Step::broadcast(std::string_view op, const Tensor& a, const Tensor& b) const {
  Node made;
  made.op_type = op;
  return OCTET_TRY(run(made, {a, b})).at(0);
}

Rule* find_rule(std::string_view op) {
  for (const auto find : {find_code_rule, find_product_rule, find_elementwise_rule,
                          find_window_rule, find_normalization_rule, find_recurrent_rule})
    if (Rule* rule = find(op)) return rule;
  return nullptr;
}

namespace {

Tensor widened(const Tensor& x) {
  return x.type() == DType::kFloat32 || is_half(x.type()) ? as_double(x) : x;
}

/// What a node makes of f16 or bf16 may be rounded to it or not (docs/numerics.md).
void round(DType type, Bounded& y) {
  if (!is_half(type) || !is_real(y.value)) return;
  y.error = map(y.value, or_zeros(y.error, y.value),
                [type](double v, double e) { return rounded_error(type, v, e); });
}

Status walk(const Graph& graph, const Node& node, Rounding rounding, std::vector<Bounded>& values) {
  const auto place = [&](ValueId id) -> Bounded& { return values[static_cast<size_t>(id.index)]; };
  // com.microsoft's QuantizeLinear and DequantizeLinear are ONNX's for other operator sets.
  Rule* rule = find_rule(node.op_type);
  if (rule == nullptr) return error(ErrorCode::kUnsupported, "no rule bounds it");
  std::vector<Bounded> operands;
  for (const ValueId id : node.inputs)
    operands.push_back(id.valid() ? place(id) : Bounded{});
  std::vector<Bounded> out = OCTET_TRY(
      rule({.graph = graph, .node = node, .in = std::move(operands), .rounding = rounding}));
  for (size_t k = 0; k < node.outputs.size() && k < out.size(); ++k) {
    if (!node.outputs[k].valid()) continue;
    round(graph.value(node.outputs[k]).type.type, out[k]);
    place(node.outputs[k]) = std::move(out[k]);
  }
  return ok_status();
}

} // namespace

Result<std::vector<Bounded>>
bound_outputs(const Graph& source, std::span<const Tensor> inputs, Rounding rounding) {
  Graph graph = source;
  OCTET_TRY_WITH(infer_types(graph), "bounds");
  std::vector<Bounded> values(static_cast<size_t>(graph.value_bound()));
  for (const ValueId id : graph.constants())
    values[static_cast<size_t>(id.index)].value = widened(graph.value(id).constant);
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(graph.inputs()[i].index)].value = widened(inputs[i]);
  for (const NodeId id : OCTET_TRY(graph.topological()))
    OCTET_TRY_WITH(walk(graph, graph.node(id), rounding, values),
                   fmt::format("bounds: node {}", label(graph, graph.node(id))));
  std::vector<Bounded> out;
  for (const ValueId id : graph.outputs())
    out.push_back(values[static_cast<size_t>(id.index)]);
  return out;
}

} // namespace octet::differential
