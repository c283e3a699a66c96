// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleRegressor (ai.onnx.ml 1 to 3). x: [N, F]; y: [N, n_targets]: the sum, mean, least or
// largest of what the leaves vote, plus base_values, then post_transform.
#include "core/format.h"
#include "ops/ml/trees.h"

namespace octet::ml::op_TreeEnsembleRegressor {
namespace {

constexpr int64_t kMostTargets = int64_t{1} << 20;

struct Attrs {
  int64_t targets = 0;
  Aggregate aggregate = Aggregate::kSum;
  PostTransform transform = PostTransform::kNone;
  std::vector<double> base;
};

Result<Aggregate> aggregate_of(const Node& node) {
  const std::string text = node.attr_string("aggregate_function", "SUM");
  if (text == "SUM") return Aggregate::kSum;
  if (text == "AVERAGE") return Aggregate::kAverage;
  if (text == "MIN") return Aggregate::kMin;
  if (text == "MAX") return Aggregate::kMax;
  return error("aggregate_function is \"{}\"; use SUM, AVERAGE, MIN or MAX", text);
}

Result<Attrs> parse(const Node& node) {
  Attrs a{.targets = node.attr_int("n_targets", 0),
          .aggregate = OCTET_TRY(aggregate_of(node)),
          .transform = OCTET_TRY(post_transform_of(node)),
          .base = OCTET_TRY(numbers_of(node, "base_values"))};
  if (a.targets < 1 || a.targets > kMostTargets)
    return error("n_targets is {}; give a number up to {}", a.targets, kMostTargets);
  if (!a.base.empty() && a.base.size() != static_cast<size_t>(a.targets))
    return error("{} base_values for {} targets; give one for each or none", a.base.size(),
                 a.targets);
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_features(ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  return one(DType::kFloat32, std::vector<Dim>{row_count(ctx), Dim(a.targets)});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return run_rows(infer, ctx);
}

} // namespace

Result<RowModel> model(const Node& node) {
  const Attrs a = OCTET_TRY(parse(node));
  const Trees trees = OCTET_TRY(trees_of(node, "target", a.targets));
  RowModel out = model_of(trees, a.targets);
  out.row = [a, trees](const RowView& row, std::span<double> scores, std::span<Score> votes) {
    score_row(trees, row, a.aggregate, votes, scores);
    for (size_t t = 0; t < a.base.size(); ++t)
      scores[t] += a.base[t];
    transform_scores(scores, a.transform);
    return size_t{0};
  };
  return out;
}

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_TreeEnsembleRegressor
