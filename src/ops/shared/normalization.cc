// SPDX-License-Identifier: Apache-2.0
// What the normalizations share.
#include "ops/shared/normalization.h"

#include <cmath>

#include "core/format.h"
#include "ops/shared/movement.h"

namespace octet {

Moments moments(std::span<const double> x) {
  Moments m;
  for (double v : x)
    m.mean += v;
  m.mean /= static_cast<double>(x.size());
  for (double v : x)
    m.variance += (v - m.mean) * (v - m.mean);
  m.variance /= static_cast<double>(x.size());
  return m;
}

double standardize_rms(std::span<double> x, double epsilon) {
  double squares = 0;
  for (const double v : x)
    squares += v * v;
  const double factor = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
  standardize(x, 0, factor);
  return factor;
}

Status scale_and_shift(std::span<double> x,
                       std::span<const int64_t> shape,
                       const Tensor& gain,
                       const Tensor& bias) {
  const auto g = OCTET_TRY(gain.to_doubles());
  const auto g_index = broadcast_index(gain.shape(), shape);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] *= g[static_cast<size_t>(g_index[i])];
  if (bias.empty()) return ok_status();
  const auto b = OCTET_TRY(bias.to_doubles());
  const auto b_index = broadcast_index(bias.shape(), shape);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += b[static_cast<size_t>(b_index[i])];
  return ok_status();
}

Status check_broadcasts(const InferContext& c, size_t i) {
  if (!c.has(i) || !c.input(i).type.has_rank() || !c.input(0).type.has_rank()) return ok_status();
  const auto &x = *c.input(0).type.shape, &s = *c.input(i).type.shape;
  bool fits = s.size() <= x.size();
  for (size_t k = 0; fits && k < s.size(); ++k) {
    const Dim &mine = s[s.size() - 1 - k], &its = x[x.size() - 1 - k];
    fits = !mine.is_constant() || mine == Dim(1) || !its.is_constant() || mine == its;
  }
  if (fits) return ok_status();
  return error("input {} is {} and input 0 is {}; make it broadcast to that", i,
               c.input(i).type.text(), c.input(0).type.text());
}

Role normalization_roles(const Node&, size_t input) {
  return input == 0 ? Role::kData : input == 1 ? Role::kGain : Role::kBias;
}

QuantTrait normalizes(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("mean and variance of a row run in float");
}

} // namespace octet
