// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Div(sqrt 2) ─▶ Erf ─▶ Add(1) ─▶ Mul(x) ─▶ Mul(0.5) ─▶ y    =>    x ─▶ Gelu ─▶ y
//        (also Mul(1 / sqrt 2); 0.5 may stand at x, at the sum or at the product)
// Rounding: equal in real arithmetic. Wanted: nobody else reads what lies between.
#include <cmath>

#include "passes/lower/chains.h"

namespace octet::lowering {
namespace {

/// Whether the value is a constant of one element close to `want`.
bool is_number(const Graph& g, ValueId id, double want) {
  const Tensor* t = g.constant(id);
  return t && t->count() == 1 && t->type() == DType::kFloat32 &&
         std::abs(t->at(0) - want) <= 1e-6 * std::abs(want);
}

/// The other operand of a commutative node of two, when one of them is `one`.
ValueId other_than(const Node& node, ValueId one) {
  if (node.inputs.size() != 2) return {};
  if (node.inputs[0] == one) return node.inputs[1];
  return node.inputs[1] == one ? node.inputs[0] : ValueId{};
}

/// The other operand, when one of them is the number.
ValueId beside_number(const Graph& g, const Node& node, double want) {
  if (node.inputs.size() != 2) return {};
  if (is_number(g, node.inputs[1], want)) return node.inputs[0];
  return is_number(g, node.inputs[0], want) ? node.inputs[1] : ValueId{};
}

/// x of x / sqrt 2.
ValueId scaled_input(const Graph& g, ValueId id) {
  const Node* node = g.producer(id);
  if (!node) return {};
  if (node->is("Div") && is_number(g, node->input(1), std::sqrt(2.0))) return node->input(0);
  return node->is("Mul") ? beside_number(g, *node, std::sqrt(0.5)) : ValueId{};
}

const Node* only_consumer(const RuleContext& c, ValueId id, std::string_view type) {
  const NodeId next = c.uses.single_consumer(id);
  if (!next.valid() || !c.graph.node(next).is(type)) return nullptr;
  return &c.graph.node(next);
}

/// The end of the chain: a product of x, `sum` and 0.5 in some order.
ValueId half_product(const RuleContext& c, ValueId x, ValueId sum) {
  const Graph& g = c.graph;
  const Node* first = only_consumer(c, sum, "Mul");
  if (!first) return {};
  const ValueId other = other_than(*first, sum);
  const Node* maker = other.valid() ? g.producer(other) : nullptr;
  if (maker && maker->is("Mul") && beside_number(g, *maker, 0.5) == x) return first->outputs[0];
  const Node* second = only_consumer(c, first->outputs[0], "Mul");
  if (!second) return {};
  const bool by_x = other == x && beside_number(g, *second, 0.5) == first->outputs[0];
  const bool by_half = is_number(g, other, 0.5) && other_than(*second, first->outputs[0]) == x;
  return by_x || by_half ? second->outputs[0] : ValueId{};
}

} // namespace

std::optional<Patch> fuse_gelu(const RuleContext& c, const Node& node) {
  if (!node.is("Erf") || c.graph.value(node.input(0)).type.type != DType::kFloat32)
    return std::nullopt;
  if (!c.uses.single_consumer(node.input(0)).valid()) return std::nullopt;
  const ValueId x = scaled_input(c.graph, node.input(0));
  if (!x.valid()) return std::nullopt;
  const Node* add = only_consumer(c, node.outputs[0], "Add");
  if (!add || beside_number(c.graph, *add, 1.0) != node.outputs[0]) return std::nullopt;
  const ValueId y = half_product(c, x, add->outputs[0]);
  if (!y.valid()) return std::nullopt;
  Patch patch(c.graph, "the chain is GELU", Exactness::kRounding);
  patch.from(node);
  patch.import_opset("octet.native", 1);
  patch.replace(y, patch.emit("Gelu", {x}, {}, node.name + "/gelu", "octet.native"));
  return patch;
}

} // namespace octet::lowering
