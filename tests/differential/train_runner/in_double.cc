// SPDX-License-Identifier: Apache-2.0
#include "train_runner/in_double.h"

#include <algorithm>
#include <set>

#include "core/format.h"
#include "graph/bodies.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "runner/arrays.h"
#include "train/executor/program.h"

namespace octet::differential {
namespace {

bool is_short(DType type) {
  return type == DType::kFloat32 || type == DType::kFloat16 || type == DType::kBfloat16;
}

/// Between numbers and codes a gradient goes straight through, where differences are 0.
bool has_codes(const Node& node) {
  return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear" ||
         node.op_type == "DynamicQuantizeLinear";
}

/// Inputs that ONNX has in f32 alone: scales.
bool stays(const Node& node, size_t input) {
  return (node.is("Resize") || node.is("Upsample")) && input >= 1;
}

/// Running statistics follow the batch without a gradient.
bool has_statistics(const Node& node) {
  return node.is("BatchNormalization") && (node.output(1).valid() || node.output(2).valid());
}

bool draws(const Node& node) {
  return !is_deterministic(node) && !(node.is("Dropout") && !node.input(2).valid());
}

void widen(Node& node) {
  for (const char* key : {"to", "dtype", "output_datatype", "stash_type"}) {
    const Attribute* held = node.attr(key);
    const auto* type = held == nullptr ? nullptr : std::get_if<int64_t>(&held->value);
    if (type != nullptr && is_short(static_cast<DType>(*type)))
      node.set(key, static_cast<int64_t>(DType::kFloat64));
  }
  for (auto& [key, attribute] : node.attributes)
    if (auto* tensor = std::get_if<Tensor>(&attribute.value)) *tensor = in_double(*tensor);
}

} // namespace

Tensor in_double(const Tensor& tensor) {
  return is_short(tensor.type()) ? as_double(tensor) : tensor;
}

bool has_codes(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return has_codes(graph.node(id)); });
}

Result<Graph> in_double(const Graph& graph) {
  Graph out = graph;
  OCTET_TRY(train::absorb_constant_nodes(out));
  std::set<ValueId> kept;
  for (const NodeId id : out.nodes()) {
    Node& node = out.mutable_node(id);
    if (has_bodies(node)) return error(ErrorCode::kUnsupported, "control flow");
    if (has_codes(node)) return error(ErrorCode::kUnsupported, "codes");
    if (draws(node)) return error(ErrorCode::kUnsupported, "drawn numbers");
    if (has_statistics(node)) return error(ErrorCode::kUnsupported, "running statistics");
    widen(node);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (stays(node, i)) kept.insert(node.inputs[i]);
  }
  for (int32_t i = 0; i < out.value_bound(); ++i) {
    const Value& value = out.value({i});
    if (kept.contains(value.id) || !is_short(value.type.type)) continue;
    if (value.is_constant()) {
      out.set_constant(value.id, in_double(value.constant));
      continue;
    }
    TypeInfo type = value.type;
    type.type = DType::kFloat64;
    out.set_type(value.id, type);
  }
  const Error in_float("an operator in float alone", ErrorCode::kUnsupported);
  if (!infer_types(out).ok()) return in_float;
  for (int32_t i = 0; i < out.value_bound(); ++i)
    if (is_short(out.value({i}).type.type) && !kept.contains({i})) return in_float;
  return out;
}

} // namespace octet::differential
