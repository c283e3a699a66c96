// SPDX-License-Identifier: Apache-2.0
#include "ops/qdq/grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"

namespace octet::qdq {

namespace {

std::vector<double> numbers(const Tensor& tensor, int64_t count) {
  std::vector<double> out;
  out.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    out.push_back(tensor.empty() ? 0.0 : tensor.at(tensor.count() == 1 ? 0 : i));
  return out;
}

Tensor scalar(DType type, double value) {
  return Tensor::from_doubles(type, {}, std::array{value}).value();
}

} // namespace

bool is_usable_scale(double scale) {
  return scale > 0 && std::isfinite(scale) && std::isnormal(static_cast<float>(scale));
}

double as_float(double scale) {
  return static_cast<double>(static_cast<float>(scale));
}

std::vector<double> Grid::scales() const {
  return numbers(scale, count());
}

std::vector<double> Grid::zeros() const {
  return numbers(zero, count());
}

Range Grid::real_range() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto range = code_range();
  if (!range) return {-kInfinity, kInfinity};
  Range out{kInfinity, -kInfinity};
  for (int64_t c = 0; c < count(); ++c) {
    out.lo = std::min(out.lo, (range->lo - zero_at(c)) * scale_at(c));
    out.hi = std::max(out.hi, (range->hi - zero_at(c)) * scale_at(c));
  }
  return out;
}

bool Grid::is_symmetric() const {
  if (!code_range()) return true;
  if (codes != DType::kInt8) return false;
  for (int64_t i = 0; i < zero.count(); ++i)
    if (zero.at(i) != 0) return false;
  return true;
}

bool Grid::is_usable() const {
  for (int64_t c = 0; c < count(); ++c)
    if (!is_usable_scale(scale_at(c))) return false;
  return true;
}

QuantLayout Grid::layout(const Shape& shape) const {
  return quant_layout(shape, scale.shape(), axis_written, block);
}

Grid Grid::with(const std::vector<double>& scales) const {
  Grid out = *this;
  out.scale = Tensor::from_doubles(real(), scale.shape(), scales).value();
  return out;
}

Grid Grid::with(DType type, const std::vector<double>& zeros) const {
  Grid out = *this;
  out.codes = type;
  out.zero = Tensor::from_doubles(type, scale.shape(), zeros).value();
  return out;
}

Grid Grid::as_scalar() const {
  Grid out = *this;
  out.scale = scale.reshaped({}).value();
  if (!zero.empty()) out.zero = zero.reshaped({}).value();
  return out;
}

Grid Grid::int8(double scale, DType real) {
  return per_tensor_of(DType::kInt8, scale, 0, real);
}

Grid Grid::per_tensor_of(DType codes, double scale, double zero, DType real) {
  Grid out;
  out.scale = scalar(real, scale);
  out.zero = scalar(codes, zero);
  out.codes = codes;
  return out;
}

bool same(const Grid& a, const Grid& b, Same how) {
  if (a.codes != b.codes || a.real() != b.real() || a.count() != b.count() || a.block != b.block ||
      (!a.per_tensor() && a.axis_written != b.axis_written))
    return false;
  if (how == Same::kForm && a.scale.shape() != b.scale.shape()) return false;
  for (int64_t c = 0; c < a.count(); ++c)
    if (a.scale_at(c) != b.scale_at(c) || a.zero_at(c) != b.zero_at(c)) return false;
  return true;
}

double unclamped_code(const Grid& grid, double x) {
  const auto scale = static_cast<float>(grid.scale_at(0));
  return std::nearbyint(static_cast<double>(static_cast<float>(x) / scale)) + grid.zero_at(0);
}

int64_t code_of(const Grid& grid, float x) {
  const auto range = grid.code_range();
  OCTET_CHECK(range.has_value());
  const double zero = grid.zero_at(0);
  if (std::isnan(x)) return static_cast<int64_t>(zero);
  const double code = unclamped_code(grid, static_cast<double>(x));
  return static_cast<int64_t>(
      std::clamp(code, static_cast<double>(range->lo), static_cast<double>(range->hi)));
}

float value_of(const Grid& grid, int64_t code) {
  return static_cast<float>(code - grid.one_zero()) * grid.one_scale();
}

} // namespace octet::qdq
