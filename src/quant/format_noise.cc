// SPDX-License-Identifier: Apache-2.0
// Noise of a format: the grid of its numbers cuts the axis into cells, whose numbers are rounded to
// one point each; the noise is the sum of the cells' integrals.
#include "octet/format_noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/codec.h"
#include "core/format.h"
#include "core/string_util.h"
#include "quant/distribution.h"

namespace octet {
namespace {

constexpr int kLeastInteger = 2, kMostInteger = 8;
/// f16 and bf16 have more numbers than the others together, and no noise worth a table.
constexpr int kMostBits = 8;

/// Numbers that are not negative, rising from 0.
std::vector<double> grid_of(const FloatFormat& format) {
  std::vector<double> out;
  const uint32_t codes = 1U << (format.width() - 1);
  for (uint32_t code = 0; code < codes; ++code) {
    const double x = decode(format, code);
    if (std::isfinite(x)) out.push_back(x);
  }
  return out;
}

/// A digit in front of a letter: `E4M3`.
std::optional<FloatFormat> finite_format(std::string_view name) {
  if (name.size() != 4 || (name[0] != 'E' && name[0] != 'e') || (name[2] != 'M' && name[2] != 'm'))
    return std::nullopt;
  const int exponent = name[1] - '0', mantissa = name[3] - '0';
  if (exponent < 1 || exponent > 5 || mantissa < 0 || mantissa > 6 ||
      exponent + mantissa > kMostBits - 1)
    return std::nullopt;
  return FloatFormat{name, exponent, mantissa, (1 << (exponent - 1)) - 1, Specials::kFinite};
}

std::optional<std::vector<double>> integers_of(std::string_view name) {
  for (int bits = kLeastInteger; bits <= kMostInteger; ++bits) {
    if (name != fmt::format("int{}", bits)) continue;
    std::vector<double> out(size_t{1} << (bits - 1));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
  return std::nullopt;
}

Result<std::vector<double>> find_grid(std::string_view name) {
  if (auto integers = integers_of(name)) return *std::move(integers);
  const FloatFormat* format = find_float_format(name);
  if (format != nullptr && format->width() <= kMostBits) return grid_of(*format);
  const std::optional<FloatFormat> finite = finite_format(name);
  if (finite) return grid_of(*finite);
  return error("unknown format \"{}\"{}", name, suggestion(name, format_names()));
}

/// Of the half of the distribution on one side of 0.
double noise_of(const std::vector<double>& grid, const Density& density, double scale) {
  double sum = 0, low = 0;
  for (size_t i = 0; i < grid.size() && low < density.reach; ++i) {
    const double point = grid[i] * scale;
    const bool last = i + 1 == grid.size();
    const double high =
        last ? density.reach : std::min(density.reach, (grid[i] + grid[i + 1]) / 2 * scale);
    sum += integral([&](double x) { return (x - point) * (x - point) * density.at(x); }, low, high);
    low = high;
  }
  return sum;
}

double power_of(const Density& density) {
  return integral([&](double x) { return x * x * density.at(x); }, 0, density.reach);
}

FormatNoise said(double scale, double power, double noise) {
  return {scale, 10 * std::log10(power / noise)};
}

} // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> out;
  for (int bits = kLeastInteger; bits <= kMostInteger; ++bits)
    out.push_back(fmt::format("int{}", bits));
  for (const FloatFormat* format : float_formats())
    if (format->width() <= kMostBits) out.emplace_back(format->name);
  return out;
}

Result<FormatNoise>
format_noise(std::string_view format, const Distribution& distribution, double scale) {
  const std::vector<double> grid = OCTET_TRY(find_grid(format));
  OCTET_TRY(check_distribution(distribution));
  if (!(scale > 0) || !std::isfinite(scale))
    return error("scale is {}; it is above 0 and finite", scale);
  const Density density = density_of(distribution);
  return said(scale, power_of(density), noise_of(grid, density, scale));
}

Result<FormatNoise> best_format_noise(std::string_view format, const Distribution& distribution) {
  const std::vector<double> grid = OCTET_TRY(find_grid(format));
  OCTET_TRY(check_distribution(distribution));
  const Density density = density_of(distribution);
  // Noise over scale has a hollow wherever the density lies well on the cells; all are looked at
  // coarsely, then the lowest one is closed in on.
  constexpr int kCoarse = 200, kFine = 10;
  constexpr double kLeast = 0.02, kMost = 1.05, kWanted = 1e-4;
  double best_covered = 1, best_noise = noise_of(grid, density, density.reach / grid.back());
  const auto consider = [&](double covered) {
    const double noise = noise_of(grid, density, covered * density.reach / grid.back());
    if (noise >= best_noise) return;
    best_noise = noise;
    best_covered = covered;
  };
  double step = std::pow(kMost / kLeast, 1.0 / kCoarse);
  for (int i = 0; i <= kCoarse; ++i)
    consider(kLeast * std::pow(step, i));
  while (step - 1 > kWanted) {
    const double middle = best_covered, finer = std::pow(step, 1.0 / kFine);
    for (int i = -kFine + 1; i < kFine; ++i)
      consider(middle * std::pow(finer, i));
    step = finer;
  }
  return said(best_covered * density.reach / grid.back(), power_of(density), best_noise);
}

} // namespace octet
