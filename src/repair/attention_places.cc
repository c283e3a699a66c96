// SPDX-License-Identifier: Apache-2.0
#include "repair/attention_places.h"

#include "ops/qdq/site.h"

namespace octet {

std::optional<Attention> attention_around(const RepairContext& context, const Node& node) {
  return node.is("Softmax") ? find_attention_at(context.graph, context.uses, node) : std::nullopt;
}

bool int8_kernel_takes(const Attention& attention) {
  const bool long_query = attention.query_length.value_or(0) > kInt8AttentionLength;
  const bool long_key = attention.key_length.value_or(0) > kInt8AttentionLength;
  return int8_takes_head(attention.head_size) && !long_query && !long_key;
}

std::optional<CodedOperand> coded_operand(const Graph& graph, ValueId value) {
  const auto dequantize = qdq::read_dequantize(graph, value);
  const Node* maker = dequantize ? graph.producer(dequantize->codes) : nullptr;
  if (maker == nullptr || !is_quantize(*maker)) return std::nullopt;
  const auto quantize = qdq::grid_of(graph, *maker);
  if (!quantize || !quantize->per_tensor() ||
      !qdq::same(*quantize, dequantize->grid, qdq::Same::kNumbers))
    return std::nullopt;
  return CodedOperand{maker, &graph.node(dequantize->node), quantize->as_scalar()};
}

} // namespace octet
