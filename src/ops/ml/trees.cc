// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/trees.h"

#include <algorithm>
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

/// The number of the leaf that a link leads to.
size_t leaf_of(TreeLink link) {
  return static_cast<size_t>(-(int64_t{link} + 1));
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
  const auto& set = trees.sets[static_cast<size_t>(node.set)];
  return std::find(set.begin(), set.end(), x) != set.end();
}

void give(const Trees& trees, size_t leaf, Aggregate aggregate, std::span<Score> out) {
  const bool adds = aggregate == Aggregate::kSum || aggregate == Aggregate::kAverage;
  for (size_t v = trees.begins[leaf]; v < trees.begins[leaf + 1]; ++v) {
    const Vote& vote = trees.votes[v];
    Score& score = out[static_cast<size_t>(vote.target)];
    if (adds || !score.given)
      score.value += vote.weight;
    else if (aggregate == Aggregate::kMin ? vote.weight < score.value : vote.weight > score.value)
      score.value = vote.weight;
    score.given = true;
  }
}

/// A row whose elements all have the type T.
template <class T>
struct Elements {
  const std::byte* data;
  double operator[](size_t i) const { return static_cast<double>(element<T>(data, i)); }
};

template <class Row>
void walk(const Trees& trees, const Row& row, Aggregate aggregate, std::span<Score> out) {
  for (TreeLink at : trees.roots) {
    while (at >= 0) {
      const TreeNode& node = trees.nodes[static_cast<size_t>(at)];
      const double x = row[static_cast<size_t>(node.feature)];
      at = (trees.plain ? x <= node.split : goes_yes(trees, node, x)) ? node.yes : node.no;
    }
    give(trees, leaf_of(at), aggregate, out);
  }
}

/// The votes of the attributes that begin with `prefix`.
Status read_votes(const Node& node,
                  const std::string& prefix,
                  int64_t targets,
                  const std::map<Key, TreeLink>& places,
                  std::vector<std::vector<Vote>>& votes) {
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
    if (at->second < 0) votes[leaf_of(at->second)].push_back({ids[i], weights[i]});
  }
  return ok_status();
}

/// Whether a node lies below itself.
bool has_cycle(const Trees& trees) {
  enum class Seen : uint8_t { kNever, kAbove, kDone };
  std::vector<Seen> seen(trees.nodes.size());
  std::vector<TreeLink> path;
  const auto enter = [&](TreeLink link) {
    if (link < 0 || seen[static_cast<size_t>(link)] == Seen::kDone) return false;
    if (seen[static_cast<size_t>(link)] == Seen::kAbove) return true;
    seen[static_cast<size_t>(link)] = Seen::kAbove;
    path.push_back(link);
    return false;
  };
  for (const TreeLink root : trees.roots) {
    enter(root);
    while (!path.empty()) {
      const TreeLink at = path.back();
      const size_t depth = path.size();
      const TreeNode& node = trees.nodes[static_cast<size_t>(at)];
      for (const TreeLink link : {node.yes, node.no}) {
        if (path.size() > depth) break; // the one first
        if (enter(link)) return true;
      }
      if (path.size() > depth) continue;
      seen[static_cast<size_t>(at)] = Seen::kDone;
      path.pop_back();
    }
  }
  return false;
}

} // namespace

Status finish_trees(Trees& trees) {
  trees.plain = std::all_of(trees.nodes.begin(), trees.nodes.end(),
                            [](const TreeNode& n) { return n.mode == Branch::kLeq && !n.missing; });
  if (has_cycle(trees)) return Error("a tree leads back to one of its nodes");
  return ok_status();
}

Result<Trees> trees_of(const Node& node, const std::string& prefix, int64_t targets) {
  const Lists lists = OCTET_TRY(lists_of(node));
  if (lists.size() > kMostNodes)
    return error("{} nodes; up to {} are read", lists.size(), kMostNodes);
  Trees out;
  std::map<Key, TreeLink> places;
  TreeLink inner = 0, leaves = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    const Key key{lists.trees[i], lists.ids[i]};
    const TreeLink link = lists.modes[i] == "LEAF" ? ~leaves++ : inner++;
    if (!places.emplace(key, link).second)
      return error("node {} of tree {} is there twice", key.second, key.first);
  }
  std::map<Key, bool> is_child;
  for (size_t i = 0; i < lists.size(); ++i) {
    if (lists.modes[i] == "LEAF") continue;
    if (lists.features[i] < 0 || lists.features[i] > kMostFeatures)
      return error("nodes_featureids holds {}; use 0 to {}", lists.features[i], kMostFeatures);
    TreeNode made{.split = lists.values[i],
                  .feature = static_cast<int32_t>(lists.features[i]),
                  .mode = OCTET_TRY(branch_of(lists.modes[i])),
                  .missing = lists.missing[i] != 0};
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
  std::vector<std::vector<Vote>> votes(static_cast<size_t>(leaves));
  OCTET_TRY(read_votes(node, prefix, targets, places, votes));
  out.begins = {0};
  for (const auto& of_leaf : votes) {
    out.votes.insert(out.votes.end(), of_leaf.begin(), of_leaf.end());
    out.begins.push_back(out.votes.size());
  }
  OCTET_TRY(finish_trees(out));
  return out;
}

RowModel model_of(const Trees& trees, int64_t targets) {
  constexpr double kTreeNs = 30;
  int32_t last = -1;
  for (const TreeNode& node : trees.nodes)
    last = std::max(last, node.feature);
  return {.width = static_cast<size_t>(targets),
          .votes = static_cast<size_t>(targets),
          .columns = static_cast<size_t>(last + 1),
          .ns = kTreeNs * static_cast<double>(trees.roots.size()) + static_cast<double>(targets)};
}

void score_row(const Trees& trees, const RowView& row, Aggregate aggregate, std::span<Score> out) {
  std::fill(out.begin(), out.end(), Score{});
  switch (row.type()) {
  case DType::kFloat32:
    walk(trees, Elements<float>{row.data()}, aggregate, out);
    break;
  case DType::kFloat64:
    walk(trees, Elements<double>{row.data()}, aggregate, out);
    break;
  default:
    walk(trees, row, aggregate, out);
  }
  if (aggregate == Aggregate::kAverage)
    for (Score& score : out)
      score.value /= static_cast<double>(std::max<size_t>(trees.roots.size(), 1));
}

void score_row(const Trees& trees,
               const RowView& row,
               Aggregate aggregate,
               std::span<Score> votes,
               std::span<double> scores) {
  score_row(trees, row, aggregate, votes);
  std::transform(votes.begin(), votes.end(), scores.begin(),
                 [](const Score& score) { return score.value; });
}

} // namespace octet::ml
