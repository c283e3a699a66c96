// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepare.h"

#include <algorithm>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/infer.h"

namespace octet::runtime {
namespace {

/// By value id: whether all elements of an integer tensor follow from the sizes of the inputs.
std::vector<bool> fully_known(const Graph& graph, const KnownElements& elements) {
  std::vector<bool> known(static_cast<size_t>(graph.value_bound()), false);
  for (const auto& [id, dims] : elements)
    known[static_cast<size_t>(id.index)] =
        std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_known(); });
  return known;
}

} // namespace

std::vector<bool> made_of_shapes(const Graph& g, std::span<const NodeId> order) {
  std::vector<bool> out(static_cast<size_t>(g.value_bound()), false);
  for (const ValueId v : g.constants())
    out[static_cast<size_t>(v.index)] = true;
  for (const NodeId id : order) {
    const Node& node = g.node(id);
    const bool of_shape = node.is("Shape") || node.is("Size");
    const bool all = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
      return !v.valid() || out[static_cast<size_t>(v.index)];
    });
    if (!of_shape && (!all || facts_of(node).random || has_bodies(node))) continue;
    for (const ValueId v : node.outputs)
      if (v.valid()) out[static_cast<size_t>(v.index)] = true;
  }
  return out;
}

std::vector<bool> needed_values(const Graph& g,
                                std::span<const NodeId> order,
                                const std::function<bool(ValueId)>& is_known) {
  std::vector<bool> needed(static_cast<size_t>(g.value_bound()), false);
  const auto need = [&](ValueId v) {
    if (v.valid() && !is_known(v)) needed[static_cast<size_t>(v.index)] = true;
  };
  for (const ValueId v : g.outputs())
    need(v);
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = g.node(order[i]);
    if (!makes_needed(node, needed)) continue;
    for (const ValueId v : node.inputs)
      need(v);
    for (const ValueId v : node.captures)
      need(v);
  }
  return needed;
}

bool makes_needed(const Node& node, const std::vector<bool>& needed) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId v) { return v.valid() && needed[static_cast<size_t>(v.index)]; });
}

Result<std::shared_ptr<const PreparedGraph>> prepare_graph(Graph graph, Isa isa) {
  auto out = std::make_shared<PreparedGraph>();
  const Inferred found = OCTET_TRY(infer(graph));
  out->graph = std::move(graph);
  out->isa = isa;
  const Graph& g = out->graph;
  out->order = OCTET_TRY(g.topological());
  out->nodes.resize(static_cast<size_t>(g.node_bound()));
  out->by_reference.resize(out->nodes.size(), false);
  out->planned_at.resize(out->nodes.size(), 0);
  const std::vector<bool> known = fully_known(g, found.elements);
  const auto is_known = [&](ValueId v) { return known[static_cast<size_t>(v.index)]; };
  const std::vector<bool> needed = needed_values(g, out->order, is_known);
  const std::vector<bool> of_shapes = made_of_shapes(g, out->order);
  for (const NodeId id : out->order) {
    const Node& node = g.node(id);
    PlannedNode planned{label(g, node), "view", {}, node.origin, node.op_type};
    out->planned_at[static_cast<size_t>(id.index)] = out->planned.size();
    if (is_view(g, node)) {
      out->planned.push_back(std::move(planned));
      continue;
    }
    Choice choice = choose({g, node, isa, is_known});
    if (!choice.prepared)
      return error(ErrorCode::kUnsupported, "node {}: {}", label(g, node), choice.reason);
    const bool runs =
        makes_needed(node, needed) && !(choice.by_reference && makes_needed(node, of_shapes));
    planned.kernel = runs ? choice.name : "shape";
    planned.why = runs ? choice.reason : "";
    out->planned.push_back(planned);
    for (const PlannedNode& inside : choice.inside)
      out->planned.push_back({planned.node + " " + inside.node, inside.kernel, inside.why,
                              inside.origin, inside.op_type});
    out->by_reference[static_cast<size_t>(id.index)] = choice.by_reference;
    out->nodes[static_cast<size_t>(id.index)] = std::move(choice.prepared);
  }
  out->constants.resize(static_cast<size_t>(g.value_bound()));
  for (const ValueId v : g.constants())
    out->constants[static_cast<size_t>(v.index)] = g.value(v).constant.aligned();
  return std::shared_ptr<const PreparedGraph>(std::move(out));
}

} // namespace octet::runtime
