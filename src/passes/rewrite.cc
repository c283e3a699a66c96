// SPDX-License-Identifier: Apache-2.0
#include "passes/rewrite.h"

#include <algorithm>

#include "core/format.h"
#include "graph/label.h"
#include "graph/verify.h"

namespace octet {
namespace {

class Driver {
 public:
  Driver(Graph& graph, const RewriteOptions& options)
      : graph_(graph), options_(options), uses_(graph) {
    limit_ = 20 * std::max<int64_t>(static_cast<int64_t>(graph.nodes().size()), 10);
  }

  Result<std::vector<Step>> run(std::span<const BoundRule> rules) {
    if (options_.types_before == TypesBefore::kInferred) take(OCTET_TRY(infer(graph_)));
    for (bool changed = true; changed && !done();) {
      changed = false;
      for (const BoundRule& rule : rules)
        changed = OCTET_TRY(sweep(rule)) || changed;
      if (!changed) break;
      Inferred after = OCTET_TRY_WITH(infer(graph_), "types after the rewrite");
      if (exact_) OCTET_TRY_WITH(must_agree(after), "types after the rewrite");
      take(std::move(after));
      if (options_.verify == VerifyAfter::kRounds)
        OCTET_TRY_WITH(verify(graph_), fmt::format("after step {}", steps_.size()));
    }
    if (!steps_.empty()) graph_.remove_dead();
    return std::move(steps_);
  }

 private:
  bool done() const {
    return options_.max_steps >= 0 && static_cast<int>(steps_.size()) >= options_.max_steps;
  }

  void take(Inferred found) {
    exact_ = !found.trusted;
    elements_ = std::move(found.elements);
  }

  /// Nodes that a rule makes are looked at by the next rule, or in the next round.
  Result<bool> sweep(const BoundRule& rule) {
    if (!order_is_current_) order_ = OCTET_TRY(graph_.topological());
    order_is_current_ = true;
    bool changed = false;
    for (const NodeId id : order_) {
      if (done()) break;
      if (!graph_.alive(id)) continue;
      const std::optional<Patch> patch =
          rule.apply(RuleContext{graph_, uses_, elements_}, graph_.node(id));
      if (!patch) continue;
      const std::string place = label(graph_, graph_.node(id));
      OCTET_TRY_WITH(apply(rule, *patch, graph_.node(id)),
                     fmt::format("step {}: pass {}: node {}", steps_.size() + 1, rule.name, place));
      changed = true;
      order_is_current_ = false;
    }
    return changed;
  }

  Status apply(const BoundRule& rule, const Patch& patch, const Node& node) {
    Step step{static_cast<int>(steps_.size()) + 1, std::string(rule.name), name_of(graph_, node),
              patch.why(), patch.exactness()};
    const std::vector<ValueId> freed = patch.frees(graph_);
    const int32_t first_new = graph_.value_bound();
    const std::vector<NodeId> made = OCTET_TRY(patch.apply(graph_, uses_));
    if (options_.name_value)
      for (int32_t i = first_new; i < graph_.value_bound(); ++i)
        options_.name_value(graph_, ValueId{i});
    uses_.remove_dead(graph_, freed, options_.dead_constants);
    for (const NodeId id : made)
      if (graph_.alive(id)) OCTET_TRY(exact_ ? infer_agreeing(graph_, id) : infer_node(graph_, id));
    renew_types(patch.narrowed());
    if (options_.verify == VerifyAfter::kSteps) OCTET_TRY(verify(graph_));
    steps_.push_back(std::move(step));
    if (options_.log) options_.log(steps_.back());
    if (static_cast<int64_t>(steps_.size()) > limit_)
      return error(ErrorCode::kInternal, "does not converge: {} patches and no end", limit_);
    return ok_status();
  }

  /// Forgets and infers the types of what reads these values, as far as they change.
  void renew_types(std::vector<ValueId> work) {
    while (!work.empty()) {
      const ValueId at = work.back();
      work.pop_back();
      for (const Uses::Use& use : uses_.of(at))
        for (const ValueId out : graph_.node(use.node).outputs) {
          if (!out.valid()) continue;
          const TypeInfo old = graph_.value(out).type;
          graph_.set_type(out, {});
          const bool inferred = infer_node(graph_, use.node).ok() && graph_.value(out).type.shape;
          if (!inferred) graph_.set_type(out, old);
          if (inferred && graph_.value(out).type.text() != old.text()) work.push_back(out);
        }
    }
  }

  Graph& graph_;
  const RewriteOptions& options_;
  LiveUses uses_;
  KnownElements elements_;
  /// All types follow from operators: what a patch makes must have the same. Where a file alone
  /// says a size, a patch may show that it is another.
  bool exact_ = false;
  std::vector<NodeId> order_;
  bool order_is_current_ = false;
  int64_t limit_ = 0;
  std::vector<Step> steps_;
};

} // namespace

Result<std::vector<Step>>
rewrite(Graph& graph, std::span<const BoundRule> rules, const RewriteOptions& options) {
  return Driver(graph, options).run(rules);
}

Result<std::vector<Step>>
rewrite(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options) {
  std::vector<BoundRule> bound;
  bound.reserve(rules.size());
  for (const Rule& rule : rules)
    bound.push_back({rule.name, rule.apply});
  return rewrite(graph, bound, options);
}

} // namespace octet
