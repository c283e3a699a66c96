// SPDX-License-Identifier: Apache-2.0
// An AveragePool between DQ and Q that says dilations, which came with operator set 19: ONNX Runtime
// makes it com.microsoft's QLinearAveragePool, hands all attributes on, and refuses that one.
// Source: docs/targets.md 8 (measured).
#include <algorithm>

#include "targets/checks.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

bool onnxruntime_dilates(const Node& pool) {
  const std::vector<int64_t> dilations = pool.attr_ints("dilations");
  return std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; });
}

std::optional<MisreadCodes> onnxruntime_refused_pool(const Graph& graph,
                                                     const Uses& uses,
                                                     const TargetDef& target,
                                                     const Node& node) {
  if (!node.is("AveragePool") || node.attr("dilations") == nullptr) return std::nullopt;
  const Node* dq = onnxruntime_dequantize_before(graph, uses, node.input(0));
  if (dq == nullptr || onnxruntime_form(graph, target, node) != OnnxRuntimeForm::kQLinear)
    return std::nullopt;
  return MisreadCodes{.dequantize = dq,
                      .said = "Unrecognized attribute: dilations for operator QLinearAveragePool"};
}

namespace onnxruntime {

namespace {

void find_fused_dilations(const CheckContext& context, const Node& node, Found& found) {
  const auto pool = onnxruntime_refused_pool(context.graph, context.uses, context.target, node);
  if (!pool) return;
  found.add(node,
            "ONNX Runtime makes it QLinearAveragePool with its Q/DQ and refuses the file: \"" +
                pool->said + "\"",
            "leave dilations out where all are 1, else keep the pool in float: octet repair does");
}

} // namespace

constexpr TargetRule kFusedDilations = {.id = "fused-dilations",
                                        .clause = "8",
                                        .provider = Provider::kCpu,
                                        .measured = 120,
                                        .find = find_fused_dilations,
                                        .mends = {Mend::kDropDilations, Mend::kHideCodes}};

} // namespace onnxruntime

} // namespace octet
