// SPDX-License-Identifier: Apache-2.0
// How much a format of codes loses of numbers that are drawn from a distribution: the ratio of
// signal to quantization noise at the scale that is best for it. Source: arXiv 2208.09225,
// section 3, where formats are compared without a network.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "octet/result.h"

namespace octet {

/// Equally likely from -1 to 1.
struct Uniform {
  bool operator==(const Uniform&) const = default;
};
/// Of standard deviation 1; what lies beyond `reach` does not occur.
struct Gaussian {
  double reach = 10; ///< in (0, 1000]
  bool operator==(const Gaussian&) const = default;
};
/// Student's t of scale 1: the fewer degrees of freedom, the larger the outliers. What lies beyond
/// `reach` does not occur.
struct StudentT {
  double degrees = 8; ///< in [1, 1000]
  double reach = 100; ///< in (0, 1000]
  bool operator==(const StudentT&) const = default;
};
using Distribution = std::variant<Uniform, Gaussian, StudentT>;

/// `uniform`, `gaussian:10`, `student-t:8:100`; parse takes them back, parameters being optional.
/// Errors name the known ones, or the bounds of a parameter.
std::string name(const Distribution& distribution);
Result<Distribution> parse_distribution(std::string_view text);

/// Formats that have names: int2 to int8 (symmetric, from -(2^(n-1) - 1) to 2^(n-1) - 1), and small
/// floats as docs/numerics.md has them. Any other `ExMy`, x from 1 to 5, y from 0 to 6, their sum at
/// most 7, is known too: all its codes are finite numbers.
std::vector<std::string> format_names();

struct FormatNoise {
  double scale = 0;   ///< what codes are multiplied by
  double sqnr_db = 0; ///< 10 log10 (E[x^2] / E[(x - DQ(Q(x)))^2])
};

/// At one scale, positive and finite. Errors: a format that is not known, a scale that is none.
Result<FormatNoise>
format_noise(std::string_view format, const Distribution& distribution, double scale);
/// At the scale with the least noise of those from where 2 % of the reach is covered to where all
/// is, found to 1e-4 of the scale.
Result<FormatNoise> best_format_noise(std::string_view format, const Distribution& distribution);

} // namespace octet
