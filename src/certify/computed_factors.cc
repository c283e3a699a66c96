// SPDX-License-Identifier: Apache-2.0
#include "certify/computed_factors.h"

#include <vector>

#include "ops/qdq/site.h"
#include "targets/onnxruntime/codes.h"

namespace octet {

namespace {

/// Whether what stands behind `quantize`, before what only moves values, is quantized a second time
/// with the same scale and zero point: Q moves before what moves values, where both become one, and
/// codes with several readers stay int8.
bool has_a_twin(const Graph& graph,
                const OnnxRuntimeCodes& codes,
                const Node& dequantize,
                const Node& quantize) {
  ValueId root = quantize.input(0);
  for (const Node* maker = graph.producer(root);
       maker != nullptr && onnxruntime_moves_codes_past(*maker); maker = graph.producer(root))
    root = maker->input(0);
  std::vector<ValueId> behind = {root};
  for (size_t i = 0; i < behind.size(); ++i)
    for (const Uses::Use& use : codes.uses().of(behind[i])) {
      const Node& reader = graph.node(use.node);
      if (is_quantize(reader) && reader.id != quantize.id &&
          codes.have_one_scale(dequantize, reader))
        return true;
      if (onnxruntime_moves_codes_past(reader)) behind.push_back(reader.output(0));
    }
  return false;
}

} // namespace

bool may_mix_signs(const Graph& graph,
                   const OnnxRuntimeCodes& codes,
                   const Node& product,
                   const Node& second) {
  if (codes.of_input(product.input(1)).type == DType::kInt8)
    return codes.of_input(product.input(0)).type != DType::kInt8;
  const Node* quantize = graph.producer(second.input(0));
  return quantize != nullptr && is_quantize(*quantize) &&
         has_a_twin(graph, codes, second, *quantize);
}

} // namespace octet
