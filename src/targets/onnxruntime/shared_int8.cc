// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_shared_int8(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  if (!is_quantize(node) || graph.value(node.output(0)).type.type != DType::kInt8) return;
  if (graph.constant(node.input(0)) != nullptr) return;
  // A shared DQ counts as a shared Q.
  int readers = context.uses.count(node.output(0));
  for (const Uses::Use& use : context.uses.of(node.output(0)))
    if (const Node& reader = graph.node(use.node); is_dequantize(reader))
      readers += context.uses.count(reader.output(0)) - 1;
  if (readers > 1)
    found.add(node, "one int8 Q with several readers keeps the products behind it in float",
              "give each reader its own Q, or use uint8 with zero point 128");
}

} // namespace

constexpr TargetRule kSharedInt8 = {.id = "shared-int8",
                                    .clause = "8",
                                    .provider = Provider::kCpu,
                                    .severity = Severity::kWarning,
                                    .find = find_shared_int8,
                                    .mends = {Mend::kSplitQuantize}};

} // namespace octet::onnxruntime
