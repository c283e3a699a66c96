// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleClassifier (ai.onnx.ml 1 to 3). x: [N, F]; outputs [N] labels and [N, classes]
// scores: sums of what the leaves vote for each class, plus base_values, then post_transform. The
// label is that of the largest score of a class with votes. Of two classes whose votes all name
// one, the score s is that of the second: it wins above 0.5, and the scores are 1 - s and s, where
// no weight is negative; else it wins above 0 and they are -s and s.
#include <algorithm>
#include <set>
#include <tuple>

#include "core/format.h"
#include "ops/ml/trees.h"

namespace octet::ml::op_TreeEnsembleClassifier {
namespace {

struct Attrs {
  Labels labels;
  PostTransform transform = PostTransform::kNone;
  std::vector<double> base;
  bool one_score = false; ///< two classes, and votes for one of them
  OneScore kind = OneScore::kMargin;
};

Result<Attrs> parse(const Node& node) {
  Attrs a{.labels = OCTET_TRY(labels_of(node, "classlabels_int64s", "classlabels_strings")),
          .transform = OCTET_TRY(post_transform_of(node)),
          .base = OCTET_TRY(numbers_of(node, "base_values"))};
  const auto ids = node.attr_ints("class_ids");
  const auto weights = OCTET_TRY(numbers_of(node, "class_weights"));
  a.one_score = a.labels.size() == 2 && std::set<int64_t>(ids.begin(), ids.end()).size() == 1;
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; }))
    a.kind = OneScore::kProbability;
  const bool fits = a.base.empty() || a.base.size() == a.labels.size() ||
                    (a.labels.size() == 2 && a.base.size() == 1);
  if (!fits)
    return error("{} base_values for {} classes; give one for each or none", a.base.size(),
                 a.labels.size());
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_features(ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  return classes_and_scores(ctx, a.labels, a.labels.size());
}

/// Two classes: the scores, and which wins.
size_t finish_pair(const Attrs& a, std::span<const Score> votes, std::span<double> scores) {
  scores[0] = votes[0].value;
  scores[1] = votes[1].value;
  const bool second = votes[1].given;
  const bool single = !second && a.base.size() < 2;
  if (a.base.size() == 1) scores[0] += a.base[0];
  if (a.base.size() == 2) {
    scores[0] += second ? a.base[1] : a.base[0];
    if (second) { // the votes for the first one count for both
      scores[1] = scores[0];
      scores[0] = -scores[1];
    }
  }
  if (!votes[0].given) scores[0] = 0;
  const double one = second ? scores[1] : scores[0];
  const bool wins = one > (a.kind == OneScore::kProbability ? 0.5 : 0);
  if (single) {
    std::tie(scores[0], scores[1]) = both_scores(one, a.kind, a.transform);
    return wins ? 1 : 0;
  }
  const size_t top = a.one_score ? (wins ? 1 : 0) : largest(scores);
  transform_scores(scores, a.transform);
  return top;
}

size_t finish(const Attrs& a, std::span<const Score> votes, std::span<double> scores) {
  if (votes.size() == 2) return finish_pair(a, votes, scores);
  size_t top = 0;
  bool any = false;
  for (size_t c = 0; c < votes.size(); ++c) {
    scores[c] = votes[c].value + (a.base.empty() ? 0 : a.base[c]);
    const bool counts = votes[c].given || !a.base.empty();
    if (counts && (!any || scores[c] > scores[top])) top = c;
    any = any || counts;
  }
  transform_scores(scores, a.transform);
  return top;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return run_rows(infer, ctx);
}

} // namespace

Result<RowModel> model(const Node& node) {
  const Attrs a = OCTET_TRY(parse(node));
  const auto classes = static_cast<int64_t>(a.labels.size());
  const Trees trees = OCTET_TRY(trees_of(node, "class", classes));
  RowModel out = model_of(trees, classes);
  out.labels = a.labels;
  out.row = [a, trees](const RowView& row, std::span<double> scores, std::span<Score> votes) {
    score_row(trees, row, Aggregate::kSum, votes);
    return finish(a, votes, scores);
  };
  return out;
}

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.optional_outputs = 0b10},
};

} // namespace octet::ml::op_TreeEnsembleClassifier
