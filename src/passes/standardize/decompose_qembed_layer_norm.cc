// SPDX-License-Identifier: Apache-2.0
//   QEmbedLayerNormalization(ids, segments, tables and gains as codes, mask, scales, zero points)
//        =>    EmbedLayerNormalization of DQ of each
// Rounding. What comes of it is decompose_embed_layer_norm's.
// Source: ONNX Runtime, docs/ContribOperators.md.
#include "passes/standardize/standard_operators.h"

namespace octet {

std::optional<Patch> decompose_qembed_layer_norm(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("QEmbedLayerNormalization", kMicrosoft) || g.opset() < 10) return std::nullopt;
  Patch patch(g, "the tables of QEmbedLayerNormalization stand behind DQ", Exactness::kRounding);
  patch.from(node);
  const char* const parts[] = {"word", "position", "segment", "gain", "bias"};
  std::vector<ValueId> inputs = {node.input(0), node.input(1)};
  for (size_t i = 0; i < 5; ++i) {
    const ValueId codes = node.input(2 + i), scale = node.input(8 + i), zero = node.input(13 + i);
    if (!codes.valid()) {
      inputs.push_back({});
      continue;
    }
    std::vector<ValueId> coded = {codes, scale};
    if (zero.valid()) coded.push_back(zero);
    inputs.push_back(patch.emit("DequantizeLinear", std::move(coded), {},
                                node.name + "/" + parts[i] + "_values"));
  }
  if (node.input(7).valid()) inputs.push_back(node.input(7));
  const ValueId y = patch.emit("EmbedLayerNormalization", std::move(inputs), node.attributes,
                               node.name, kMicrosoft, 2);
  patch.replace(node.output(0), y);
  if (node.output(1).valid()) patch.replace(node.output(1), patch.output(y, 1));
  return patch;
}

} // namespace octet
