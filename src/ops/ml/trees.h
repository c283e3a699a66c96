// SPDX-License-Identifier: Apache-2.0
// Ensembles of decision trees, as TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble
// (ai.onnx.ml) hold them in attributes.
#pragma once

#include "ops/ml/row_model.h"

namespace octet::ml {

enum class Branch : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };

/// A node by its number, or a leaf by ~ of its.
using TreeLink = int32_t;
inline constexpr size_t kMostNodes = (size_t{1} << 31) - 1; ///< of an ensemble, with its leaves
inline constexpr int64_t kMostFeatures = (int64_t{1} << 31) - 2; ///< of a row

struct TreeNode {
  double split = 0;
  int32_t feature = 0;
  TreeLink yes = 0, no = 0;
  int32_t set = 0; ///< of kMember, in Trees::sets
  Branch mode = Branch::kLeq;
  bool missing = false; ///< a NaN goes the way of `yes`
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
  std::vector<std::vector<double>> sets;
  std::vector<Vote> votes;
  std::vector<size_t> begins; ///< of the votes of each leaf, and behind them all
  bool plain = true;          ///< every node is kLeq, and a NaN goes the way of `no`
};

/// The trees of nodes_*, and votes of `prefix`_treeids, _nodeids, _ids and _weights, of which each
/// is for one of `targets`. Errors: lists of different lengths, nodes that are not there or twice,
/// a tree that is none, a feature or a target that is negative or beyond.
Result<Trees> trees_of(const Node& node, const std::string& prefix, int64_t targets);
/// Fills in `plain`. Errors: a tree with a cycle.
Status finish_trees(Trees& trees);

/// A model without its row(): `targets` votes, and as many scores.
RowModel model_of(const Trees& trees, int64_t targets);
/// The votes of a row for each target.
void score_row(const Trees& trees, const RowView& row, Aggregate aggregate, std::span<Score> out);
/// The same as scores.
void score_row(const Trees& trees,
               const RowView& row,
               Aggregate aggregate,
               std::span<Score> votes,
               std::span<double> scores);

} // namespace octet::ml
