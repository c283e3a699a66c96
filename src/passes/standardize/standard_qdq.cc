// SPDX-License-Identifier: Apache-2.0
//   com.microsoft.QuantizeLinear, com.microsoft.DequantizeLinear  =>  those of ai.onnx
// Exact: they compute the same. Left alone where the model's operator set is too old for what they
// do: below 10, or with several scales below 13.
#include "ops/qdq/site.h"
#include "passes/standardize/coded_operators.h"

namespace octet {

std::optional<Patch> standard_qdq(const Graph& graph, const Node& node) {
  if (!is_qdq(node) || node.domain.empty()) return std::nullopt;
  const Tensor* scale = qdq::written(graph, node).scales;
  const bool vector = scale == nullptr || scale->count() > 1;
  if (graph.opset() < (vector ? 13 : 10)) return std::nullopt;
  Patch patch(graph, "written with the operator of ai.onnx", Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  if (!vector) attributes.erase("axis");
  patch.replace(node.output(0),
                patch.emit(node.op_type, node.inputs, std::move(attributes), node.name));
  return patch;
}

} // namespace octet
