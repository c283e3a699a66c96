// SPDX-License-Identifier: Apache-2.0
//   QLinearAdd(a, s [1], z [1], ...)  =>  QLinearAdd(a, s [], z [], ...)
//   DequantizeLinear(a, s [1], z [1]) ─▶ Add  =>  DequantizeLinear(a, s [], z []) ─▶ Add
// ONNX Runtime wants the one scale and the one zero point of some operators without axes. Constants
// only. Exact. Source: docs/targets.md 8.
#include <span>

#include "repair/rules.h"
#include "targets/onnxruntime/parameters.h"

namespace octet {

namespace {

/// Inputs of nodes, the same constants without axes. Whether there was any.
bool drop_axes(const Graph& graph, NodeId node, std::span<const size_t> inputs, Patch& patch) {
  bool any = false;
  for (const size_t input : inputs) {
    const ValueId value = graph.node(node).input(input);
    const Tensor* shaped = value.valid() ? graph.constant(value) : nullptr;
    if (shaped == nullptr || shaped->rank() == 0) continue;
    const auto scalar = shaped->reshaped({});
    if (!scalar.ok()) continue;
    patch.set_input(node, input, patch.constant(graph.value(value).name + "_scalar", *scalar));
    any = true;
  }
  return any;
}

} // namespace

std::optional<Repair> scalar_parameter(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  Patch patch(graph, "one scale or zero point without axes", Exactness::kExact);
  patch.from(node);
  bool any = drop_axes(graph, node.id, onnxruntime_shaped_parameters(graph, node), patch);
  constexpr size_t kOfQdq[] = {1, 2};
  for (const NodeId qdq : onnxruntime_shaped_around(graph, context.uses, context.target, node))
    any = drop_axes(graph, qdq, kOfQdq, patch) || any;
  if (!any) return std::nullopt;
  return Repair::exact(std::move(patch));
}

} // namespace octet
