// SPDX-License-Identifier: Apache-2.0
// A DQ whose output_dtype is another type than its scale's: what ONNX Runtime fuses it into takes
// one type for scales and values, or f32 alone. Source: docs/targets.md 8 (measured).
#include <algorithm>

#include "core/format.h"
#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

bool takes_one_type(const Graph& graph,
                    const Uses& uses,
                    const TargetDef& target,
                    const Node& layer) {
  const OnnxRuntimeForm form = onnxruntime_form(graph, target, layer);
  return form == OnnxRuntimeForm::kQLinear || form == OnnxRuntimeForm::kMatMulIntegerToFloat ||
         form == OnnxRuntimeForm::kMatMulNBits ||
         onnxruntime_rounded_biases(graph, uses, target, layer).has_value();
}

} // namespace

const Node* onnxruntime_mixed_scale(const Graph& graph,
                                    const Uses& uses,
                                    const TargetDef& target,
                                    const Node& dequantize) {
  const auto says = static_cast<DType>(dequantize.attr_int("output_dtype", 0));
  if (!is_dequantize(dequantize) || says == DType::kUndefined) return nullptr;
  const Tensor* scale = qdq::written(graph, dequantize).scales;
  if (scale == nullptr || scale->type() == says) return nullptr;
  for (const Uses::Use& use : uses.of(dequantize.output(0))) {
    const Node* layer = &graph.node(use.node);
    for (int hops = 0; hops < kMostMovesOfCodes && onnxruntime_moves_codes_past(*layer); ++hops) {
      const NodeId next = uses.single_consumer(layer->output(0));
      if (!next.valid()) break;
      layer = &graph.node(next);
    }
    if (takes_one_type(graph, uses, target, *layer)) return layer;
  }
  return nullptr;
}

namespace onnxruntime {

namespace {

void find_mixed_scale(const CheckContext& context, const Node& node, Found& found) {
  const Node* layer = onnxruntime_mixed_scale(context.graph, context.uses, context.target, node);
  if (layer == nullptr) return;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  found.add(
      node,
      fmt::format("\"Type parameter bound to different types\": ONNX Runtime 1.31 fuses it into "
                  "\"{}\", whose operator does not take a scale in {} for values in {}",
                  name_of(context.graph, *layer), name(scale->type()),
                  name(context.graph.value(node.output(0)).type.type)),
      "store the scale in the type that output_dtype says: octet repair does");
}

} // namespace

constexpr TargetRule kMixedScale = {.id = "mixed-scale",
                                    .clause = "8",
                                    .provider = Provider::kCpu,
                                    .measured = 131,
                                    .find = find_mixed_scale,
                                    .mends = {Mend::kConvertScale}};

} // namespace onnxruntime
} // namespace octet
