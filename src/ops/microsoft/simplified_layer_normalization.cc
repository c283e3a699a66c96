// SPDX-License-Identifier: Apache-2.0
// SimplifiedLayerNormalization, which ONNX Runtime's optimizer writes into the domain ai.onnx
// though no operator set of it has the name. Over the axes from `axis` on: y = x / sqrt(mean(x^2) +
// epsilon) * scale, and 1 / sqrt(mean(x^2) + epsilon).
#include <limits>

#include "ops/shared/normalization.h"

namespace octet::onnx::op_SimplifiedLayerNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  OCTET_TRY(check_input(c, 1, kFloatTypes));
  OCTET_TRY(check_broadcasts(c, 1));
  TypeInfo y = c.input(0).type;
  TypeInfo factor = y;
  factor.type = DType::kFloat32;
  if (y.has_rank()) {
    const int64_t axis = OCTET_TRY(normalize_axis(c.node.attr_int("axis", -1), y.rank()));
    for (int64_t k = axis; k < y.rank(); ++k)
      (*factor.shape)[static_cast<size_t>(k)] = 1;
  }
  y.type = c.input(1).type.type;
  return std::vector<OutputInfo>{y, factor};
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  const int64_t axis = OCTET_TRY(normalize_axis(c.node.attr_int("axis", -1), xt.rank()));
  const double epsilon = c.node.attr_float("epsilon", 1e-5F);
  auto x = OCTET_TRY(xt.to_doubles());
  const auto row =
      static_cast<size_t>(product(xt.shape(), static_cast<size_t>(axis), xt.shape().size()));
  const Shape statistic = OCTET_TRY(shape_of(outputs[1]));
  // A row without elements has the mean of nothing.
  std::vector<double> factors(static_cast<size_t>(product(statistic)),
                              std::numeric_limits<double>::quiet_NaN());
  for (size_t at = 0; at < x.size(); at += row)
    factors[at / row] = standardize_rms(std::span(x).subspan(at, row), epsilon);
  OCTET_TRY(scale_and_shift(x, xt.shape(), c.inputs[1], Tensor()));
  return std::vector<Tensor>{OCTET_TRY(rounded(c.inputs[1].type(), xt.shape(), x)),
                             OCTET_TRY(rounded(DType::kFloat32, statistic, factors))};
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.unchanged = true, .optional_outputs = 0b10},
};

} // namespace octet::onnx::op_SimplifiedLayerNormalization
