// SPDX-License-Identifier: Apache-2.0
// GroupNormalization (opset 18, 21). x: [N, C, D...]; each group of C / num_groups channels of an
// example is standardized, then scaled and shifted for each channel (for each group before opset
// 21).
#include <cmath>

#include "core/format.h"
#include "ops/shared/normalization.h"

namespace octet::onnx::op_GroupNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_input(c, i, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 2, 16));
  const int64_t groups = c.node.attr_int("num_groups", 0);
  if (groups < 1) return error("num_groups {}; use a positive number", groups);
  const TypeInfo& x = c.input(0).type;
  if (!x.has_rank()) return one(x);
  const Dim& channels = (*x.shape)[1];
  if (channels.is_constant() && channels.value() % groups != 0)
    return error("{} channels in {} groups; make them divide", channels.value(), groups);
  for (size_t i = 1; i < 3; ++i)
    OCTET_TRY(check_vector(c, i, c.version < 21 ? Dim(groups) : channels,
                           c.version < 21 ? "gains and groups" : "gains and channels"));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  auto x = OCTET_TRY(xt.to_doubles());
  const auto scale = OCTET_TRY(c.inputs[1].to_doubles());
  const auto bias = OCTET_TRY(c.inputs[2].to_doubles());
  const double epsilon = c.node.attr_float("epsilon", 1e-5F);
  const auto groups = static_cast<size_t>(c.node.attr_int("num_groups", 1));
  const auto batch = static_cast<size_t>(xt.dim(0)), channels = static_cast<size_t>(xt.dim(1));
  const size_t row = batch == 0 ? 0 : x.size() / (batch * groups);
  for (size_t r = 0; r < batch * groups; ++r) {
    const auto line = std::span(x).subspan(r * row, row);
    const Moments m = moments(line);
    standardize(line, m.mean, 1 / std::sqrt(m.variance + epsilon));
  }
  const auto plane = static_cast<size_t>(product(xt.shape(), 2, xt.shape().size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t channel = i / plane % channels;
    const size_t k = c.version < 21 ? channel / (channels / groups) : channel;
    x[i] = x[i] * scale[k] + bias[k];
  }
  return one(OCTET_TRY(rounded(xt.type(), xt.shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 18,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_GroupNormalization
