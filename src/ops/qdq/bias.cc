// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/bias.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/evaluate.h"
#include "ops/qdq/quant_layout.h"

namespace octet::qdq {

namespace {

/// How far apart two floats may lie that mean one scale: s_x, s_w and their product are rounded once
/// each. A bias in steps of its own comes within more of whole steps by chance.
constexpr double kSameScale = 0x1p-22;

/// (code - zero point) · scale of each element; nullopt where the shapes do not fit.
std::optional<std::vector<double>> dequantized(const Node& dq,
                                               const Tensor& codes,
                                               const Tensor& scale,
                                               const std::optional<Tensor>& zero) {
  const int64_t axis = dq.attr_int("axis", 1), block = dq.attr_int("block_size", 0);
  const auto fits = check_quant_layout(tensor_type(codes.type(), codes.shape()),
                                       tensor_type(scale.type(), scale.shape()), axis, block);
  if (!fits.ok() || (zero && zero->count() != scale.count())) return std::nullopt;
  const QuantLayout layout = quant_layout(codes.shape(), scale.shape(), axis, block);
  std::vector<double> out;
  out.reserve(static_cast<size_t>(codes.count()));
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t a = 0; a < layout.axis_size; ++a)
      for (int64_t i = 0; i < layout.inner; ++i) {
        const int64_t at = layout.scale_index(o, a, i);
        const double code = codes.at(static_cast<int64_t>(out.size()));
        out.push_back((code - (zero ? zero->at(at) : 0)) * scale.at(at));
      }
  return out;
}

} // namespace

std::vector<double> sum_steps(double x_scale, std::span<const double> w_scales, double factor) {
  std::vector<double> out;
  for (const double w_scale : w_scales)
    out.push_back(factor * x_scale * w_scale);
  return out;
}

std::optional<Tensor> BiasInSteps::codes() const {
  std::vector<double> out;
  for (const double count : counts) {
    out.push_back(std::nearbyint(count));
    if (std::abs(out.back() - count) > kSameScale * std::max(std::abs(count), 1.0) ||
        out.back() < std::numeric_limits<int32_t>::min() ||
        out.back() > std::numeric_limits<int32_t>::max())
      return std::nullopt;
  }
  auto tensor = Tensor::from_doubles(DType::kInt32, shape, out);
  return tensor.ok() ? std::optional(std::move(*tensor)) : std::nullopt;
}

bool BiasInSteps::are_stored() const {
  const auto repeats = static_cast<int64_t>(counts.size()) / std::max<int64_t>(stored.count(), 1);
  for (size_t i = 0; i < counts.size(); ++i)
    if (std::nearbyint(counts[i]) != stored.at(static_cast<int64_t>(i) / repeats)) return false;
  return true;
}

std::optional<BiasInSteps>
bias_in_steps(const Graph& graph, ValueId bias, const std::vector<double>& steps) {
  const Node* dq = bias.valid() ? graph.producer(bias) : nullptr;
  if (dq == nullptr || !dq->is("DequantizeLinear") || steps.empty()) return std::nullopt;
  const auto constant = [&](ValueId id) { return constant_value(graph, id); };
  const std::optional<Tensor> codes = constant(dq->input(0)), scale = constant(dq->input(1));
  const bool has_zero = dq->input(2).valid();
  const std::optional<Tensor> zero = has_zero ? constant(dq->input(2)) : std::nullopt;
  if (!codes || codes->type() != DType::kInt32 || !scale || (has_zero && !zero))
    return std::nullopt;
  if (!std::all_of(steps.begin(), steps.end(), [](double s) { return std::isnormal(s); }))
    return std::nullopt;
  const auto values = dequantized(*dq, *codes, *scale, zero);
  if (!values) return std::nullopt;
  BiasInSteps out{*codes, codes->shape(), {}};
  const bool one_for_all = codes->rank() == 0 || codes->shape().back() == 1;
  if (steps.size() > 1 && one_for_all) {
    if (out.shape.empty()) out.shape.push_back(1);
    out.shape.back() = static_cast<int64_t>(steps.size());
    for (const double value : *values)
      for (const double step : steps)
        out.counts.push_back(value / step);
    return out;
  }
  if (steps.size() > 1 && codes->shape().back() != static_cast<int64_t>(steps.size()))
    return std::nullopt;
  for (const double value : *values)
    out.counts.push_back(value / steps[out.counts.size() % steps.size()]);
  return out;
}

double least_weight_scale(double bias, double x_scale) {
  constexpr double kMostSteps = 0.5 * (kLargestBiasCode + 1.0), kMostScale = 1e30;
  const double least = bias / (kMostSteps * x_scale);
  return least < kMostScale ? least : 0;
}

std::optional<RoundedBias>
round_to_steps(const Tensor& bias, double factor, float x_scale, std::span<const double> w_scales) {
  if (bias.type() != DType::kFloat32 || bias.rank() != 1) return std::nullopt;
  if (w_scales.size() != 1 && static_cast<int64_t>(w_scales.size()) != bias.count())
    return std::nullopt;
  RoundedBias out;
  for (const double w : w_scales)
    out.scales.push_back(x_scale * static_cast<float>(w));
  for (int64_t i = 0; i < bias.count(); ++i) {
    const float scale = out.scale(static_cast<size_t>(i));
    const double code = std::nearbyint(factor * bias.at(i) / static_cast<double>(scale));
    if (!std::isnormal(scale) || !(std::fabs(code) <= kLargestBiasCode)) return std::nullopt;
    out.codes.push_back(static_cast<int32_t>(code));
  }
  return out;
}

} // namespace octet::qdq
