// SPDX-License-Identifier: Apache-2.0
// Behind what a DQ moves past stands a Q of its making, with the zero point of the DQ: without one it
// makes UINT8, unless it says another type in output_dtype, which com.microsoft's and operator sets
// before 21 do not have. Codes below 0 become 0, those above 255 that. Source: docs/targets.md 8 (measured).
#include <algorithm>

#include "core/format.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

/// The Reshape that it puts before a Gemm that was a MatMul, too.
bool is_moved_past(const CheckContext& context, const Node& reader, bool constant) {
  const Graph& graph = context.graph;
  if (constant ? onnxruntime_moves_constants_past(reader) : onnxruntime_moves_codes_past(reader))
    return onnxruntime_reaches_readers(graph, context.uses, reader.output(0));
  return !constant && onnxruntime_reshapes_gemm(graph, context.uses, reader);
}

void find_moved_zero_point(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || (node.domain.empty() && graph.opset() >= 21)) return;
  const qdq::Written said = qdq::written(graph, node);
  if (said.zero.valid() || said.codes_type == DType::kUint8 ||
      said.codes_type == DType::kUndefined || static_count(graph, said.scale).value_or(2) != 1)
    return;
  const bool constant = constant_value(graph, said.codes).has_value();
  for (const Uses::Use& use : context.uses.of(node.output(0))) {
    const Node& reader = graph.node(use.node);
    if (use.input != 0 || !is_moved_past(context, reader, constant)) continue;
    found.add(node,
              fmt::format("ONNX Runtime moves it past {} and puts a Q without a zero point there, "
                          "which makes UINT8 of its {}: other numbers, without a word",
                          label(graph, reader), name(said.codes_type)),
              "write the zero point: octet repair does");
    return;
  }
}

} // namespace

constexpr TargetRule kMovedZeroPoint = {.id = "moved-zero-point",
                                        .clause = "8",
                                        .provider = Provider::kCpu,
                                        .measured = 120,
                                        .find = find_moved_zero_point,
                                        .mends = {Mend::kAddZeroPoint}};

} // namespace octet::onnxruntime
