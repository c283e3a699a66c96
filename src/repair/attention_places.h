// SPDX-License-Identifier: Apache-2.0
// What the repairs of attention share.
#pragma once

#include "ops/qdq/grid.h"
#include "ops/qdq/site.h"
#include "repair/rule.h"
#include "targets/tensorrt/attention.h"

namespace octet {

/// The attention around a softmax; nullopt for other nodes.
std::optional<Attention> attention_around(const RepairContext& context, const Node& node);
/// Head size and lengths, where they are known, are those of TensorRT's fused int8 kernel.
bool int8_kernel_takes(const Attention& attention);

/// Q and DQ with one scale before an operand.
struct CodedOperand {
  const Node* quantize;
  const Node* dequantize;
  qdq::Grid grid; ///< with a scale of rank 0
};
/// Of a value that DQ makes from what Q gives; both say the same.
std::optional<CodedOperand> coded_operand(const Graph& graph, ValueId value);

} // namespace octet
