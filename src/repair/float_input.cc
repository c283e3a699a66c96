// SPDX-License-Identifier: Apache-2.0
//   codes ─▶ DQ [─▶ Transpose, ...] ─▶ layer   =>   codes ─▶ Cast ─▶ Sub ─▶ Mul [─▶ ...] ─▶ layer
// A layer that ONNX Runtime fuses with Q/DQ whose scales or codes the fused kernel does not take:
// without a DQ before it, it stays float, and runs. Exact: DQ does the same in the same order.
// Source: docs/targets.md 8.
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"
#include "targets/checks.h"
#include "targets/onnxruntime/load.h"

namespace octet {

std::optional<Repair> float_input(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!onnxruntime_fused_fault(graph, context.uses, context.target, node)) return std::nullopt;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.input(i).valid()) continue;
    const Node* dequantize = onnxruntime_dequantize_before(graph, context.uses, node.input(i));
    if (dequantize == nullptr || graph.constant(dequantize->input(0)) != nullptr) continue;
    const auto grid = qdq::grid_of(graph, *dequantize, qdq::kAnyScale);
    const TypeInfo& type = graph.value(dequantize->input(0)).type;
    const int64_t rank = type.has_rank() ? type.rank() : 0;
    if (!grid || grid->real() != DType::kFloat32 || (!grid->per_tensor() && !grid->axis)) continue;
    // Others may read the DQ and be fused with it.
    NodeId reader = node.id;
    size_t input = i;
    for (const Node* maker = graph.producer(node.input(i)); maker != dequantize;
         maker = graph.producer(maker->input(0))) {
      reader = maker->id;
      input = 0;
    }
    Patch patch(graph, "codes become values by Cast, Sub and Mul, so that the layer is not fused",
                Exactness::kExact);
    patch.from(node).from(*dequantize);
    patch.set_input(reader, input,
                    qdq::emit_arithmetic(patch, *grid, dequantize->input(0), rank,
                                         name_of(graph, node) + "_input_" + std::to_string(i)));
    return Repair::exact(std::move(patch));
  }
  return std::nullopt;
}

} // namespace octet
