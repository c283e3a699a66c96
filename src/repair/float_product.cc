// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ DQ ─┬▶ MatMul      =>   x ─▶ Q ─▶ DQ ─┬▶ MatMul
//   codes ─▶ DQ ──┘                   float weight ─┘
// A layer that ONNX Runtime fuses with Q/DQ whose scales the fused kernel does not take: without
// the DQ before its weight it stays float, and runs. Exact: the weight is what DQ gives. Source:
// docs/targets.md 8.
#include "ops/evaluate.h"
#include "repair/rules.h"
#include "targets/checks.h"
#include "targets/onnxruntime/load.h"

namespace octet {

std::optional<Repair> float_product(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!node.is("MatMul")) return std::nullopt; // it would quantize Conv's weight by itself
  const Node* dequantize = graph.producer(node.input(1));
  if (dequantize == nullptr || !is_dequantize(*dequantize) ||
      graph.constant(dequantize->input(0)) == nullptr)
    return std::nullopt;
  if (!onnxruntime_fused_fault(graph, context.uses, context.target, node)) return std::nullopt;
  const auto values = evaluate_constant(graph, *dequantize);
  if (!values) return std::nullopt;
  Patch patch(graph, "the weight is stored in float, so that the layer is not fused with its Q/DQ",
              Exactness::kExact);
  patch.from(node);
  patch.set_input(node.id, 1,
                  patch.constant(name_of(graph, *dequantize) + "_float", values->front()));
  return Repair::exact(std::move(patch));
}

} // namespace octet
