// SPDX-License-Identifier: Apache-2.0
// Whether it matters that TensorRT has no range for a tensor. It says so of every tensor without
// one, also of those that are never quantized. Source: docs/targets.md 3 (last paragraph).
#include <algorithm>

#include "core/format.h"
#include "core/string_util.h"
#include "ops/infer.h"
#include "targets/checks.h"

namespace octet {

namespace {

std::string source_of(const Graph& graph, const Value& value) {
  switch (value.kind) {
  case ValueKind::kInput:
    return "input";
  case ValueKind::kConstant:
    return "constant";
  case ValueKind::kCapture:
    return "outer graph";
  case ValueKind::kNodeOutput:
    break;
  }
  const Node* node = graph.producer(value.id);
  return node == nullptr ? "nothing" : label(graph, *node);
}

bool is_quantizable(const TargetDef& target, const Node* node) {
  if (node == nullptr || !node->domain.empty()) return false;
  const PlacementRule* rule = target.placement->rule(node->op_type);
  return rule != nullptr &&
         (rule->treatment == Treatment::kProduct || rule->treatment == Treatment::kAround ||
          rule->treatment == Treatment::kResidual);
}

Result<ValueId> find_tensor(const Graph& graph, std::string_view tensor) {
  if (const auto found = graph.find_value(tensor)) return *found;
  std::vector<std::string> names;
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    if (!graph.value(ValueId{i}).name.empty()) names.push_back(graph.value(ValueId{i}).name);
  return error(ErrorCode::kNotFound, "no tensor \"{}\"{}", tensor, suggestion(tensor, names));
}

struct Facts {
  bool quantized = false; ///< it is the real side of Q or DQ, or codes
  bool computes = false;  ///< a layer that could run in int8 makes it or reads it
  std::string layer;      ///< the first such layer
};

Facts facts_of(const Graph& graph, const Uses& uses, const TargetDef& target, ValueId id) {
  Facts out;
  const auto look = [&](const Node* node) {
    if (node == nullptr) return;
    if (is_qdq(*node)) out.quantized = true;
    if (!out.computes && is_quantizable(target, node)) {
      out.computes = true;
      out.layer = label(graph, *node);
    }
  };
  for (const Uses::Use& use : uses.of(id))
    look(&graph.node(use.node));
  look(graph.producer(id));
  return out;
}

} // namespace

Result<TensorAnswer>
explain_tensor(const Graph& graph, std::string_view tensor, std::string_view target) {
  const TargetDef* def = OCTET_TRY_WITH(find_target(target), "explain");
  Graph typed = graph;
  OCTET_TRY_WITH(infer_types(typed), "explain");
  const ValueId id = OCTET_TRY(find_tensor(typed, tensor));
  const Value& value = typed.value(id);
  const Uses uses(typed);
  TensorAnswer out;
  out.tensor = value.name;
  out.producer = source_of(typed, value);
  for (const Uses::Use& use : uses.of(id))
    out.consumers.push_back(label(typed, typed.node(use.node)));
  const Facts facts = facts_of(typed, uses, *def, id);
  const DType type = value.type.type;
  if (facts.quantized) {
    out.why = "it has Q or DQ, which say its scale: with explicit quantization the message means "
              "nothing";
  } else if (value.is_constant()) {
    out.why = "it is a constant: weights are quantized from their values";
  } else if (type != DType::kUndefined && !is_float(type)) {
    out.why =
        fmt::format("it holds {}: shapes, indices and conditions are never quantized", name(type));
  } else if (!facts.computes) {
    out.why = "no layer that runs in int8 makes it or reads it";
  } else {
    out.matters = true;
    out.why = fmt::format("{} could run in int8 and stays in float for want of it", facts.layer);
    out.fix = "quantize the model with Q/DQ (octet quantize --target " + std::string(target) +
              "), or give the tensor a range in the calibration table";
  }
  return out;
}

} // namespace octet
