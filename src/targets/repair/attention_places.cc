// SPDX-License-Identifier: Apache-2.0
#include "targets/repair/attention_places.h"

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
  const Node* dequantize = graph.producer(value);
  if (dequantize == nullptr || !is_dequantize(*dequantize)) return std::nullopt;
  const Node* quantize = graph.producer(dequantize->input(0));
  if (quantize == nullptr || !is_quantize(*quantize)) return std::nullopt;
  auto coding = coding_of(graph, *dequantize);
  auto theirs = coding_of(graph, *quantize);
  if (!coding || !theirs || coding->per_channel() || theirs->per_channel()) return std::nullopt;
  coding->vector = theirs->vector = false;
  if (*coding != *theirs) return std::nullopt;
  return CodedOperand{quantize, dequantize, std::move(*coding)};
}

Graph identity_probe(DType type) {
  Graph graph;
  graph.name = "probe";
  graph.opsets[""] = 21;
  TypeInfo info;
  info.type = type;
  graph.mark_output(graph.emit("Identity", {graph.add_input("x", info)}));
  return graph;
}

} // namespace octet
