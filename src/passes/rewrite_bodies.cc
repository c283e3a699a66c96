// SPDX-License-Identifier: Apache-2.0
//   Loop {body: c, x ─▶ Identity ─▶ Add(x, 0) ─▶ y}     =>      Loop {body: c, x ─▶ y}
// What a rule says of its exactness holds in bodies too.
#include "passes/rewrite_bodies.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/format.h"

namespace octet {
namespace {

using Names = std::set<std::string, std::less<>>;

Names with_names_of(const Graph& graph, Names names) {
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    names.insert(graph.value(ValueId{i}).name);
  return names;
}

class BodyRewriter {
 public:
  BodyRewriter(std::span<const Rule> rules, const RewriteOptions& options)
      : rules_(rules), options_(options) {}

  Result<std::vector<Step>> run(Graph& graph) {
    OCTET_TRY(graph_and_bodies(graph, "", {}));
    return std::move(steps_);
  }

 private:
  bool done() const {
    return options_.max_steps >= 0 && static_cast<int>(steps_.size()) >= options_.max_steps;
  }

  Status graph_and_bodies(Graph& graph, const std::string& path, const Names& outer_names) {
    OCTET_TRY(one(graph, path));
    bool needs_less = false;
    for (const NodeId id : graph.nodes())
      needs_less = OCTET_TRY(bodies(graph, id, path, outer_names)) || needs_less;
    if (!needs_less) return ok_status();
    graph.remove_dead();
    return one(graph, path);
  }

  Status one(Graph& graph, const std::string& path) {
    if (done()) return ok_status();
    const auto before = static_cast<int>(steps_.size());
    const auto placed = [&](Step step) {
      step.number += before;
      step.node = path + step.node;
      return step;
    };
    RewriteOptions options = options_;
    if (options.max_steps >= 0) options.max_steps -= before;
    if (options_.log) options.log = [&](const Step& step) { options_.log(placed(step)); };
    for (const Step& step : OCTET_TRY(rewrite(graph, rules_, options)))
      steps_.push_back(placed(step));
    return ok_status();
  }

  /// Whether the node captures less than before.
  Result<bool> bodies(Graph& graph, NodeId id, const std::string& path, const Names& outer_names) {
    const Node& node = graph.node(id);
    std::string name = node.name;
    if (name.empty() && node.output(0).valid()) name = graph.value(node.output(0)).name;
    bool any = false;
    for (auto& [key, attribute] : graph.mutable_node(id).attributes) {
      auto* body = std::get_if<GraphPtr>(&attribute.value);
      if (body == nullptr || done()) continue;
      any = true;
      const std::string inside = fmt::format("{}{}/{}/", path, name, key);
      *body = OCTET_TRY(rewritten(graph, **body, inside, with_names_of(graph, outer_names)));
    }
    return any && renew_captures(graph, id);
  }

  Result<GraphPtr>
  rewritten(const Graph& outer, const Graph& body, const std::string& path, const Names& taken) {
    Graph copy = standing_alone(outer, body);
    Graph typed = copy;
    // A branch that does not fit the types at hand is one that is not taken with them.
    if (!infer_types(typed).ok()) return std::make_shared<const Graph>(body);
    OCTET_TRY_WITH(graph_and_bodies(copy, path, taken), fmt::format("body {}", path));
    copy.remove_dead();
    for (int32_t i = 0; i < body.value_bound(); ++i) {
      const Value& was = body.value(ValueId{i});
      Value& v = copy.mutable_value(ValueId{i});
      if (was.kind != ValueKind::kCapture || !v.is_constant()) continue;
      v.kind = ValueKind::kCapture;
      v.constant = Tensor{};
      v.captured = was.captured;
    }
    for (int32_t i = body.value_bound(); i < copy.value_bound(); ++i)
      keep_apart(copy, ValueId{i}, taken);
    if (body.opsets.empty()) copy.opsets.clear();
    return std::make_shared<const Graph>(std::move(copy));
  }

  /// A new value's name must not hide one of the graphs around it.
  static void keep_apart(Graph& body, ValueId id, const Names& taken) {
    const std::string name = body.value(id).name;
    std::string free = name;
    for (int k = 1; taken.contains(free) || (free != name && body.find_value(free)); ++k)
      free = fmt::format("{}_inner{}", name, k);
    if (free != name) body.rename(id, free);
  }

  static bool renew_captures(Graph& graph, NodeId id) {
    Node& node = graph.mutable_node(id);
    std::set<ValueId> used;
    for (const auto& [key, attribute] : node.attributes) {
      const auto* body = std::get_if<GraphPtr>(&attribute.value);
      if (body == nullptr) continue;
      for (int32_t i = 0; i < (*body)->value_bound(); ++i)
        if (const Value& v = (*body)->value(ValueId{i}); v.kind == ValueKind::kCapture)
          used.insert(v.captured);
    }
    return std::erase_if(node.captures, [&](ValueId v) { return !used.contains(v); }) > 0;
  }

  std::span<const Rule> rules_;
  const RewriteOptions& options_;
  std::vector<Step> steps_;
};

} // namespace

Result<std::vector<Step>>
rewrite_with_bodies(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options) {
  return BodyRewriter(rules, options).run(graph);
}

} // namespace octet
