// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble (ai.onnx.ml 5). x: [N, F]; y: [N, n_targets]: the sum, mean, least or largest of the
// weights of the leaves, then post_transform. Inner nodes and leaves are lists of their own; a node
// of mode 6 goes the true way for the values of its set, which stand in membership_values, sets
// behind one another in the order of their nodes with a NaN behind each.
#include <cmath>

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
void take_set(Trees& trees, TreeNode& node, std::span<const double> all, size_t& at) {
  node.members_begin = trees.members.size();
  while (at < all.size() && !std::isnan(all[at]))
    trees.members.push_back(all[at++]);
  if (at < all.size()) ++at;
  node.members_end = trees.members.size();
}

Result<Trees> trees(const Node& node, const Attrs& a) {
  const Lists lists = OCTET_TRY(lists_of(node));
  const auto members = OCTET_TRY(tensor_numbers(node, "membership_values"));
  const auto count = static_cast<int64_t>(lists.features.size()),
             leaves = static_cast<int64_t>(lists.targets.size());
  Trees out;
  size_t member = 0;
  for (size_t i = 0; i < lists.features.size(); ++i) {
    const auto mode = static_cast<int64_t>(lists.modes[i]);
    if (mode < 0 || mode > kMember) return error("nodes_modes holds {}; use 0 to 6", mode);
    TreeNode made{.mode = static_cast<Branch>(mode),
                  .feature = lists.features[i],
                  .split = lists.splits[i],
                  .missing = lists.missing[i] != 0,
                  .yes = {lists.yes[i], lists.yes_leaf[i] != 0},
                  .no = {lists.no[i], lists.no_leaf[i] != 0}};
    for (const TreeLink& link : {made.yes, made.no})
      if (link.index < 0 || link.index >= (link.leaf ? leaves : count))
        return error("node {} leads to {} {}, which is not there", i, link.leaf ? "leaf" : "node",
                     link.index);
    if (made.feature < 0) return error("nodes_featureids holds {}", made.feature);
    if (mode == kMember) take_set(out, made, members, member);
    out.nodes.push_back(made);
  }
  for (const int64_t root : lists.roots) {
    if (root < 0 || root >= count)
      return error("tree_roots holds {}; there are {} nodes", root, count);
    out.roots.push_back({root, false});
  }
  for (size_t i = 0; i < lists.targets.size(); ++i) {
    if (lists.targets[i] < 0 || lists.targets[i] >= a.targets)
      return error("leaf_targetids holds {}; there are {} targets", lists.targets[i], a.targets);
    out.votes.push_back({{lists.targets[i], lists.weights[i]}});
  }
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
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  const Trees made = OCTET_TRY(trees(ctx.node, a));
  const Features x = OCTET_TRY(features_of(ctx.inputs[0]));
  OCTET_TRY(check_columns(made, x.columns));
  std::vector<double> y;
  for (int64_t r = 0; r < x.rows; ++r) {
    const auto scores = OCTET_TRY(score_row(made, x.row(r), a.targets, a.aggregate));
    for (const Score& score : scores)
      y.push_back(score.value);
    transform_scores(std::span(y).last(scores.size()), a.transform);
  }
  return one(OCTET_TRY(rounded(ctx.inputs[0].type(), shape, y)));
}

} // namespace

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
