// SPDX-License-Identifier: Apache-2.0
// FeatureVectorizer (ai.onnx.ml 1). The columns of all inputs ([N, C] or [C] as one row) side by
// side in f32; input i takes the width inputdimensions[i]: what it has more is cut off, what it
// lacks is 0.
#include <algorithm>

#include "core/format.h"
#include "ops/ml/scores.h"

namespace octet::ml::op_FeatureVectorizer {
namespace {

constexpr int64_t kMost = int64_t{1} << 28;

/// Width of each input.
Result<std::vector<int64_t>> widths(const Node& node, size_t inputs) {
  auto out = node.attr_ints("inputdimensions");
  int64_t total = 0;
  for (const int64_t width : out) {
    if (width < 0 || width > kMost) return error("inputdimensions holds {}", width);
    total += width;
    if (total > kMost) return error("inputdimensions add up to more than {}", kMost);
  }
  if (out.size() != inputs)
    return error("{} inputdimensions for {} inputs; give one for each", out.size(), inputs);
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  const auto each = OCTET_TRY(widths(ctx.node, ctx.inputs.size()));
  if (each.empty()) return Error("no input is given; give at least one");
  Dim rows = Dim::unknown();
  int64_t total = 0;
  for (size_t i = 0; i < each.size(); ++i) {
    OCTET_TRY(check_input(ctx, i, kFeatureTypes));
    OCTET_TRY(check_rank(ctx, i, 1, 2));
    total += each[i];
    const TypeInfo& x = ctx.input(i).type;
    if (x.has_rank())
      rows = OCTET_TRY(merge_dims(rows, x.rank() == 1 ? Dim(1) : (*x.shape)[0], "rows of inputs"));
  }
  return one(DType::kFloat32, std::vector<Dim>{rows, Dim(total)});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto each = OCTET_TRY(widths(ctx.node, ctx.inputs.size()));
  std::vector<double> y(static_cast<size_t>(product(shape)));
  int64_t begin = 0;
  for (size_t i = 0; i < each.size(); ++i) {
    const Features x = OCTET_TRY(features_of(ctx.inputs[i]));
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t c = 0; c < std::min(each[i], x.columns); ++c)
        y[static_cast<size_t>(r * shape[1] + begin + c)] =
            x.values[static_cast<size_t>(r * x.columns + c)];
    begin += each[i];
  }
  return one(OCTET_TRY(rounded(DType::kFloat32, shape, y)));
}

} // namespace

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

} // namespace octet::ml::op_FeatureVectorizer
