// SPDX-License-Identifier: Apache-2.0
// The rewrite driver: runs rules over a graph to a fixed point, applies and logs their patches.
// What a patch costs does not grow with the graph: uses, types and dead nodes are followed locally,
// the whole graph is inferred once a round.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/patch.h"
#include "ops/infer.h"

#include "octet/passes.h"

namespace octet {

/// What rules may ask about the graph they look at.
struct RuleContext {
  const Graph& graph;
  const Uses& uses;
  /// What is known of small integer tensors that are no constants.
  const KnownElements& elements;
};

/// A pure function: no match is nullopt, and returning early is the way to say it.
using RuleFn = std::optional<Patch>(const RuleContext&, const Node&);

struct Rule {
  std::string_view name; ///< a verb: fold_batchnorm
  RuleFn* apply;
};

/// A rule that brings something along: what its patches cost, or what it was asked for.
struct BoundRule {
  std::string_view name;
  std::function<RuleFn> apply;
};

/// When the verifier looks at the whole graph.
enum class VerifyAfter { kSteps, kRounds };

/// Whether the types of the graph are inferred before the first round, or as good as they get.
enum class TypesBefore { kInferred, kAsTheyAre };

struct RewriteOptions {
  int max_steps = -1; ///< stop after so many patches (bisecting a miscompile); -1: no limit
  std::function<void(const Step&)> log; ///< may be empty
  TypesBefore types_before = TypesBefore::kInferred;
  /// Those without a use go with each patch, so that later ones find their names free, or at the
  /// end.
  DeadConstants dead_constants = DeadConstants::kStay;
  /// Called with each value that a patch has made, to give it another name; may be empty.
  std::function<void(Graph&, ValueId)> name_value;
#ifdef NDEBUG
  VerifyAfter verify = VerifyAfter::kRounds;
#else
  VerifyAfter verify = VerifyAfter::kSteps;
#endif
};

/// Runs the rules to a fixed point; types are inferred again around every patch. Errors: a rule
/// that breaks the graph (named with the step), or that does not converge within 20 patches a node.
Result<std::vector<Step>>
rewrite(Graph& graph, std::span<const Rule> rules, const RewriteOptions& options = {});
Result<std::vector<Step>>
rewrite(Graph& graph, std::span<const BoundRule> rules, const RewriteOptions& options);

} // namespace octet
