// SPDX-License-Identifier: Apache-2.0
// Constants that ONNX Runtime's exact mode takes once only: it turns weights with codes of more
// than 7 bits into uint8, under a name of its own for each constant. Source: docs/targets.md 8.
#include <algorithm>
#include <span>

#include "targets/checks.h"
#include "targets/onnxruntime_versions.h"

namespace octet {

bool becomes_uint8(const Graph& graph, const Node& node) {
  constexpr int kSevenBits = 64;
  const Tensor* codes = is_dequantize(node) ? graph.constant(node.input(0)) : nullptr;
  if (codes == nullptr || codes->type() != DType::kInt8) return false;
  const auto values = codes->data<int8_t>();
  return std::any_of(values.begin(), values.end(),
                     [](int8_t v) { return v < -kSevenBits || v > kSevenBits; });
}

void onnxruntime_shared_constant(const CheckContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (is_cuda(context.target) || !is_dequantize(node)) return;
  int codes = 0, zeros = 0;
  for (const Uses::Use& use : context.uses.of(node.input(0)))
    codes += context.uses.count(graph.node(use.node).output(0));
  const auto of_zero_point =
      node.input(2).valid() ? context.uses.of(node.input(2)) : std::span<const Uses::Use>();
  // The weights are read only where something is shared.
  if ((codes < 2 && of_zero_point.size() < 2) || !becomes_uint8(graph, node)) return;
  for (const Uses::Use& use : of_zero_point)
    zeros += use.input == 2 && becomes_uint8(graph, graph.node(use.node)) ? 1 : 0;
  if (codes < 2 && zeros < 2) return;
  context.add("shared-constant", Severity::kWarning, label(graph, node),
              std::string("\"Attempt to replace the existing tensor\": in its exact mode "
                          "(session.x64quantprecision) ONNX Runtime 1.31 fails to load int8 "
                          "weights whose ") +
                  (codes < 2 ? "zero point several weights share" : "codes several operators read"),
              "give each reader its own codes and zero point: octet repair does", "8");
}

} // namespace octet
