// SPDX-License-Identifier: Apache-2.0
// Normalizations: by rows, planes, groups of channels, and by statistics that are given.
#include <algorithm>

#include "runner/arrays.h"
#include "runner/rows.h"
#include "runner/rules.h"

namespace octet::differential {
namespace {

using Outputs = Result<std::vector<Bounded>>;

/// No normalized number of a row is beyond this.
double most_normal(const Rows& all) {
  return std::sqrt(static_cast<double>(all.length));
}

/// (x - mean) / sqrt(variance + epsilon) over rows; what follows is a product with the gain.
std::vector<double> normalization_error(const std::vector<double>& x,
                                        const std::vector<double>& e,
                                        const Rows& all,
                                        double epsilon) {
  std::vector<double> out(x.size());
  all.each([&](auto at) {
    double mean = 0, squares = 0, error_mean = 0;
    const auto n = static_cast<double>(all.length);
    for (int64_t k = 0; k < all.length; ++k) {
      mean += x[at(k)] / n;
      squares += x[at(k)] * x[at(k)] / n;
      error_mean += e[at(k)] / n;
    }
    const double deviation = std::sqrt(std::max(squares - mean * mean, 0.0) + epsilon);
    // The deviation is off by that of the errors at most. The variance is off by twice their
    // covariance with x, and by their own: less, where few numbers are off.
    double error_squares = 0, variance_error = 0;
    for (int64_t k = 0; k < all.length; ++k) {
      error_squares += std::pow(e[at(k)] + error_mean, 2) / n;
      variance_error += e[at(k)] * (2 * std::fabs(x[at(k)] - mean) + e[at(k)]) / n;
    }
    const double share = std::min(variance_error / (deviation * deviation), 1.0);
    const double passed_on =
        std::min(std::sqrt(error_squares) / deviation, 1 - std::sqrt(1 - share));
    // Executors may take the variance as a difference of means.
    const double rounding = (16 + 2 * std::sqrt(n)) * kRounding * squares / (deviation * deviation);
    const double relative = std::min(passed_on + rounding, 0.9);
    const double offset =
        (16 + std::sqrt(n)) * kRounding * (std::sqrt(squares) + std::sqrt(error_squares));
    for (int64_t k = 0; k < all.length; ++k) {
      const double normal = std::fabs(x[at(k)] - mean) / deviation;
      const double off =
          ((e[at(k)] + error_mean + offset) / deviation + normal * relative) / (1 - relative);
      const double most = normal + most_normal(all) + offset / std::sqrt(epsilon);
      out[at(k)] = std::min(off, most) + 16 * kRounding * normal;
    }
  });
  return out;
}

std::vector<double> normalization_error(const Step& s, const Rows& all) {
  const Tensor& x = s.in[0].value;
  return normalization_error(x.to_doubles().value(),
                             or_zeros(s.in[0].error, x).to_doubles().value(), all,
                             static_cast<double>(s.node.attr_float("epsilon", 1e-5F)));
}

Outputs layer_normalization(const Step& s) {
  const Tensor& x = s.in[0].value;
  const Rows all = rows(x, wrapped_axis(s, -1), x.rank());
  const std::vector<double> err = normalization_error(s, all);
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const Tensor normalized = Tensor::of<double>(x.shape(), std::span<const double>(err));
  const Bounded& gain = s.in[1];
  out.error = OCTET_TRY(s.broadcast("Mul", normalized, plus(magnitude(gain.value), gain.error)));
  out.error = plus(out.error, times(magnitude(out.value), 8 * kRounding));
  if (!gain.error.empty())
    out.error = OCTET_TRY(s.broadcast("Add", out.error, times(gain.error, most_normal(all))));
  if (s.has(2)) {
    const double rounding = 8 * kRounding * largest(s.in[2].value) + largest(s.in[2].error);
    out.error = map(out.error, [rounding](double e) { return e + rounding; });
  }
  return std::vector<Bounded>{std::move(out)};
}

/// Rows are `count` equal parts of x; gains and what is added belong to channels, or to groups of
/// as many channels each.
Outputs by_channels(const Step& s, int64_t count) {
  const Tensor& x = s.in[0].value;
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const Rows all{.outer = count, .length = x.count() / std::max<int64_t>(count, 1)};
  std::vector<double> err = normalization_error(s, all);
  const Bounded& gain = s.in[1];
  const Bounded& bias = s.in[2];
  const Tensor gain_error = or_zeros(gain.error, gain.value);
  const Tensor bias_error = or_zeros(bias.error, bias.value);
  const int64_t plane = rows(x, 2, x.rank()).length;
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t c = i / plane % x.dim(1) * gain.value.count() / x.dim(1);
    double& e = err[static_cast<size_t>(i)];
    e = e * (std::fabs(gain.value.at(c)) + gain_error.at(c)) + most_normal(all) * gain_error.at(c) +
        bias_error.at(c) +
        8 * kRounding * (std::fabs(out.value.at(i)) + std::fabs(bias.value.at(c)));
  }
  out.error = Tensor::of<double>(x.shape(), std::span<const double>(err));
  return std::vector<Bounded>{std::move(out)};
}

Outputs instance_normalization(const Step& s) {
  const Tensor& x = s.in[0].value;
  return by_channels(s, x.dim(0) * x.dim(1));
}

Outputs group_normalization(const Step& s) {
  return by_channels(s, s.in[0].value.dim(0) * s.node.attr_int("num_groups", 1));
}

Outputs batch_normalization(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const Tensor& x = s.in[0].value;
  const double epsilon = static_cast<double>(s.node.attr_float("epsilon", 1e-5F));
  const Rows all = rows(x, 1, 2);
  const std::vector<double> v = x.to_doubles().value();
  std::vector<double> err = or_zeros(s.in[0].error, x).to_doubles().value();
  all.each([&](auto at) {
    for (int64_t c = 0; c < all.length; ++c) {
      const double gain = std::fabs(s.in[1].value.at(c)) / std::sqrt(s.in[4].value.at(c) + epsilon);
      const double sizes = (std::fabs(v[at(c)]) + std::fabs(s.in[3].value.at(c))) * gain +
                           std::fabs(s.in[2].value.at(c));
      err[at(c)] = err[at(c)] * gain + 8 * kRounding * sizes;
    }
  });
  out.error = Tensor::of<double>(x.shape(), std::span<const double>(err));
  return std::vector<Bounded>{std::move(out)};
}

} // namespace

Rule* find_normalization_rule(std::string_view op) {
  if (op == "LayerNormalization") return layer_normalization;
  if (op == "InstanceNormalization") return instance_normalization;
  if (op == "GroupNormalization") return group_normalization;
  if (op == "BatchNormalization") return batch_normalization;
  return nullptr;
}

} // namespace octet::differential
