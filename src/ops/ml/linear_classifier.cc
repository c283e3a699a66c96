// SPDX-License-Identifier: Apache-2.0
// LinearClassifier (ai.onnx.ml 1). x: [N, F]; scores: x coefficients^T + intercepts with
// coefficients [classes, F]; outputs [N] labels of the largest scores and [N, classes] scores after
// post_transform. One row of coefficients for two labels: the second label wins above 0, and the
// scores are 1 - s and s.
#include <tuple>

#include "core/format.h"
#include "ops/ml/row_model.h"

namespace octet::ml::op_LinearClassifier {
namespace {

struct Attrs {
  Labels labels;
  PostTransform transform = PostTransform::kNone;
  std::vector<float> weights, intercepts;

  size_t rows() const { return intercepts.empty() ? labels.size() : intercepts.size(); }
  bool one_score() const { return rows() == 1 && labels.size() == 2; }
};

Result<Attrs> parse(const Node& node) {
  Attrs a{.labels = OCTET_TRY(labels_of(node, "classlabels_ints", "classlabels_strings")),
          .transform = OCTET_TRY(post_transform_of(node)),
          .weights = node.attr_floats("coefficients"),
          .intercepts = node.attr_floats("intercepts")};
  if (a.rows() != a.labels.size() && !a.one_score())
    return error("{} intercepts for {} labels; give one for each", a.rows(), a.labels.size());
  if (a.weights.empty() || a.weights.size() % a.rows() != 0)
    return error("{} coefficients for {} scores; give as many for each", a.weights.size(),
                 a.rows());
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_features(ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  if (x.has_rank())
    OCTET_TRY(merge_dims(x.shape->back(), Dim(static_cast<int64_t>(a.weights.size() / a.rows())),
                         "features and coefficients of a score"));
  return classes_and_scores(ctx, a.labels, a.labels.size());
}

size_t finish(const Attrs& a, const RowView& row, std::span<double> scores) {
  linear_scores(row, a.weights, a.intercepts, scores.first(a.rows()));
  if (!a.one_score()) {
    const size_t top = largest(scores);
    transform_scores(scores, a.transform);
    return top;
  }
  const size_t top = scores[0] > 0 ? 1 : 0;
  std::tie(scores[0], scores[1]) = both_scores(scores[0], OneScore::kProbability, a.transform);
  return top;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return run_rows(infer, ctx);
}

} // namespace

Result<RowModel> model(const Node& node) {
  const Attrs a = OCTET_TRY(parse(node));
  RowModel out{.labels = a.labels,
               .width = a.labels.size(),
               .columns = a.weights.size() / a.rows(),
               .ns = static_cast<double>(a.weights.size())};
  out.row = [a](const RowView& row, std::span<double> scores, std::span<Score>) {
    return finish(a, row, scores);
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

} // namespace octet::ml::op_LinearClassifier
