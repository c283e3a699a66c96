// SPDX-License-Identifier: Apache-2.0
// A Q that moves before a Transpose takes its place behind what the Transpose reads; where that is an
// output of the graph, the output is what Q and DQ leave of it. Source: docs/targets.md 8 (measured).
#include "core/format.h"
#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

std::optional<MisreadCodes> onnxruntime_quantized_output(const Graph& graph,
                                                         const Uses& uses,
                                                         const TargetDef& target,
                                                         const Node& node) {
  if (is_cuda(target) || !node.is("Transpose") || node.outputs.empty()) return std::nullopt;
  const Node* maker = graph.producer(node.input(0));
  if (maker == nullptr || is_qdq(*maker) || !graph.is_output(node.input(0)) ||
      uses.of(node.input(0)).size() != 1)
    return std::nullopt;
  const OnnxRuntimeCodes codes(graph);
  const Node* quantize = codes.output_of(node).quantize;
  if (quantize == nullptr || !codes.has_one_scale(*quantize)) return std::nullopt;
  return MisreadCodes{.dequantize = maker, .said = graph.value(node.input(0)).name};
}

namespace onnxruntime {

namespace {

void find_quantized_output(const CheckContext& context, const Node& node, Found& found) {
  const auto output =
      onnxruntime_quantized_output(context.graph, context.uses, context.target, node);
  if (!output) return;
  found.add(
      node,
      fmt::format("ONNX Runtime moves the Q behind it before it, and the output \"{}\", which "
                  "it reads, is then what Q and DQ leave of it: other numbers, without a word",
                  output->said),
      "keep the two apart by a Max of one input: octet repair does");
}

} // namespace

constexpr TargetRule kQuantizedOutput = {.id = "quantized-output",
                                         .clause = "8",
                                         .provider = Provider::kCpu,
                                         .measured = 120,
                                         .find = find_quantized_output,
                                         .mends = {Mend::kHideCodes}};

} // namespace onnxruntime

} // namespace octet
