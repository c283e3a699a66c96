// SPDX-License-Identifier: Apache-2.0
// Normalizer (ai.onnx.ml 1). Each row of x: [N, C] or [C] in f32, divided by its largest element
// (MAX), the sum of its magnitudes (L1) or the root of the sum of its squares (L2); a row for which
// that is 0 stays.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "ops/ml/scores.h"

namespace octet::ml::op_Normalizer {
namespace {

enum class Norm { kMax, kL1, kL2 };

Result<Norm> parse(const Node& node) {
  const std::string text = node.attr_string("norm", "MAX");
  if (text == "MAX") return Norm::kMax;
  if (text == "L1") return Norm::kL1;
  if (text == "L2") return Norm::kL2;
  return error("norm is \"{}\"; use MAX, L1 or L2", text);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_features(ctx));
  OCTET_TRY(parse(ctx.node));
  TypeInfo y = ctx.input(0).type;
  y.type = DType::kFloat32;
  return one(y);
}

double divisor(std::span<const double> row, Norm norm) {
  if (norm == Norm::kMax) {
    // As ONNX Runtime compares: NaN is never larger.
    double largest = std::numeric_limits<float>::lowest();
    for (const double v : row)
      largest = std::max(largest, v);
    return largest;
  }
  double sum = 0;
  for (const double v : row)
    sum += norm == Norm::kL1 ? std::fabs(v) : v * v;
  return norm == Norm::kL1 ? sum : std::sqrt(sum);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Norm norm = OCTET_TRY(parse(ctx.node));
  Features x = OCTET_TRY(features_of(ctx.inputs[0]));
  const auto columns = static_cast<size_t>(x.columns);
  for (size_t at = 0; at < x.values.size(); at += columns) {
    const auto row = std::span(x.values).subspan(at, columns);
    const double by = divisor(row, norm);
    for (double& v : row)
      if (by != 0) v /= by;
  }
  return one(OCTET_TRY(rounded(DType::kFloat32, shape, x.values)));
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

} // namespace octet::ml::op_Normalizer
