// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/trees.h"

#include <cmath>
#include <map>

#include "core/format.h"

namespace octet::ml {
namespace {

/// A node's number in its tree.
using Key = std::pair<int64_t, int64_t>;

Result<Branch> branch_of(const std::string& mode) {
  static const std::map<std::string_view, Branch> modes = {
      {"BRANCH_LEQ", Branch::kLeq}, {"BRANCH_LT", Branch::kLt}, {"BRANCH_GTE", Branch::kGte},
      {"BRANCH_GT", Branch::kGt},   {"BRANCH_EQ", Branch::kEq}, {"BRANCH_NEQ", Branch::kNeq}};
  const auto found = modes.find(mode);
  if (found == modes.end()) return error("nodes_modes holds \"{}\", which is no mode", mode);
  return found->second;
}

/// The lists that describe nodes and leaves, all of one length.
struct Lists {
  std::vector<int64_t> trees, ids, features, yes, no, missing;
  std::vector<std::string> modes;
  std::vector<double> values;

  size_t size() const { return ids.size(); }
};

Result<Lists> lists_of(const Node& node) {
  Lists out{.trees = node.attr_ints("nodes_treeids"),
            .ids = node.attr_ints("nodes_nodeids"),
            .features = node.attr_ints("nodes_featureids"),
            .yes = node.attr_ints("nodes_truenodeids"),
            .no = node.attr_ints("nodes_falsenodeids"),
            .missing = node.attr_ints("nodes_missing_value_tracks_true"),
            .modes = strings_of(node, "nodes_modes"),
            .values = OCTET_TRY(numbers_of(node, "nodes_values"))};
  if (out.missing.empty()) out.missing.resize(out.size());
  for (const size_t length : {out.trees.size(), out.features.size(), out.yes.size(), out.no.size(),
                              out.missing.size(), out.modes.size(), out.values.size()})
    if (length != out.size())
      return error("a list of nodes_* has {} elements and nodes_nodeids {}; give one for each node",
                   length, out.size());
  return out;
}

bool goes_yes(const Trees& trees, const TreeNode& node, double x) {
  if (node.missing && std::isnan(x)) return true;
  switch (node.mode) {
  case Branch::kLeq:
    return x <= node.split;
  case Branch::kLt:
    return x < node.split;
  case Branch::kGte:
    return x >= node.split;
  case Branch::kGt:
    return x > node.split;
  case Branch::kEq:
    return x == node.split;
  case Branch::kNeq:
    return x != node.split;
  case Branch::kMember:
    break;
  }
  for (size_t i = node.members_begin; i < node.members_end; ++i)
    if (trees.members[i] == x) return true;
  return false;
}

/// The votes of the attributes that begin with `prefix`.
Status read_votes(const Node& node,
                  const std::string& prefix,
                  int64_t targets,
                  const std::map<Key, TreeLink>& places,
                  Trees& trees) {
  const auto of_trees = node.attr_ints(prefix + "_treeids"),
             nodes = node.attr_ints(prefix + "_nodeids"), ids = node.attr_ints(prefix + "_ids");
  const auto weights = OCTET_TRY(numbers_of(node, prefix + "_weights"));
  if (of_trees.size() != ids.size() || nodes.size() != ids.size() || weights.size() != ids.size())
    return error("lists of {}_* have {}, {}, {} and {} elements; give one for each vote", prefix,
                 of_trees.size(), nodes.size(), ids.size(), weights.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto at = places.find({of_trees[i], nodes[i]});
    if (at == places.end())
      return error("{}_* votes at node {} of tree {}, which is not there", prefix, nodes[i],
                   of_trees[i]);
    if (ids[i] < 0 || ids[i] >= targets)
      return error("{}_ids holds {}; there are {}", prefix, ids[i], targets);
    if (at->second.leaf)
      trees.votes[static_cast<size_t>(at->second.index)].push_back({ids[i], weights[i]});
  }
  return ok_status();
}

} // namespace

Result<Trees> trees_of(const Node& node, const std::string& prefix, int64_t targets) {
  const Lists lists = OCTET_TRY(lists_of(node));
  Trees out;
  std::map<Key, TreeLink> places;
  int64_t inner = 0, leaves = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    const bool leaf = lists.modes[i] == "LEAF";
    const Key key{lists.trees[i], lists.ids[i]};
    if (!places.emplace(key, TreeLink{leaf ? leaves++ : inner++, leaf}).second)
      return error("node {} of tree {} is there twice", key.second, key.first);
  }
  out.votes.resize(static_cast<size_t>(leaves));
  std::map<Key, bool> is_child;
  for (size_t i = 0; i < lists.size(); ++i) {
    if (lists.modes[i] == "LEAF") continue;
    TreeNode made{.mode = OCTET_TRY(branch_of(lists.modes[i])),
                  .feature = lists.features[i],
                  .split = lists.values[i],
                  .missing = lists.missing[i] != 0};
    if (made.feature < 0) return error("nodes_featureids holds {}", made.feature);
    for (const auto& [id, link] : {std::pair{lists.yes[i], &made.yes}, {lists.no[i], &made.no}}) {
      const auto at = places.find({lists.trees[i], id});
      if (at == places.end())
        return error("node {} of tree {} leads to node {}, which is not there", lists.ids[i],
                     lists.trees[i], id);
      *link = at->second;
      is_child[at->first] = true;
    }
    out.nodes.push_back(made);
  }
  std::map<int64_t, bool> rooted;
  for (size_t i = 0; i < lists.size(); ++i) {
    const Key key{lists.trees[i], lists.ids[i]};
    bool& done = rooted[key.first];
    if (is_child[key]) continue;
    if (done) return error("tree {} has two roots; node {} is one of them", key.first, key.second);
    done = true;
    out.roots.push_back(places[key]);
  }
  for (const auto& [tree, done] : rooted)
    if (!done) return error("tree {} has no root: every node is a child of another", tree);
  OCTET_TRY(read_votes(node, prefix, targets, places, out));
  return out;
}

Status check_columns(const Trees& trees, int64_t columns) {
  for (const TreeNode& node : trees.nodes)
    if (node.feature >= columns)
      return error("a node asks for feature {} of rows with {}", node.feature, columns);
  return ok_status();
}

Result<std::vector<Score>>
score_row(const Trees& trees, std::span<const double> row, int64_t targets, Aggregate aggregate) {
  std::vector<Score> out(static_cast<size_t>(targets));
  for (TreeLink at : trees.roots) {
    for (size_t steps = 0; !at.leaf; ++steps) {
      if (steps > trees.nodes.size()) return Error("a tree leads back to one of its nodes");
      const TreeNode& node = trees.nodes[static_cast<size_t>(at.index)];
      at = goes_yes(trees, node, row[static_cast<size_t>(node.feature)]) ? node.yes : node.no;
    }
    for (const Vote& vote : trees.votes[static_cast<size_t>(at.index)]) {
      Score& score = out[static_cast<size_t>(vote.target)];
      const bool adds = aggregate == Aggregate::kSum || aggregate == Aggregate::kAverage;
      if (adds || !score.given)
        score.value += vote.weight;
      else if (aggregate == Aggregate::kMin ? vote.weight < score.value : vote.weight > score.value)
        score.value = vote.weight;
      score.given = true;
    }
  }
  if (aggregate == Aggregate::kAverage)
    for (Score& score : out)
      score.value /= static_cast<double>(std::max<size_t>(trees.roots.size(), 1));
  return out;
}

} // namespace octet::ml
