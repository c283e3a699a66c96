// SPDX-License-Identifier: Apache-2.0
// Reference evaluation of a single node on LibTorch tensors.
#include "train/executor/reference_step.h"

#include <memory>

#include "core/format.h"
#include "graph/bodies.h"
#include "ops/op.h"
#include "ops/shared/seed.h"
#include "train/convert.h"

#include "octet/executor.h"

namespace octet::train {
namespace {

std::vector<octet::Tensor>
call_inputs(const Call& c, const Graph& graph, std::span<const ValueId> values) {
  std::vector<octet::Tensor> inputs(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    if (c.has(i)) inputs[i] = from_torch(c.in(i), graph.value(values[i]).type.type);
  return inputs;
}

void set_outputs(Call& c, const std::vector<octet::Tensor>& results) {
  for (size_t i = 0; i < results.size(); ++i)
    if (c.wants(i)) c.out(to_torch(results[i]), i);
}

/// The graph cut down to one node: ids stay, so captures inside its bodies stay valid.
Graph isolate(const Graph& graph, const Node& node) {
  Graph alone = graph;
  std::vector<ValueId> inputs;
  for (const std::vector<ValueId>* list : {&node.inputs, &node.captures})
    for (const ValueId v : *list)
      if (v.valid() && std::find(inputs.begin(), inputs.end(), v) == inputs.end())
        inputs.push_back(v);
  for (const NodeId other : graph.nodes())
    if (other != node.id) alone.remove_node(other);
  alone.set_inputs(inputs);
  for (const ValueId v : inputs) { // sizes that are only declared may not be what comes
    const TypeInfo& type = alone.value(v).type;
    alone.set_type(v, {.type = type.type, .shape = {}, .opaque = type.opaque});
  }
  std::vector<ValueId> outputs;
  for (const ValueId v : node.outputs)
    if (v.valid()) outputs.push_back(v);
  alone.set_outputs(outputs);
  return alone;
}

Result<Apply> step_with_bodies(const Graph& graph, const Node& node) {
  const Graph alone = isolate(graph, node);
  std::shared_ptr<Executor> executor = OCTET_TRY(make_reference_executor(alone));
  std::vector<ValueId> values = node.inputs;
  values.insert(values.end(), node.captures.begin(), node.captures.end());
  return Apply([&graph, executor, values, inputs = alone.inputs(),
                outputs = node.outputs](Call& c) {
    const std::vector<octet::Tensor> given = call_inputs(c, graph, values);
    std::vector<octet::Tensor> arguments;
    arguments.reserve(inputs.size());
    for (const ValueId v : inputs)
      arguments.push_back(
          given[static_cast<size_t>(std::find(values.begin(), values.end(), v) - values.begin())]);
    const Result<std::vector<octet::Tensor>> results = executor->run(arguments);
    TORCH_CHECK(results.ok(), results.error().text());
    size_t next = 0;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].valid()) c.out(to_torch((*results)[next++]), i);
  });
}

} // namespace

Result<Apply> reference_step(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef* op = find_op(node.domain, node.op_type);
  if (op == nullptr)
    return error(ErrorCode::kUnsupported, "octet has no operator {} in domain \"{}\"", node.op_type,
                 node.domain);
  if (has_bodies(node)) return step_with_bodies(graph, node);
  return Apply([&graph, id, op](Call& c) {
    const Node& n = graph.node(id);
    EvalContext context{.node = n,
                        .version = graph.opset(n.domain),
                        .inputs = call_inputs(c, graph, n.inputs),
                        .run_body = {},
                        .seed = random_seed(graph, n)};
    const Result<std::vector<octet::Tensor>> results = op->eval.fn(context);
    TORCH_CHECK(results.ok(), results.error().text());
    set_outputs(c, *results);
  });
}

} // namespace octet::train
