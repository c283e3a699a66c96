// SPDX-License-Identifier: Apache-2.0
// InstanceNormalization (opset 6 to 22). x: [N, C, D...]; each plane is standardized, then
// y = plane * scale[c] + b[c].
#include <cmath>

#include "ops/shared/normalization.h"

namespace octet::onnx::op_InstanceNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_input(c, i, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 2, 16));
  const TypeInfo& x = c.input(0).type;
  if (!x.has_rank()) return one(x);
  OCTET_TRY(check_vector(c, 1, (*x.shape)[1], "gains and channels"));
  OCTET_TRY(check_vector(c, 2, (*x.shape)[1], "bias elements and channels"));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  auto x = OCTET_TRY(xt.to_doubles());
  const auto scale = OCTET_TRY(c.inputs[1].to_doubles());
  const auto bias = OCTET_TRY(c.inputs[2].to_doubles());
  const double epsilon = c.node.attr_float("epsilon", 1e-5F);
  const auto plane = static_cast<size_t>(product(xt.shape(), 2, xt.shape().size()));
  for (size_t at = 0, k = 0; at < x.size(); at += plane, k = (k + 1) % scale.size()) {
    const auto line = std::span(x).subspan(at, plane);
    const Moments m = moments(line);
    standardize(line, m.mean, 1 / std::sqrt(m.variance + epsilon));
    for (double& v : line)
      v = v * scale[k] + bias[k];
  }
  return one(OCTET_TRY(rounded(xt.type(), xt.shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_InstanceNormalization
