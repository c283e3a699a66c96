// SPDX-License-Identifier: Apache-2.0
#include "passes/match.h"

#include <cmath>
#include <limits>
#include <utility>

namespace octet {

const Node* made_by(const Graph& graph, ValueId id, std::string_view op_type) {
  const Node* node = id.valid() ? graph.producer(id) : nullptr;
  return node != nullptr && node->is(op_type) ? node : nullptr;
}

const Node* only_consumer(const RuleContext& context, ValueId id, std::string_view op_type) {
  const NodeId next = context.uses.single_consumer(id);
  if (!next.valid() || !context.graph.node(next).is(op_type)) return nullptr;
  return &context.graph.node(next);
}

std::optional<double> number(const Graph& graph, ValueId id) {
  const Tensor* t = graph.constant(id);
  if (t == nullptr || t->count() != 1 || !is_float(t->type())) return std::nullopt;
  return t->at(0);
}

bool is_number(const Graph& graph, ValueId id, double want) {
  const auto have = number(graph, id);
  if (!have) return false;
  const DType type = graph.constant(id)->type();
  const double tolerance = type == DType::kFloat16 ? 1e-3 : type == DType::kBfloat16 ? 8e-3 : 1e-6;
  return std::abs(*have - want) <= tolerance * std::abs(want);
}

ValueId other_than(const Node& node, ValueId one) {
  if (node.inputs.size() != 2) return {};
  if (node.inputs[0] == one) return node.inputs[1];
  return node.inputs[1] == one ? node.inputs[0] : ValueId{};
}

ValueId beside_number(const Graph& graph, const Node& node, double want) {
  if (node.inputs.size() != 2) return {};
  if (is_number(graph, node.inputs[1], want)) return node.inputs[0];
  return is_number(graph, node.inputs[0], want) ? node.inputs[1] : ValueId{};
}

std::optional<std::vector<int64_t>> known_ints(const RuleContext& context, ValueId id) {
  if (const Tensor* t = context.graph.constant(id)) {
    if (!is_integer(t->type()) && t->type() != DType::kBool) return std::nullopt;
    auto ints = t->to_ints();
    return ints.ok() ? std::optional(std::move(*ints)) : std::nullopt;
  }
  const auto found = context.elements.find(id);
  if (found == context.elements.end()) return std::nullopt;
  std::vector<int64_t> out;
  for (const Dim& d : found->second) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

std::optional<std::vector<int64_t>>
ints_of(const RuleContext& context, const Node& node, std::string_view attribute, size_t input) {
  if (node.has_attr(attribute)) return node.attr_ints(attribute);
  if (!node.input(input).valid()) return std::vector<int64_t>{};
  return known_ints(context, node.input(input));
}

bool same_type(const TypeInfo& a, const TypeInfo& b) {
  return a.type != DType::kUndefined && a.type == b.type && a.shape && b.shape &&
         *a.shape == *b.shape;
}

bool all_equal(const Tensor& tensor, double want) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.at(i) != want) return false;
  return tensor.count() > 0;
}

} // namespace octet
