// SPDX-License-Identifier: Apache-2.0
// SVMRegressor (ai.onnx.ml 1). x: [N, F]; y: [N, 1]: the sum of coefficient times kernel over the
// support vectors, plus rho; without support vectors coefficients . x + rho. one_class: 1 above 0,
// else -1. post_transform does nothing, as in ONNX Runtime.
#include <algorithm>

#include "core/format.h"
#include "ops/ml/svm.h"

namespace octet::ml::op_SVMRegressor {
namespace {

struct Attrs {
  SvmKernel kernel;
  std::vector<double> weights, vectors;
  double rho = 0;
  size_t supports = 0, columns = 0;
  bool one_class = false;
};

Result<Attrs> parse(const Node& node) {
  OCTET_TRY(post_transform_of(node));
  Attrs a{.kernel = OCTET_TRY(svm_kernel_of(node)),
          .weights = doubles_of(node, "coefficients"),
          .vectors = doubles_of(node, "support_vectors"),
          .one_class = node.attr_int("one_class", 0) != 0};
  const auto rho = doubles_of(node, "rho");
  if (rho.empty()) return Error("rho is empty; give one number");
  a.rho = rho[0];
  const int64_t supports = node.attr_int("n_supports", 0);
  if (supports < 0) return error("n_supports is {}", supports);
  a.supports = static_cast<size_t>(supports);
  a.columns = a.weights.size();
  if (supports == 0) return a;
  if (a.weights.size() != a.supports || a.vectors.empty() || a.vectors.size() % a.supports != 0)
    return error("{} coefficients and {} numbers of support vectors for {}; give one and as many "
                 "for each",
                 a.weights.size(), a.vectors.size(), a.supports);
  a.columns = a.vectors.size() / a.supports;
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_features(ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  if (x.has_rank())
    OCTET_TRY(merge_dims(x.shape->back(), Dim(static_cast<int64_t>(a.columns)),
                         "features and elements of a vector"));
  return one(DType::kFloat32, std::vector<Dim>{row_count(ctx), Dim(1)});
}

double score(const Attrs& a, std::span<const double> row) {
  double sum = a.rho;
  if (a.supports == 0) sum += SvmKernel{}(row, a.weights);
  for (size_t i = 0; i < a.supports; ++i)
    sum += a.weights[i] * a.kernel(row, std::span(a.vectors).subspan(i * a.columns, a.columns));
  if (a.one_class) return sum > 0 ? 1 : -1;
  return sum;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return run_rows(infer, ctx);
}

} // namespace

Result<RowModel> model(const Node& node) {
  const Attrs a = OCTET_TRY(parse(node));
  RowModel out{.width = 1,
               .columns = a.columns,
               .ns = static_cast<double>(std::max(a.vectors.size(), a.weights.size()))};
  out.row = [a](const RowView& row, std::span<double> scores, std::span<Score>) {
    scores[0] = score(a, doubles_of(row));
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

} // namespace octet::ml::op_SVMRegressor
