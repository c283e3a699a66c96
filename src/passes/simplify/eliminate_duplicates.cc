// SPDX-License-Identifier: Apache-2.0
//   x ─▶ f ─▶ a,  x ─▶ f ─▶ b        =>      x ─▶ f ─▶ a, used for b too
// Exact. Same operator, attributes and inputs; constant inputs may be two of the same content where
// they cannot be parameters (integers, and floats of one element). Not merged: operators that draw
// random numbers or hold subgraphs, and Q and DQ (targets want their own for each consumer).
#include <algorithm>

#include "graph/bodies.h"
#include "graph/label.h"
#include "graph/serialized.h"
#include "ops/evaluate.h"
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

bool same_attribute(const Attribute& a, const Attribute& b) {
  if (const auto* t = std::get_if<Tensor>(&a.value)) {
    const auto* u = std::get_if<Tensor>(&b.value);
    return u != nullptr && t->identical(*u);
  }
  if (const auto* s = std::get_if<std::shared_ptr<const SerializedAttribute>>(&a.value)) {
    const auto* t = std::get_if<std::shared_ptr<const SerializedAttribute>>(&b.value);
    return t != nullptr && (*s == *t || (*s && *t && **s == **t));
  }
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, GraphPtr> ||
                      std::is_same_v<T, std::vector<Tensor>> ||
                      std::is_same_v<T, std::vector<GraphPtr>>) {
          return false;
        } else {
          const auto* other = std::get_if<T>(&b.value);
          return other != nullptr && value == *other;
        }
      },
      a.value);
}

bool same_input(const Graph& g, ValueId a, ValueId b) {
  if (a == b) return true;
  const Tensor* s = g.constant(a);
  const Tensor* t = g.constant(b);
  if (s == nullptr || t == nullptr || s->type() != t->type()) return false;
  return (!is_float(s->type()) || s->count() == 1) && s->identical(*t);
}

bool same_computation(const Graph& g, const Node& a, const Node& b) {
  if (a.op_type != b.op_type || a.domain != b.domain || a.overload != b.overload) return false;
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
  if (!std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(),
                  [&](ValueId p, ValueId q) { return same_input(g, p, q); }))
    return false;
  if (!std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(),
                  [](ValueId p, ValueId q) { return p.valid() == q.valid(); }))
    return false;
  return std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
                    b.attributes.end(), [](const auto& p, const auto& q) {
                      return p.first == q.first && same_attribute(p.second, q.second);
                    });
}

/// The input with the fewest uses among those that an equal node must share.
ValueId rarest_input(const RuleContext& context, const Node& node) {
  ValueId best;
  for (const ValueId id : node.inputs) {
    if (!id.valid() || context.graph.constant(id) != nullptr) continue;
    if (!best.valid() || context.uses.count(id) < context.uses.count(best)) best = id;
  }
  return best;
}

} // namespace

std::optional<Patch> eliminate_duplicates(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear" ||
      !is_deterministic(node) || has_bodies(node))
    return std::nullopt;
  const ValueId shared = rarest_input(context, node);
  if (!shared.valid()) return std::nullopt;
  for (const Uses::Use& use : context.uses.of(shared)) {
    if (use.node >= node.id) continue;
    const Node& other = g.node(use.node);
    if (!same_computation(g, node, other)) continue;
    Patch patch(g, "the same as " + label(g, other), Exactness::kExact);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (!node.outputs[k].valid()) continue;
      if (!can_replace(g, node.outputs[k], other.outputs[k])) return std::nullopt;
      patch.replace(node.outputs[k], other.outputs[k]);
    }
    return patch;
  }
  return std::nullopt;
}

} // namespace octet
