// SPDX-License-Identifier: Apache-2.0
// LayerNormalization (opset 17). Over the axes from `axis` on: y = (x - mean) / sqrt(variance +
// epsilon)
// * scale + b. Outputs y, mean and 1 / sqrt(variance + epsilon), those two in the stash type.
#include <cmath>

#include "ops/shared/normalization.h"

namespace octet::onnx::op_LayerNormalization {
namespace {

struct LayerNormalizationAttrs {
  int64_t axis;
  double epsilon;
  DType stash;
};

/// A stash type that is no float says nothing: the statistics are f32 then, as elsewhere.
LayerNormalizationAttrs parse(const Node& node) {
  const auto stash = static_cast<DType>(node.attr_int("stash_type", 1));
  const bool is_stash = stash == DType::kFloat16 || stash == DType::kBfloat16 ||
                        stash == DType::kFloat32 || stash == DType::kFloat64;
  return {node.attr_int("axis", -1), node.attr_float("epsilon", 1e-5F),
          is_stash ? stash : DType::kFloat32};
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_optional(c, i, kFloatTypes));
  OCTET_TRY(check_broadcasts(c, 1));
  OCTET_TRY(check_broadcasts(c, 2));
  const auto a = parse(c.node);
  const TypeInfo& x = c.input(0).type;
  TypeInfo statistic;
  statistic.type = a.stash;
  if (x.has_rank()) {
    const int64_t axis = OCTET_TRY(normalize_axis(a.axis, x.rank()));
    statistic.shape = *x.shape;
    for (size_t i = static_cast<size_t>(axis); i < statistic.shape->size(); ++i)
      (*statistic.shape)[i] = Dim(1);
  }
  return std::vector<OutputInfo>{x, statistic, statistic};
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const auto a = parse(c.node);
  const Tensor& xt = c.inputs[0];
  auto x = OCTET_TRY(xt.to_doubles());
  const Shape statistic = OCTET_TRY(shape_of(outputs[1]));
  std::vector<double> means(static_cast<size_t>(product(statistic))), factors(means.size());
  const size_t row = means.empty() ? 0 : x.size() / means.size();
  for (size_t r = 0; r < means.size(); ++r) {
    const auto line = std::span(x).subspan(r * row, row);
    const Moments m = moments(line);
    means[r] = m.mean;
    factors[r] = 1 / std::sqrt(m.variance + a.epsilon);
    standardize(line, means[r], factors[r]);
  }
  OCTET_TRY(scale_and_shift(x, xt.shape(), c.inputs[1], c.has(2) ? c.inputs[2] : Tensor()));
  std::vector<Tensor> results = one(OCTET_TRY(rounded(xt.type(), xt.shape(), x)));
  results.push_back(OCTET_TRY(rounded(a.stash, statistic, means)));
  results.push_back(OCTET_TRY(rounded(a.stash, statistic, factors)));
  return results;
}

} // namespace

extern const OpFacets facets = {
    .since = 17,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.unchanged = true, .optional_outputs = 0b110},
};

} // namespace octet::onnx::op_LayerNormalization
