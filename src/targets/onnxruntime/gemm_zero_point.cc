// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "graph/label.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_gemm_zero_point(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || qdq::written(graph, node).zero.valid()) return;
  for (const Uses::Use& use : context.uses.of(node.output(0))) {
    const Node& product = graph.node(use.node);
    if (!product.is("Gemm") && onnxruntime_gemm_bias(graph, context.uses, product) == nullptr)
      continue;
    if (onnxruntime_lacks_zero_point(graph, context.target, product) == nullptr) continue;
    found.add(node,
              fmt::format("ONNX Runtime keeps {} in float: Gemm becomes integer only where its "
                          "input and its weight have a zero point",
                          label(graph, product)),
              "write the zero point: octet repair does");
    return;
  }
}

} // namespace

constexpr TargetRule kGemmZeroPoint = {.id = "gemm-zero-point",
                                       .clause = "8",
                                       .versions = {.since = kGemmZeroPointSince},
                                       .provider = Provider::kCpu,
                                       .severity = Severity::kWarning,
                                       .find = find_gemm_zero_point,
                                       .mends = {Mend::kAddZeroPoint}};

} // namespace octet::onnxruntime
