// SPDX-License-Identifier: Apache-2.0
#include "quant/no_effect.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "graph/node_names.h"
#include "quant/dynamic_lstm.h"
#include "quant/place.h"

namespace octet {

namespace {

/// What is read through codes: a node's input, or (with an invalid node) an output of the graph.
using Reads = std::set<std::pair<NodeId, ValueId>>;

struct Placing {
  Reads reads;
  std::set<ValueId> excluded; ///< what nodes that a pattern excludes make
};

Result<Placing>
placing(const Graph& graph, const Placement& placement, const QuantizeOptions& options) {
  const std::vector<NodePlan> plans =
      OCTET_TRY(options.mode == QuantMode::kStatic ? place(graph, placement, options)
                                                   : place_weights(graph, placement, options));
  const Uses uses(graph);
  const NodeNames nodes(graph);
  Placing out;
  for (const NodePlan& plan : plans) {
    const auto id = nodes.find(plan.node);
    if (!id) continue;
    const Node& node = graph.node(*id);
    if (plan.rule == Placed::kExcluded)
      out.excluded.insert(node.outputs.begin(), node.outputs.end());
    if (!plan.quantized) continue;
    for (const int64_t input : plan.inputs)
      out.reads.emplace(*id, node.input(static_cast<size_t>(input)));
    for (const size_t input : weight_inputs(plan))
      out.reads.emplace(*id, node.input(input));
    if (!plan.output) continue;
    for (const Uses::Use& use : uses.of(node.output(0)))
      out.reads.emplace(use.node, node.output(0));
    if (graph.is_output(node.output(0))) out.reads.emplace(NodeId{}, node.output(0));
  }
  return out;
}

} // namespace

Result<std::vector<NoEffect>> excluded_without_effect(const Graph& prepared,
                                                      const Placement& placement,
                                                      const QuantizeOptions& options) {
  std::vector<NoEffect> out;
  if (options.exclude.empty()) return out;
  const Reads with_all = OCTET_TRY(placing(prepared, placement, options)).reads;
  QuantizeOptions changed = options;
  changed.exclude.clear();
  const Reads with_none = OCTET_TRY(placing(prepared, placement, changed)).reads;
  for (const std::string& pattern : options.exclude) {
    // Neither alone nor beside the others: two that say the same have an effect.
    changed.exclude = {pattern};
    const Placing alone = OCTET_TRY(placing(prepared, placement, changed));
    if (alone.reads != with_none) continue;
    changed.exclude = options.exclude;
    std::erase(changed.exclude, pattern);
    if (OCTET_TRY(placing(prepared, placement, changed)).reads != with_all) continue;
    NoEffect& found = out.emplace_back(NoEffect{pattern, {}});
    for (const auto& [node, value] : with_all)
      if (node.valid() && alone.excluded.contains(value))
        if (const std::string& name = prepared.node(node).name;
            std::find(found.readers.begin(), found.readers.end(), name) == found.readers.end())
          found.readers.push_back(name);
  }
  return out;
}

} // namespace octet
