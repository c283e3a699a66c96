// SPDX-License-Identifier: Apache-2.0
// What lies between x and the Mul may be read by others too; it then stays.
#include "passes/match_layer_norm.h"

#include <cmath>

#include "passes/match.h"

namespace octet {
namespace {

/// x of a mean over the last axis that keeps it.
ValueId mean_of(const RuleContext& c, ValueId id) {
  const Node* mean = made_by(c.graph, id, "ReduceMean");
  if (mean == nullptr || mean->attr_int("keepdims", 1) == 0) return {};
  const TypeInfo& x = c.graph.value(mean->input(0)).type;
  const auto axes = ints_of(c, *mean, "axes", 1);
  if (!x.has_rank() || !axes || axes->size() != 1) return {};
  if ((*axes)[0] != -1 && (*axes)[0] != x.rank() - 1) return {};
  return mean->input(0);
}

/// x of d = x - mean of x.
ValueId deviation_of(const RuleContext& c, ValueId id) {
  const Node* sub = made_by(c.graph, id, "Sub");
  return sub != nullptr && mean_of(c, sub->input(1)) == sub->input(0) ? sub->input(0) : ValueId{};
}

/// d of d^2.
ValueId square_of(const Graph& g, ValueId id) {
  if (const Node* pow = made_by(g, id, "Pow"))
    return number(g, pow->input(1)) == 2.0 ? pow->input(0) : ValueId{};
  const Node* mul = made_by(g, id, "Mul");
  return mul != nullptr && mul->input(0) == mul->input(1) ? mul->input(0) : ValueId{};
}

/// d and the root of d / root, or of d * (1 / root).
std::optional<std::pair<ValueId, ValueId>> quotient(const Graph& g, ValueId id) {
  if (const Node* div = made_by(g, id, "Div")) return std::pair(div->input(0), div->input(1));
  const Node* mul = made_by(g, id, "Mul");
  for (size_t i = 0; i < 2 && mul != nullptr && mul->inputs.size() == 2; ++i)
    if (const Node* reciprocal = made_by(g, mul->inputs[i], "Reciprocal"))
      return std::pair(mul->inputs[1 - i], reciprocal->input(0));
  return std::nullopt;
}

struct Normalized {
  ValueId x;
  float epsilon = 0;
};

/// d / Sqrt(mean of d^2 + epsilon).
std::optional<Normalized> normalized(const RuleContext& c, ValueId id) {
  const Graph& g = c.graph;
  const auto parts = quotient(g, id);
  const Node* root = parts ? made_by(g, parts->second, "Sqrt") : nullptr;
  const Node* add = root != nullptr ? made_by(g, root->input(0), "Add") : nullptr;
  if (add == nullptr || add->inputs.size() != 2) return std::nullopt;
  const auto right = number(g, add->inputs[1]);
  const auto epsilon = right ? right : number(g, add->inputs[0]);
  if (!epsilon) return std::nullopt;
  const ValueId variance = add->inputs[right ? 0 : 1];
  const ValueId x = deviation_of(c, parts->first);
  if (!x.valid()) return std::nullopt;
  const ValueId squared = square_of(g, mean_of(c, variance));
  if (deviation_of(c, squared) != x) return std::nullopt;
  return Normalized{x, static_cast<float>(*epsilon)};
}

/// Which input of a node of two has one axis of the length of x's last; 2: none.
size_t vector_input(const Graph& g, const Node& node, const TypeInfo& x) {
  for (size_t i = 0; i < 2 && node.inputs.size() == 2; ++i) {
    const TypeInfo& t = g.value(node.inputs[i]).type;
    if (t.type == x.type && t.has_rank() && t.rank() == 1 && (*t.shape)[0] == x.shape->back())
      return i;
  }
  return 2;
}

} // namespace

std::optional<LayerNormChain> match_layer_norm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Mul") || node.inputs.size() != 2) return std::nullopt;
  const TypeInfo& y = g.value(node.output(0)).type;
  if (!is_float(y.type) || !y.has_rank() || y.rank() < 2) return std::nullopt;
  const size_t gain = vector_input(g, node, y);
  if (gain == 2) return std::nullopt;
  const auto norm = normalized(c, node.inputs[1 - gain]);
  if (!norm || !same_type(g.value(norm->x).type, y)) return std::nullopt;
  LayerNormChain out{norm->x, node.inputs[gain], {}, node.outputs[0], norm->epsilon};
  if (const Node* add = only_consumer(c, node.outputs[0], "Add")) {
    const size_t bias = vector_input(g, *add, y);
    if (bias < 2) {
      out.bias = add->inputs[bias];
      out.y = add->outputs[0];
    }
  }
  return out;
}

} // namespace octet
