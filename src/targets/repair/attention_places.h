// SPDX-License-Identifier: Apache-2.0
// What the repairs of attention share.
#pragma once

#include "targets/attention.h"
#include "targets/repair/coding.h"

namespace octet {

/// The attention around a softmax; nullopt for other nodes.
std::optional<Attention> attention_around(const RepairContext& context, const Node& node);
/// Head size and lengths, where they are known, are those of TensorRT's fused int8 kernel.
bool int8_kernel_takes(const Attention& attention);

/// Q and DQ with one scale before an operand.
struct CodedOperand {
  const Node* quantize;
  const Node* dequantize;
  Coding coding;
};
/// Of a value that DQ makes from what Q gives; both say the same.
std::optional<CodedOperand> coded_operand(const Graph& graph, ValueId value);

/// Passes a value through.
Graph identity_probe(DType type);

} // namespace octet
