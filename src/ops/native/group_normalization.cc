// SPDX-License-Identifier: Apache-2.0
// octet.native GroupNormalization (1), f32: x [N, C, ...], gain [C], bias [C]; attributes groups
// (0: one for each channel), epsilon and channels_last (0; with 1 x is [N, ..., C]). Where channels
// come first the elements of a group lie together: mean and inverse are those of
// numerics::layer_norm_row over them, gain and bias those of the channel. Where they come last it is
// numerics::group_norm_last.
#include "core/format.h"
#include "core/numerics/group_norm.h"
#include "ops/native/unary.h"
#include "ops/shared/normalization.h"

namespace octet::native::op_GroupNormalization {
namespace {

bool is_last(const Node& node) {
  return node.attr_int("channels_last", 0) != 0;
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 3, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_input(c, i, kF32));
  OCTET_TRY(check_rank(c, 0, 2, 16));
  const TypeInfo& x = c.input(0).type;
  if (!x.has_rank()) return one(x);
  const Dim& channels = is_last(c.node) ? x.shape->back() : (*x.shape)[1];
  const int64_t groups = c.node.attr_int("groups", 0);
  if (groups < 0 || (groups > 0 && channels.is_constant() && channels.value() % groups != 0))
    return error("{} channels in {} groups; make them divide", channels.text(), groups);
  OCTET_TRY(check_vector(c, 1, channels, "gains and channels"));
  OCTET_TRY(check_vector(c, 2, channels, "bias elements and channels"));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto x = OCTET_TRY(c.inputs[0].to_floats());
  const auto gain = OCTET_TRY(c.inputs[1].to_floats());
  const auto bias = OCTET_TRY(c.inputs[2].to_floats());
  if (x.empty()) return one(std::move(y));
  const float epsilon = c.node.attr_float("epsilon", 1e-5F);
  const bool last = is_last(c.node);
  const int64_t channels = last ? y.shape().back() : y.dim(1);
  const int64_t stated = c.node.attr_int("groups", 0);
  const int64_t each = stated == 0 ? 1 : channels / stated;
  if (last) {
    const int64_t pixels = product(y.shape(), 1, y.shape().size() - 1);
    for (int64_t at = 0; at < y.count(); at += pixels * channels)
      for (int64_t k = 0; k < channels; k += each)
        numerics::group_norm_last(x.data() + at + k, pixels, channels, each, gain.data() + k,
                                  bias.data() + k, epsilon,
                                  y.mutable_data<float>().data() + at + k);
    return one(std::move(y));
  }
  const auto plane = static_cast<size_t>(product(y.shape(), 2, y.shape().size()));
  const size_t row = static_cast<size_t>(each) * plane;
  std::vector<float> row_gain(row), row_bias(row);
  float* out = y.mutable_data<float>().data();
  for (size_t at = 0; at < x.size(); at += row) {
    for (size_t i = 0; i < row; ++i) {
      const size_t channel = (at + i) / plane % static_cast<size_t>(channels);
      row_gain[i] = gain[channel];
      row_bias[i] = bias[channel];
    }
    numerics::layer_norm_row(x.data() + at, static_cast<int64_t>(row), row_gain.data(),
                             row_bias.data(), epsilon, out + at);
  }
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = normalization_roles,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_GroupNormalization
