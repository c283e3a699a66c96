// SPDX-License-Identifier: Apache-2.0
// Equal Q on one tensor: the later one is named.
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_duplicate_quantize(const CheckContext& context, const Node& node, Found& found) {
  if (!is_quantize(node) || context.graph.constant(node.input(0)) != nullptr) return;
  for (const Uses::Use& use : context.uses.of(node.input(0))) {
    const Node& other = context.graph.node(use.node);
    if (use.input != 0 || !is_quantize(other) || !(other.id < node.id)) continue;
    if (!qdq::have_same_parameters(context.graph, node, other)) continue;
    found.add(node, "the tensor is quantized alike by " + label(context.graph, other),
              "let one Q feed both: TensorRT takes several DQ behind it");
    return;
  }
}

} // namespace

constexpr TargetRule kDuplicateQuantize = {.id = "duplicate-quantize",
                                           .clause = "6 E8",
                                           .severity = Severity::kWarning,
                                           .find = find_duplicate_quantize,
                                           .mends = {Mend::kMergeQuantize}};

} // namespace octet::tensorrt
