// SPDX-License-Identifier: Apache-2.0
// RMSNormalization (opset 23). Over the axes from `axis` on: y = x / sqrt(mean(x^2) + epsilon) *
// scale.
#include "ops/shared/normalization.h"

namespace octet::onnx::op_RMSNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  OCTET_TRY(check_input(c, 1, kFloatTypes));
  OCTET_TRY(check_broadcasts(c, 1));
  TypeInfo y = c.input(0).type;
  if (y.has_rank()) OCTET_TRY(normalize_axis(c.node.attr_int("axis", -1), y.rank()));
  y.type = c.input(1).type.type;
  return one(std::move(y));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  const int64_t stated = c.node.attr_int("axis", -1);
  const auto axis = static_cast<size_t>(stated < 0 ? stated + xt.rank() : stated);
  const double epsilon = c.node.attr_float("epsilon", 1e-5F);
  auto x = OCTET_TRY(xt.to_doubles());
  const auto row = static_cast<size_t>(product(xt.shape(), axis, xt.shape().size()));
  for (size_t at = 0; at < x.size(); at += row)
    standardize_rms(std::span(x).subspan(at, row), epsilon);
  OCTET_TRY(scale_and_shift(x, xt.shape(), c.inputs[1], Tensor()));
  return one(OCTET_TRY(rounded(c.inputs[1].type(), xt.shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 23,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_RMSNormalization
