// SPDX-License-Identifier: Apache-2.0
// What a plan says of a graph, found by name.
#include <cmath>

#include "core/format.h"
#include "graph/label.h"
#include "quant/apply.h"
#include "quant/scheme.h"

namespace octet {

PlanIndex::PlanIndex(const Graph& graph, const QuantizationPlan& plan) : graph_(graph) {
  for (const NodeId id : graph.nodes()) {
    Named& named = nodes_[graph.node(id).name];
    named.node = id;
    ++named.count;
  }
  for (const TensorPlan& tensor : plan.tensors)
    tensors_.try_emplace(tensor.value, &tensor);
}

Result<NodeId> PlanIndex::node(const NodePlan& plan) const {
  const auto found = nodes_.find(plan.node);
  if (found == nodes_.end()) return error("plan: the graph has no node \"{}\"", plan.node);
  if (found->second.count > 1)
    return error("plan: several nodes are named \"{}\"; rename them", plan.node);
  return found->second.node;
}

Result<const TensorPlan*> PlanIndex::tensor(ValueId value, const Node& node) const {
  const std::string name = value.valid() ? graph_.value(value).name : "";
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    return error("plan: no range for value \"{}\", which {} needs", name, label(graph_, node));
  const TensorPlan* tensor = found->second;
  OCTET_TRY_WITH(check_scheme(tensor->scheme), fmt::format("plan: value \"{}\"", name));
  bool valid = !tensor->ranges.empty() && (tensor->axis || tensor->ranges.size() == 1);
  for (const Range& r : tensor->ranges)
    valid = valid && std::isfinite(r.lo) && std::isfinite(r.hi) && r.lo <= r.hi;
  if (!valid)
    return error("plan: value \"{}\" needs one finite range [lo, hi], or one for each channel",
                 name);
  return tensor;
}

} // namespace octet
