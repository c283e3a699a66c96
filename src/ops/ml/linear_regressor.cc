// SPDX-License-Identifier: Apache-2.0
// LinearRegressor (ai.onnx.ml 1). x: [N, F]; y: [N, targets]: x coefficients^T + intercepts with
// coefficients [targets, F], then post_transform.
#include "core/format.h"
#include "ops/ml/row_model.h"

namespace octet::ml::op_LinearRegressor {
namespace {

struct Attrs {
  int64_t targets = 1;
  PostTransform transform = PostTransform::kNone;
  std::vector<float> weights, intercepts;
};

Result<Attrs> parse(const Node& node) {
  Attrs a{.targets = node.attr_int("targets", 1),
          .transform = OCTET_TRY(post_transform_of(node)),
          .weights = node.attr_floats("coefficients"),
          .intercepts = node.attr_floats("intercepts")};
  const auto count = static_cast<int64_t>(a.weights.size());
  if (a.targets < 1 || count == 0 || count % a.targets != 0)
    return error("{} coefficients for {} targets; give as many for each", count, a.targets);
  if (!a.intercepts.empty() && static_cast<int64_t>(a.intercepts.size()) != a.targets)
    return error("{} intercepts for {} targets; give one for each or none", a.intercepts.size(),
                 a.targets);
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_features(ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  if (x.has_rank())
    OCTET_TRY(merge_dims(x.shape->back(), Dim(static_cast<int64_t>(a.weights.size()) / a.targets),
                         "features and coefficients of a target"));
  return one(DType::kFloat32, std::vector<Dim>{row_count(ctx), Dim(a.targets)});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return run_rows(infer, ctx);
}

} // namespace

Result<RowModel> model(const Node& node) {
  const Attrs a = OCTET_TRY(parse(node));
  const auto targets = static_cast<size_t>(a.targets);
  RowModel out{.width = targets,
               .columns = a.weights.size() / targets,
               .ns = static_cast<double>(a.weights.size())};
  out.row = [a](const RowView& row, std::span<double> scores, std::span<Score>) {
    linear_scores(row, a.weights, a.intercepts, scores);
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

} // namespace octet::ml::op_LinearRegressor
