// SPDX-License-Identifier: Apache-2.0
#include "passes/evaluate.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/bodies.h"
#include "ops/op.h"

namespace octet {

namespace {

constexpr std::array<std::string_view, 7> kRandom = {
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
    "Multinomial",  "Bernoulli",        "Dropout"};

} // namespace

bool is_deterministic(const Node& node) {
  if (std::find(kRandom.begin(), kRandom.end(), node.op_type) != kRandom.end()) return false;
  if (!node.domain.empty() && find_op(node.domain, node.op_type) == nullptr) return false;
  const std::vector<Body> bodies = bodies_of(node);
  return std::all_of(bodies.begin(), bodies.end(), [](const Body& body) {
    const std::vector<NodeId> nodes = body.graph->nodes();
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return is_deterministic(body.graph->node(id)); });
  });
}

std::optional<std::vector<Tensor>> evaluate_constant(const Graph& graph, const Node& node) {
  if (!is_deterministic(node) || has_bodies(node)) return std::nullopt;
  const OpDef* op = find_op(node.domain, node.op_type);
  if (op == nullptr) return std::nullopt;
  EvalContext context{
      .node = node, .version = graph.opset(node.domain), .inputs = {}, .run_body = {}, .seed = 0};
  for (const ValueId id : node.inputs) {
    const Tensor* constant = graph.constant(id);
    if (id.valid() && constant == nullptr) return std::nullopt;
    context.inputs.push_back(id.valid() ? constant->aligned() : Tensor{});
  }
  Result<std::vector<Tensor>> out = op->eval.fn(context);
  if (!out.ok() || out->size() < node.outputs.size()) return std::nullopt;
  return std::move(*out);
}

} // namespace octet
