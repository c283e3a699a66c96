// SPDX-License-Identifier: Apache-2.0
// Ensembles of decision trees, as TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble
// (ai.onnx.ml) hold them in attributes.
#pragma once

#include "ops/ml/scores.h"

namespace octet::ml {

enum class Branch : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };

/// A node, or with `leaf` set a leaf, by its number.
struct TreeLink {
  int64_t index = 0;
  bool leaf = false;
};
struct TreeNode {
  Branch mode = Branch::kLeq;
  int64_t feature = 0;
  double split = 0;
  bool missing = false; ///< a NaN goes the way of `yes`
  TreeLink yes, no;
  size_t members_begin = 0, members_end = 0; ///< of kMember, in Trees::members
};
/// A weight that a leaf gives to a target (of a regressor) or to a class.
struct Vote {
  int64_t target = 0;
  double weight = 0;
};
enum class Aggregate { kAverage, kSum, kMin, kMax };

struct Trees {
  std::vector<TreeNode> nodes;
  std::vector<TreeLink> roots;
  std::vector<std::vector<Vote>> votes; ///< by leaf
  std::vector<double> members;
};

/// The trees of nodes_*, and votes of `prefix`_treeids, _nodeids, _ids and _weights, of which each
/// is for one of `targets`. Errors: lists of different lengths, nodes that are not there or twice,
/// a tree that is none, a feature or a target that is negative or beyond.
Result<Trees> trees_of(const Node& node, const std::string& prefix, int64_t targets);
/// Each feature that a node asks for is one of `columns`.
Status check_columns(const Trees& trees, int64_t columns);

struct Score {
  double value = 0;
  bool given = false; ///< a leaf voted
};
/// By target. Errors: a tree with a cycle.
Result<std::vector<Score>>
score_row(const Trees& trees, std::span<const double> row, int64_t targets, Aggregate aggregate);

} // namespace octet::ml
