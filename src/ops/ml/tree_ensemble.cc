// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble (ai.onnx.ml 5). x: [N, F]; y: [N, n_targets]: the sum, mean, least or largest of the
// weights of the leaves, then post_transform. Inner nodes and leaves are lists of their own; a node
// of mode 6 goes the true way for the values of its set, which stand in membership_values, sets
// behind one another in the order of their nodes with a NaN behind each.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/format.h"
#include "ops/ml/trees.h"

namespace octet::ml::op_TreeEnsemble {
namespace {

constexpr int64_t kMostTargets = int64_t{1} << 20;
constexpr int64_t kMember = 6;

struct Attrs {
  int64_t targets = 0;
  Aggregate aggregate = Aggregate::kSum;
  PostTransform transform = PostTransform::kNone;
};

Result<Attrs> parse(const Node& node) {
  const int64_t aggregate = node.attr_int("aggregate_function", 1),
                transform = node.attr_int("post_transform", 0);
  if (aggregate < 0 || aggregate > 3)
    return error("aggregate_function is {}; use 0 to 3", aggregate);
  if (transform < 0 || transform > 4) return error("post_transform is {}; use 0 to 4", transform);
  const Attrs a{.targets = node.attr_int("n_targets", 0),
                .aggregate = static_cast<Aggregate>(aggregate),
                .transform = static_cast<PostTransform>(transform)};
  if (a.targets < 1 || a.targets > kMostTargets)
    return error("n_targets is {}; give a number up to {}", a.targets, kMostTargets);
  return a;
}

Result<std::vector<double>> tensor_numbers(const Node& node, const char* attribute) {
  const Attribute* a = node.attr(attribute);
  const auto* t = a == nullptr ? nullptr : std::get_if<Tensor>(&a->value);
  return t == nullptr ? std::vector<double>() : t->to_doubles();
}

struct Lists {
  std::vector<int64_t> roots, features, yes, no, yes_leaf, no_leaf, missing, targets;
  std::vector<double> modes, splits, weights;
};

Result<Lists> lists_of(const Node& node) {
  Lists out{.roots = node.attr_ints("tree_roots"),
            .features = node.attr_ints("nodes_featureids"),
            .yes = node.attr_ints("nodes_truenodeids"),
            .no = node.attr_ints("nodes_falsenodeids"),
            .yes_leaf = node.attr_ints("nodes_trueleafs"),
            .no_leaf = node.attr_ints("nodes_falseleafs"),
            .missing = node.attr_ints("nodes_missing_value_tracks_true"),
            .targets = node.attr_ints("leaf_targetids"),
            .modes = OCTET_TRY(tensor_numbers(node, "nodes_modes")),
            .splits = OCTET_TRY(tensor_numbers(node, "nodes_splits")),
            .weights = OCTET_TRY(tensor_numbers(node, "leaf_weights"))};
  const size_t count = out.features.size();
  if (out.missing.empty()) out.missing.resize(count);
  for (const size_t length :
       {out.yes.size(), out.no.size(), out.yes_leaf.size(), out.no_leaf.size(), out.missing.size(),
        out.modes.size(), out.splits.size()})
    if (length != count)
      return error("a list of nodes_* has {} elements and nodes_featureids {}; give one for each",
                   length, count);
  if (out.targets.size() != out.weights.size())
    return error("{} leaf_targetids and {} leaf_weights; give one for each leaf",
                 out.targets.size(), out.weights.size());
  return out;
}

/// The next set of membership_values.
std::vector<double> take_set(std::span<const double> all, size_t& at) {
  std::vector<double> out;
  while (at < all.size() && !std::isnan(all[at]))
    out.push_back(all[at++]);
  if (at < all.size()) ++at;
  return out;
}

Result<TreeLink> link_to(size_t node, int64_t index, bool leaf, const Lists& lists) {
  const size_t count = leaf ? lists.targets.size() : lists.features.size();
  if (index < 0 || std::cmp_greater_equal(index, count))
    return error("node {} leads to {} {}, which is not there", node, leaf ? "leaf" : "node", index);
  const auto link = static_cast<TreeLink>(index);
  return leaf ? ~link : link;
}

Status read_nodes(const Node& node, const Lists& lists, Trees& out) {
  const auto members = OCTET_TRY(tensor_numbers(node, "membership_values"));
  size_t member = 0;
  for (size_t i = 0; i < lists.features.size(); ++i) {
    const auto mode = static_cast<int64_t>(lists.modes[i]);
    if (mode < 0 || mode > kMember) return error("nodes_modes holds {}; use 0 to 6", mode);
    if (lists.features[i] < 0 || lists.features[i] > kMostFeatures)
      return error("nodes_featureids holds {}; use 0 to {}", lists.features[i], kMostFeatures);
    TreeNode made{.split = lists.splits[i],
                  .feature = static_cast<int32_t>(lists.features[i]),
                  .yes = OCTET_TRY(link_to(i, lists.yes[i], lists.yes_leaf[i] != 0, lists)),
                  .no = OCTET_TRY(link_to(i, lists.no[i], lists.no_leaf[i] != 0, lists)),
                  .mode = static_cast<Branch>(mode),
                  .missing = lists.missing[i] != 0};
    if (mode == kMember) {
      made.set = static_cast<int32_t>(out.sets.size());
      out.sets.push_back(take_set(members, member));
    }
    out.nodes.push_back(made);
  }
  return ok_status();
}

Result<Trees> trees(const Node& node, const Attrs& a) {
  const Lists lists = OCTET_TRY(lists_of(node));
  if (std::max(lists.features.size(), lists.targets.size()) > kMostNodes)
    return error("{} nodes and {} leaves; up to {} are read", lists.features.size(),
                 lists.targets.size(), kMostNodes);
  Trees out;
  OCTET_TRY(read_nodes(node, lists, out));
  for (const int64_t root : lists.roots) {
    if (root < 0 || std::cmp_greater_equal(root, out.nodes.size()))
      return error("tree_roots holds {}; there are {} nodes", root, out.nodes.size());
    out.roots.push_back(static_cast<TreeLink>(root));
  }
  out.begins = {0};
  for (size_t i = 0; i < lists.targets.size(); ++i) {
    if (lists.targets[i] < 0 || lists.targets[i] >= a.targets)
      return error("leaf_targetids holds {}; there are {} targets", lists.targets[i], a.targets);
    out.votes.push_back({lists.targets[i], lists.weights[i]});
    out.begins.push_back(out.votes.size());
  }
  OCTET_TRY(finish_trees(out));
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, TypeSet{DType::kFloat16, DType::kFloat32, DType::kFloat64}));
  OCTET_TRY(check_rank(ctx, 0, 1, 2));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  return one(ctx.input(0).type.type, std::vector<Dim>{row_count(ctx), Dim(a.targets)});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return run_rows(infer, ctx);
}

} // namespace

Result<RowModel> model(const Node& node) {
  const Attrs a = OCTET_TRY(parse(node));
  const Trees made = OCTET_TRY(trees(node, a));
  RowModel out = model_of(made, a.targets);
  out.row = [a, made](const RowView& row, std::span<double> scores, std::span<Score> votes) {
    score_row(made, row, a.aggregate, votes, scores);
    transform_scores(scores, a.transform);
    return size_t{0};
  };
  return out;
}

extern const OpFacets facets = {
    .since = 5,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_TreeEnsemble
