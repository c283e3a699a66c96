// SPDX-License-Identifier: Apache-2.0
#include "graph/label.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

/// The Q before a DQ that has no other reader.
const Node* pair_of(const CheckContext& context, const Node& dequantize) {
  const Node* quantize = context.graph.producer(dequantize.input(0));
  const bool own =
      quantize != nullptr && is_quantize(*quantize) && context.uses.count(quantize->output(0)) == 1;
  return own ? quantize : nullptr;
}

bool has_one_constant_pair(const Graph& graph, const Node& node) {
  const qdq::Written said = qdq::written(graph, node);
  return said.scales != nullptr && said.scales->type() == DType::kFloat32 &&
         said.scales->count() == 1 && said.zeros != nullptr && said.zeros->count() == 1;
}

/// Two pairs of one type of integers, which become one.
void find_merged_pairs(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  if (!is_quantize(node) || graph.is_output(node.output(0))) return;
  const Node* before = graph.producer(node.input(0));
  if (before == nullptr || !is_dequantize(*before) || context.uses.count(before->output(0)) != 1)
    return;
  const Node* first = pair_of(context, *before);
  if (first == nullptr || !has_one_constant_pair(graph, *first) ||
      !has_one_constant_pair(graph, node))
    return;
  const DType type = qdq::written(graph, *first).codes_type;
  const bool integers = is_byte(type) || type == DType::kInt16 || type == DType::kUint16;
  if (!integers || qdq::written(graph, node).codes_type != type ||
      OnnxRuntimeCodes(graph).have_one_scale(*before, node))
    return;
  found.add(node,
            "ONNX Runtime makes one pair of it and of " + label(graph, *first) +
                ", over the range that both hold: numbers are up to a step off",
            "quantize the tensor once, or put a Max of one input between the two pairs");
}

} // namespace

constexpr TargetRule kMergedPairs = {.id = "merged-pairs",
                                     .clause = "8",
                                     .provider = Provider::kCpu,
                                     .severity = Severity::kWarning,
                                     .find = find_merged_pairs};

} // namespace octet::onnxruntime
