// SPDX-License-Identifier: Apache-2.0
// Types that the operator set of a file does not have yet, whoever reads it: FP8 codes before 19,
// INT4 and 16 bits before 21, FP4 before 23. Source: ONNX's schemas, by version.
#include "core/format.h"
#include "ops/schema_types.h"
#include "targets/shared_rules.h"

namespace octet {

namespace {

/// Codes that came to ONNX after those of 8-bit integers.
bool came_later(const Node& node, DType type) {
  if (type == DType::kInt16 || type == DType::kUint16) return is_qdq(node);
  return is_quantized(type) && type != DType::kInt8 && type != DType::kUint8 &&
         type != DType::kInt32;
}

/// The first value of the node that holds such codes and that the version does not take.
std::optional<TypeFault>
fault_of_codes(const Graph& graph, const Node& node, const OperatorTypes::Version& version) {
  for (const bool is_input : {true, false}) {
    const std::vector<ValueId>& values = is_input ? node.inputs : node.outputs;
    const OperatorTypes::Positions& rule = is_input ? version.inputs : version.outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].valid()) continue;
      const DType type = graph.value(values[i]).type.type;
      if (came_later(node, type) && !rule.takes(i, type)) return TypeFault{is_input, i, type};
    }
  }
  return std::nullopt;
}

} // namespace

std::string fix_of_type(const Graph& graph, const Node& node) {
  const int64_t since = takes_types_from(graph, node, graph.opset());
  const std::string fix = "give it a type that it takes";
  return since > 0 ? fix + fmt::format("; from operator set {} on it does: octet export --opset {}",
                                       since, since)
                   : fix;
}

namespace {

void find_codes_of_later_opset(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  if (!node.domain.empty()) return;
  const OperatorTypes::Version* schema = onnx_schemas().find(node.op_type, graph.opset());
  if (schema == nullptr || schema->missing || schema->unknown) return;
  const auto fault = fault_of_codes(graph, node, *schema);
  if (!fault) return;
  found.add(node,
            fmt::format("no valid ONNX: {} of operator set {} does not take {}", node.op_type,
                        graph.opset(), text_of(graph, node, *fault)),
            fix_of_type(graph, node));
}

} // namespace

constexpr TargetRule kCodesOfLaterOpset = {
    .id = "operator-type", .clause = "8, types", .find = find_codes_of_later_opset};

} // namespace octet
