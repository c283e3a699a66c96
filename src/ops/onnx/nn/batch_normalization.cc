// SPDX-License-Identifier: Apache-2.0
// BatchNormalization (opset 7 to 15). x: [N, C, D...], scale, b, mean, var: [C].
// y = (x - mean) / sqrt(var + epsilon) * scale + b. With training_mode the batch's own mean and
// variance (of the population) are used, and two more outputs give running = running * momentum +
// own * (1 - momentum). Before opset 14 only inference, with one output.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/normalization.h"

namespace octet::onnx::op_BatchNormalization {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 5, 5));
  for (size_t i = 0; i < 5; ++i)
    OCTET_TRY(check_input(c, i, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 1, 16));
  if (c.node.attr_int("spatial", 1) == 0)
    return Error("spatial 0 (statistics for each position); use 1", ErrorCode::kUnsupported);
  const bool training = c.version >= 14 && c.node.attr_int("training_mode", 0) != 0;
  for (size_t i = 1; i < c.node.outputs.size(); ++i)
    if (c.node.outputs[i].valid() && !training)
      return error("output {} exists in training mode only; set training_mode or drop it", i);
  const TypeInfo& x = c.input(0).type;
  TypeInfo statistic = c.input(3).type;
  if (x.has_rank()) {
    const Dim channels = x.rank() > 1 ? (*x.shape)[1] : Dim(1);
    for (size_t i = 1; i < 5; ++i)
      OCTET_TRY(check_vector(c, i, channels, "statistics and channels"));
    statistic.shape = std::vector<Dim>{channels};
  }
  return std::vector<OutputInfo>{x, statistic, statistic};
}

/// Calls fn(first element, elements) for each contiguous part of channel k.
template <class Fn>
void for_each_part(const Tensor& x, size_t k, Fn fn) {
  const auto channels = static_cast<size_t>(x.rank() > 1 ? x.dim(1) : 1);
  const auto plane =
      static_cast<size_t>(product(x.shape(), 2, std::max<size_t>(x.shape().size(), 2)));
  const size_t batch =
      plane * channels == 0 ? 0 : static_cast<size_t>(x.count()) / plane / channels;
  for (size_t n = 0; n < batch; ++n)
    fn((n * channels + k) * plane, plane);
}

Moments channel_moments(const Tensor& xt, std::span<const double> x, size_t k) {
  std::vector<double> all;
  for_each_part(xt, k, [&](size_t first, size_t count) {
    all.insert(all.end(), x.begin() + static_cast<ptrdiff_t>(first),
               x.begin() + static_cast<ptrdiff_t>(first + count));
  });
  return moments(all);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  auto x = OCTET_TRY(xt.to_doubles());
  const auto scale = OCTET_TRY(c.inputs[1].to_doubles());
  const auto bias = OCTET_TRY(c.inputs[2].to_doubles());
  auto mean = OCTET_TRY(c.inputs[3].to_doubles());
  auto variance = OCTET_TRY(c.inputs[4].to_doubles());
  const double epsilon = c.node.attr_float("epsilon", 1e-5F);
  const double momentum = c.node.attr_float("momentum", 0.9F);
  const bool training = c.version >= 14 && c.node.attr_int("training_mode", 0) != 0;
  for (size_t k = 0; k < scale.size(); ++k) {
    Moments m{mean[k], variance[k]};
    if (training) {
      m = channel_moments(xt, x, k);
      mean[k] = mean[k] * momentum + m.mean * (1 - momentum);
      variance[k] = variance[k] * momentum + m.variance * (1 - momentum);
    }
    const double factor = scale[k] / std::sqrt(m.variance + epsilon);
    for_each_part(xt, k, [&](size_t first, size_t count) {
      for (double& v : std::span(x).subspan(first, count))
        v = (v - m.mean) * factor + bias[k];
    });
  }
  std::vector<Tensor> results = one(OCTET_TRY(rounded(xt.type(), xt.shape(), x)));
  if (!training) return results;
  results.push_back(OCTET_TRY(rounded(c.inputs[3].type(), c.inputs[3].shape(), mean)));
  results.push_back(OCTET_TRY(rounded(c.inputs[4].type(), c.inputs[4].shape(), variance)));
  return results;
}

Role roles(const Node&, size_t input) {
  constexpr Role kRoles[] = {Role::kData, Role::kGain, Role::kBias, Role::kStatistic};
  return kRoles[std::min<size_t>(input, 3)];
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("stays in float unless it is folded into the layer before it");
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_BatchNormalization
