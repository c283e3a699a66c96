// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/bodies.h"
#include "ops/op.h"

namespace octet {

namespace {

/// How many nodes one constant may come from.
constexpr size_t kMaxNodes = 64;

bool can_evaluate(const Node& node) {
  return is_deterministic(node) && !has_bodies(node);
}

std::optional<std::vector<Tensor>>
evaluate(const Graph& graph, const Node& node, std::vector<Tensor> inputs) {
  const EvalContext context{.node = node,
                            .version = graph.opset(node.domain),
                            .inputs = std::move(inputs),
                            .run_body = {},
                            .seed = 0};
  Result<std::vector<Tensor>> out = find_op(node.domain, node.op_type)->eval.fn(context);
  if (!out.ok() || out->size() < node.outputs.size()) return std::nullopt;
  return std::move(*out);
}

/// The nodes between constants and a value, each behind those that it reads. They are all known
/// before the first is evaluated: most values depend on an input of the graph somewhere.
class ConstantNodes {
 public:
  explicit ConstantNodes(const Graph& graph) : graph_(graph) {}

  /// False where something else than constants leads to the value, or too many nodes.
  bool add(ValueId value) {
    if (!value.valid() || graph_.constant(value) != nullptr) return true;
    const Node* node = graph_.producer(value);
    if (node == nullptr || !can_evaluate(*node)) return false;
    if (!seen_.insert(node).second) return true;
    if (seen_.size() > kMaxNodes) return false;
    for (const ValueId in : node->inputs)
      if (!add(in)) return false;
    order_.push_back(node);
    return true;
  }
  const std::vector<const Node*>& order() const { return order_; }

 private:
  const Graph& graph_;
  std::set<const Node*> seen_;
  std::vector<const Node*> order_;
};

} // namespace

bool is_deterministic(const Node& node) {
  const OpDef* op = find_op(node.domain, node.op_type);
  if (op == nullptr || op->facts.value.random) return false;
  const std::vector<Body> bodies = bodies_of(node);
  return std::all_of(bodies.begin(), bodies.end(), [](const Body& body) {
    const std::vector<NodeId> nodes = body.graph->nodes();
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return is_deterministic(body.graph->node(id)); });
  });
}

std::optional<std::vector<Tensor>> evaluate_constant(const Graph& graph, const Node& node) {
  if (!can_evaluate(node)) return std::nullopt;
  std::vector<Tensor> inputs;
  for (const ValueId id : node.inputs) {
    const Tensor* constant = graph.constant(id);
    if (id.valid() && constant == nullptr) return std::nullopt;
    inputs.push_back(id.valid() ? constant->aligned() : Tensor{});
  }
  return evaluate(graph, node, std::move(inputs));
}

bool comes_of_constants(const Graph& graph, ValueId value) {
  return value.valid() && ConstantNodes(graph).add(value);
}

std::optional<Tensor> constant_value(const Graph& graph, ValueId value) {
  ConstantNodes nodes(graph);
  if (!value.valid() || !nodes.add(value)) return std::nullopt;
  std::map<ValueId, Tensor> made;
  const auto known = [&](ValueId id) {
    const Tensor* constant = graph.constant(id);
    if (constant == nullptr) return made[id];
    const auto element_bytes = static_cast<size_t>(std::max(bits(constant->type()) / 8, 1));
    if (constant->is_aligned(element_bytes)) return *constant;
    Tensor copy = constant->aligned();
    constant->page_out();
    return copy;
  };
  for (const Node* node : nodes.order()) {
    std::vector<Tensor> inputs;
    for (const ValueId in : node->inputs)
      inputs.push_back(in.valid() ? known(in) : Tensor{});
    auto results = evaluate(graph, *node, std::move(inputs));
    if (!results) return std::nullopt;
    for (size_t k = 0; k < node->outputs.size(); ++k)
      made[node->outputs[k]] = std::move((*results)[k]);
  }
  Tensor out = known(value);
  return out.empty() ? std::nullopt : std::optional(std::move(out));
}

} // namespace octet
