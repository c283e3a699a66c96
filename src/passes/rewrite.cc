// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

#include <algorithm>
#include <memory>

#include "core/format.h"
#include "graph/verify.h"
#include "ops/infer.h"

namespace octet {
namespace {

class Driver {
 public:
  Driver(Graph& graph, const RewriteOptions& options) : graph_(graph), options_(options) {
    limit_ = 20 * std::max<int64_t>(static_cast<int64_t>(graph.nodes().size()), 10);
  }

  Result<std::vector<Step>> run(std::span<const Rule> rules) {
    OCTET_TRY(infer_types(graph_));
    for (bool changed = true; changed && !done();) {
      changed = false;
      for (const Rule& rule : rules)
        changed = OCTET_TRY(sweep(rule)) || changed;
      if (changed) OCTET_TRY_WITH(infer_types(graph_), "types after the rewrite");
    }
    return std::move(steps_);
  }

 private:
  bool done() const {
    return options_.max_steps >= 0 && static_cast<int>(steps_.size()) >= options_.max_steps;
  }

  Result<bool> sweep(const Rule& rule) {
    bool changed = false;
    auto uses = std::make_unique<Uses>(graph_);
    for (const NodeId id : OCTET_TRY(graph_.topological())) {
      if (done()) break;
      if (!graph_.alive(id)) continue;
      const std::optional<Patch> patch = rule.apply(RuleContext{graph_, *uses}, graph_.node(id));
      if (!patch) continue;
      const std::string where = fmt::format("step {}: pass {}: node {}", steps_.size() + 1,
                                            rule.name, graph_.node(id).label());
      OCTET_TRY_WITH(apply(rule, *patch, graph_.node(id).name), where);
      uses = std::make_unique<Uses>(graph_);
      changed = true;
    }
    return changed;
  }

  Status apply(const Rule& rule, const Patch& patch, std::string node_name) {
    const std::vector<NodeId> made = OCTET_TRY(patch.apply(graph_));
    graph_.remove_dead();
    for (const NodeId id : made)
      if (graph_.alive(id)) OCTET_TRY(infer_node(graph_, id));
    if (options_.verify) OCTET_TRY(verify(graph_));
    steps_.push_back({static_cast<int>(steps_.size()) + 1, std::string(rule.name),
                      std::move(node_name), patch.why(), patch.exactness()});
    if (options_.log) options_.log(steps_.back());
    if (static_cast<int64_t>(steps_.size()) > limit_)
      return error(ErrorCode::kInternal, "does not converge: {} patches and no end", limit_);
    return ok_status();
  }

  Graph& graph_;
  const RewriteOptions& options_;
  int64_t limit_ = 0;
  std::vector<Step> steps_;
};

} // namespace

Result<std::vector<Step>>
rewrite(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options) {
  return Driver(graph, options).run(rules);
}

} // namespace octet
