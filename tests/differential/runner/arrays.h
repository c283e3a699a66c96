// SPDX-License-Identifier: Apache-2.0
// Arithmetic on tensors of doubles, where an empty tensor stands for zeros.
#pragma once

#include <cmath>
#include <vector>

#include "octet/tensor.h"

namespace octet::differential {

/// Half the distance from 1 to the next float.
inline constexpr double kRounding = 1.0 / (1 << 24);

inline Tensor as_double(const Tensor& x) {
  const std::vector<double> values = x.to_doubles().value();
  return Tensor::of<double>(x.shape(), std::span<const double>(values));
}

template <class F>
Tensor map(const Tensor& x, F f) {
  if (x.empty()) return x;
  std::vector<double> out(static_cast<size_t>(x.count()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = f(x.at(static_cast<int64_t>(i)));
  return Tensor::of<double>(x.shape(), std::span<const double>(out));
}

/// Of two tensors of one shape.
template <class F>
Tensor map(const Tensor& a, const Tensor& b, F f) {
  std::vector<double> out(static_cast<size_t>(a.count()));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = f(a.at(static_cast<int64_t>(i)), b.at(static_cast<int64_t>(i)));
  return Tensor::of<double>(a.shape(), std::span<const double>(out));
}

inline Tensor magnitude(const Tensor& x) {
  return map(x, [](double v) { return std::fabs(v); });
}
inline Tensor square(const Tensor& x) {
  return map(x, [](double v) { return v * v; });
}
inline Tensor times(const Tensor& x, double factor) {
  return map(x, [factor](double v) { return v * factor; });
}
inline Tensor plus(const Tensor& a, const Tensor& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return map(a, b, [](double x, double y) { return x + y; });
}
inline Tensor zeros_like(const Tensor& x) {
  return map(x, [](double) { return 0.0; });
}
inline Tensor or_zeros(const Tensor& error, const Tensor& value) {
  return error.empty() ? zeros_like(value) : error;
}
inline bool is_real(const Tensor& x) {
  return x.type() == DType::kFloat64;
}
inline double largest(const Tensor& x) {
  double out = 0;
  for (int64_t i = 0; i < x.count(); ++i)
    out = std::max(out, std::fabs(x.at(i)));
  return out;
}

} // namespace octet::differential
