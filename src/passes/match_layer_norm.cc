// SPDX-License-Identifier: Apache-2.0
// What lies between x and the Mul may be read by others too; it then stays.
#include "passes/match_layer_norm.h"

#include <algorithm>
#include <cmath>

#include "passes/match.h"

namespace octet {
namespace {

/// What is averaged over its last axes, and how many these are.
struct Mean {
  ValueId of;
  int64_t axes = 0;
  bool operator==(const Mean&) const = default;
};

/// Of a mean over the last axes that keeps them.
Mean mean_of(const RuleContext& c, ValueId id) {
  const Node* mean = made_by(c.graph, id, "ReduceMean");
  if (mean == nullptr || mean->attr_int("keepdims", 1) == 0) return {};
  const TypeInfo& x = c.graph.value(mean->input(0)).type;
  auto axes = ints_of(c, *mean, "axes", 1);
  if (!x.has_rank() || !axes || axes->empty() || std::ssize(*axes) > x.rank()) return {};
  for (int64_t& axis : *axes)
    if (axis < 0) axis += x.rank();
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != x.rank() - std::ssize(*axes) + static_cast<int64_t>(i)) return {};
  return {mean->input(0), std::ssize(*axes)};
}

/// x and the axes of d = x - mean of x.
Mean deviation_of(const RuleContext& c, ValueId id) {
  const Node* sub = made_by(c.graph, id, "Sub");
  const Mean mean = sub != nullptr ? mean_of(c, sub->input(1)) : Mean{};
  return sub != nullptr && mean.of == sub->input(0) ? mean : Mean{};
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
  Mean x;
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
  const Mean x = deviation_of(c, parts->first);
  if (!x.of.valid()) return std::nullopt;
  const Mean squares = mean_of(c, variance);
  if (squares.axes != x.axes || deviation_of(c, square_of(g, squares.of)) != x) return std::nullopt;
  return Normalized{x, static_cast<float>(*epsilon)};
}

/// Whether a value has the last `axes` axes of x alone.
bool has_last_axes(const TypeInfo& t, const TypeInfo& x, int64_t axes) {
  return t.type == x.type && t.has_rank() && t.rank() == axes && axes <= x.rank() &&
         std::equal(t.shape->begin(), t.shape->end(), x.shape->end() - axes);
}

} // namespace

std::optional<LayerNormChain> match_layer_norm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Mul") || node.inputs.size() != 2) return std::nullopt;
  const TypeInfo& y = g.value(node.output(0)).type;
  if (!is_float(y.type) || !y.has_rank() || y.rank() < 2) return std::nullopt;
  for (size_t gain = 0; gain < 2; ++gain) {
    const auto norm = normalized(c, node.inputs[1 - gain]);
    if (!norm || !same_type(g.value(norm->x.of).type, y) ||
        !has_last_axes(g.value(node.inputs[gain]).type, y, norm->x.axes))
      continue;
    LayerNormChain out{norm->x.of,      node.inputs[gain], {},
                       node.outputs[0], norm->epsilon,     norm->x.axes};
    const Node* add = only_consumer(c, node.outputs[0], "Add");
    for (size_t bias = 0; add != nullptr && bias < 2 && add->inputs.size() == 2; ++bias) {
      if (add->inputs[bias] == out.y ||
          !has_last_axes(g.value(add->inputs[bias]).type, y, out.axes))
        continue;
      out.bias = add->inputs[bias];
      out.y = add->outputs[0];
      break;
    }
    return out;
  }
  return std::nullopt;
}

} // namespace octet
