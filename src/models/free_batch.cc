// SPDX-License-Identifier: Apache-2.0
// A model that was written for batches of one size, for any: sizes of inputs, and shapes that were
// written with the batch in them.
#include "core/format.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "graph/sizes.h"
#include "ops/declared.h"
#include "ops/evaluate.h"
#include "ops/infer.h"

#include "octet/models.h"

namespace octet {
namespace {

constexpr const char* kBatchSymbol = "N";

bool begins_with(const TypeInfo& type, int64_t size) {
  return type.has_rank() && type.rank() > 0 && type.shape->front().maybe_value() == size;
}

/// Reshape of data to [batch, ...]: 0 there means the size that comes in.
Status free_reshapes(Graph& graph, int64_t batch) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!node.is("Reshape") || node.attr_int("allowzero", 0) != 0 || node.inputs.size() < 2)
      continue;
    const Tensor* target = graph.constant(node.inputs[1]);
    if (target == nullptr || target->count() == 0) continue;
    std::vector<int64_t> sizes = OCTET_TRY(target->to_ints());
    if (sizes[0] != batch || !begins_with(graph.value(node.inputs[0]).type, batch)) continue;
    if (constant_value(graph, node.inputs[0])) continue;
    sizes[0] = 0;
    const ValueId free = graph.add_constant(
        graph.unique_name(graph.value(node.inputs[1]).name + ".free"), int_list(sizes));
    graph.set_node_input(id, 1, free);
  }
  return ok_status();
}

} // namespace

Result<int64_t> free_batch(Graph& graph) {
  const std::optional<int64_t> batch = fixed_batch(graph);
  if (!batch) return 0;
  Graph free = graph;
  OCTET_TRY(infer_types(free));
  OCTET_TRY(free_reshapes(free, *batch));
  for (const ValueId id : free.inputs()) {
    TypeInfo type = free.value(id).type;
    if (!begins_with(type, *batch)) continue;
    type.shape->front() = Dim::symbol(kBatchSymbol);
    free.set_type(id, type);
  }
  forget_declared_shapes(free);
  for (const ValueId id : free.outputs())
    if (free.producer(id) != nullptr)
      free.set_type(id, {free.value(id).type.type, std::nullopt, {}});
  OCTET_TRY(infer_types(free));
  for (const ValueId id : free.outputs()) {
    const TypeInfo& type = free.value(id).type;
    if (type.has_rank() && type.rank() > 0 && type.shape->front().is_constant())
      return error("its output \"{}\" stays {} whatever the batch; export the model with a free "
                   "first dimension",
                   free.value(id).name, type.text());
  }
  free.remove_dead();
  graph = std::move(free);
  return *batch;
}

} // namespace octet
