// SPDX-License-Identifier: Apache-2.0
// A product between DQ and Q with a float weight, which somebody left in float: ONNX Runtime rounds
// the weight to int8 when it loads the file, one scale for all channels, and of Conv and Gemm
// computes an integer one. Source: docs/targets.md 8 (measured), "Float weight".
#include "core/format.h"
#include "targets/checks.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

std::optional<MisreadCodes> onnxruntime_rounded_weight(const Graph& graph,
                                                       const Uses& uses,
                                                       const TargetDef& target,
                                                       const Node& node) {
  if (!onnxruntime_rounds_weight(graph, uses, target, node)) return std::nullopt;
  const OnnxRuntimeForm form = onnxruntime_form(graph, target, node);
  MisreadCodes out{.dequantize = onnxruntime_dequantize_before(graph, uses, node.input(0))};
  if (form == OnnxRuntimeForm::kQLinear || form == OnnxRuntimeForm::kQGemm)
    out.said = operator_of(form, node);
  return out;
}

namespace onnxruntime {

namespace {

void find_rounded_weight(const CheckContext& context, const Node& node, Found& found) {
  const auto rounded =
      onnxruntime_rounded_weight(context.graph, context.uses, context.target, node);
  if (!rounded) return;
  found.add(
      node,
      "ONNX Runtime rounds its float weight to int8 when it loads the file, one scale for all "
      "channels" +
          (rounded->said.empty() ? "" : ", and computes " + rounded->said),
      "to keep it in float part DQ from it by a Max of one input, as octet repair does; or "
      "quantize the weight");
}

} // namespace

constexpr TargetRule kRoundedWeight = {.id = "rounded-weight",
                                       .clause = "8",
                                       .versions = {.since = kFloatBiasSince},
                                       .provider = Provider::kCpu,
                                       .severity = Severity::kWarning,
                                       .kept_out = true,
                                       .find = find_rounded_weight,
                                       .mends = {Mend::kHideCodes}};

} // namespace onnxruntime
} // namespace octet
