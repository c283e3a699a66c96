// SPDX-License-Identifier: Apache-2.0
// A Softmax of so few elements, onto codes of so small a scale, that com.microsoft's QLinearSoftmax,
// which ONNX Runtime makes of it with its Q/DQ, gives 0 for the largest. Source: docs/targets.md 8
// (measured).
#include <cmath>

#include "core/format.h"
#include "core/string_util.h"
#include "ops/qdq/site.h"
#include "ops/shared/axis_split.h"
#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

/// Steps of the output for each element that it reckons with: measured between 147.1 and 149.2.
const double kMostSteps = std::exp(5.0);

/// The elements of one distribution; nullopt: not known, or more than take a scale that anybody has.
std::optional<int64_t> elements_of(const Graph& graph, const Node& softmax) {
  constexpr int64_t kMost = 256;
  const TypeInfo& type = graph.value(softmax.input(0)).type;
  if (!type.has_rank() || type.rank() == 0) return std::nullopt;
  const AxisRange axes = axes_together(softmax, graph.opset(), type.rank());
  if (axes.begin < 0 || axes.end > type.rank()) return std::nullopt;
  int64_t count = 1;
  for (int64_t i = axes.begin; i < axes.end; ++i) {
    const auto size = (*type.shape)[static_cast<size_t>(i)].maybe_value();
    if (!size || *size > kMost) return std::nullopt;
    count *= *size;
    if (count > kMost) return std::nullopt;
  }
  return count;
}

} // namespace

std::optional<MisreadCodes> onnxruntime_lost_softmax(const Graph& graph,
                                                     const Uses& uses,
                                                     const TargetDef& target,
                                                     const Node& node) {
  if (!node.is("Softmax")) return std::nullopt;
  const auto count = elements_of(graph, node);
  if (!count) return std::nullopt;
  const Node* dq = onnxruntime_dequantize_before(graph, uses, node.input(0));
  if (dq == nullptr || onnxruntime_form(graph, target, node) != OnnxRuntimeForm::kQLinear)
    return std::nullopt;
  const Node* quantize = OnnxRuntimeCodes(graph).output_of(node).quantize;
  const Tensor* scale = quantize != nullptr ? qdq::written(graph, *quantize).scales : nullptr;
  if (scale == nullptr || scale->count() != 1 ||
      !(1 / scale->at(0) > static_cast<double>(*count) * kMostSteps))
    return std::nullopt;
  return MisreadCodes{.dequantize = dq,
                      .said = fmt::format("of {} and a step of {:.3g} it gives 0 for the largest",
                                          counted(*count, "element"), scale->at(0))};
}

namespace onnxruntime {

namespace {

void find_fused_softmax(const CheckContext& context, const Node& node, Found& found) {
  const auto lost = onnxruntime_lost_softmax(context.graph, context.uses, context.target, node);
  if (!lost) return;
  found.add(node,
            "ONNX Runtime makes it QLinearSoftmax with its Q/DQ, which loses numbers without a "
            "word: " +
                lost->said,
            "keep it in float: octet repair parts DQ from it by a Max of one input");
}

} // namespace

constexpr TargetRule kFusedSoftmax = {.id = "fused-softmax",
                                      .clause = "8",
                                      .versions = {.until = 131},
                                      .provider = Provider::kCpu,
                                      .measured = 120,
                                      .find = find_fused_softmax,
                                      .mends = {Mend::kHideCodes}};

} // namespace onnxruntime

} // namespace octet
