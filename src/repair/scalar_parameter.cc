// SPDX-License-Identifier: Apache-2.0
//   QLinearAdd(a, s [1], z [1], ...)  =>  QLinearAdd(a, s [], z [], ...)
// ONNX Runtime wants the one scale and the one zero point of some operators without axes. Constants
// only. Exact. Source: docs/targets.md 8.
#include "repair/rules.h"
#include "targets/onnxruntime/parameters.h"

namespace octet {

std::optional<Repair> scalar_parameter(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  Patch patch(graph, "one scale or zero point without axes", Exactness::kExact);
  patch.from(node);
  bool any = false;
  for (const size_t input : onnxruntime_shaped_parameters(graph, node)) {
    const Tensor* shaped = graph.constant(node.input(input));
    if (shaped == nullptr) continue;
    const auto scalar = shaped->reshaped({});
    if (!scalar.ok()) continue;
    patch.set_input(node.id, input,
                    patch.constant(graph.value(node.input(input)).name + "_scalar", *scalar));
    any = true;
  }
  if (!any) return std::nullopt;
  return Repair::exact(std::move(patch));
}

} // namespace octet
