// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <algorithm>
#include <set>

#include "core/format.h"
#include "core/released.h"
#include "graph/bodies.h"
#include "graph/label.h"

namespace octet {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, int depth) : graph_(graph), depth_(depth) {}

  Status run() {
    if (depth_ > kMaxSubgraphDepth)
      return error("subgraphs nest deeper than {}", kMaxSubgraphDepth);
    for (int32_t i = 0; i < graph_.value_bound(); ++i)
      OCTET_TRY(value(graph_.value(ValueId{i})));
    for (const NodeId id : graph_.nodes())
      OCTET_TRY(node(graph_.node(id)));
    for (const ValueId id : graph_.inputs())
      if (!known(id) || graph_.value(id).kind == ValueKind::kNodeOutput)
        return error("graph input {}: is not a value of kind input", describe(id));
    for (const ValueId id : graph_.outputs())
      OCTET_TRY_WITH(usable(id), "graph output");
    OCTET_TRY(graph_.topological());
    return ok_status();
  }

 private:
  bool known(ValueId id) const { return id.valid() && id.index < graph_.value_bound(); }
  std::string describe(ValueId id) const {
    return known(id) ? "\"" + graph_.value(id).name + "\"" : "#" + std::to_string(id.index);
  }

  /// Something must give the value: an input, a constant, a capture or a living node.
  Status usable(ValueId id) const {
    if (!known(id)) return error("value #{}: no such value", id.index);
    const Value& v = graph_.value(id);
    if (v.kind != ValueKind::kNodeOutput) return ok_status();
    if (!v.producer.valid()) return error("value \"{}\": nothing produces it", v.name);
    return ok_status();
  }

  Status value(const Value& v) {
    if (v.kind == ValueKind::kConstant && v.constant.empty())
      return error("constant \"{}\": has no tensor", v.name);
    if (v.kind == ValueKind::kConstant && is_released(v.constant))
      return error(
          "constant \"{}\": was packed and its own bytes released; create the session with "
          "keep_weights to use its graph",
          v.name);
    if (v.kind != ValueKind::kNodeOutput && v.producer.valid())
      return error("value \"{}\": is no node's output but names a producer", v.name);
    if (v.producer.valid()) {
      if (v.producer.index >= graph_.node_bound() || !graph_.alive(v.producer))
        return error("value \"{}\": its producer is gone", v.name);
      const auto& outs = graph_.node(v.producer).outputs;
      if (std::find(outs.begin(), outs.end(), v.id) == outs.end())
        return error("value \"{}\": {} does not list it as an output", v.name,
                     label(graph_, graph_.node(v.producer)));
    }
    const bool used = v.kind != ValueKind::kNodeOutput || v.producer.valid();
    if (used && !names_.insert(v.name).second)
      return error("value \"{}\": the name is taken twice", v.name);
    return ok_status();
  }

  Status node(const Node& n) const {
    if (n.op_type.empty()) return error("node \"{}\": has no operator type", n.name);
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i].valid())
        OCTET_TRY_WITH(usable(n.inputs[i]), fmt::format("node {}: input {}", label(graph_, n), i));
    for (const ValueId id : n.captures)
      OCTET_TRY_WITH(usable(id), fmt::format("node {}: capture", label(graph_, n)));
    for (const ValueId id : n.outputs) {
      if (!id.valid()) continue;
      if (!known(id))
        return error("node {}: output #{}: no such value", label(graph_, n), id.index);
      if (graph_.value(id).producer != n.id)
        return error("node {}: output \"{}\" has another producer", label(graph_, n),
                     graph_.value(id).name);
    }
    for (const auto& [key, inner] : bodies_of(n))
      OCTET_TRY_WITH(body(n, inner),
                     fmt::format("node {}: attribute \"{}\"", label(graph_, n), key));
    return ok_status();
  }

  Status body(const Node& n, const GraphPtr& graph) const {
    if (!graph) return error("holds no graph");
    const std::set<ValueId> captures(n.captures.begin(), n.captures.end());
    for (int32_t i = 0; i < graph->value_bound(); ++i) {
      const Value& v = graph->value(ValueId{i});
      if (v.kind != ValueKind::kCapture) continue;
      if (!captures.contains(v.captured))
        return error("captured \"{}\" is not among the captures of the node", v.name);
    }
    return Verifier(*graph, depth_ + 1).run();
  }

  const Graph& graph_;
  int depth_;
  std::set<std::string_view> names_;
};

} // namespace

Status verify(const Graph& graph) {
  return Verifier(graph, 0).run();
}

} // namespace octet
