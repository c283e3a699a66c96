// SPDX-License-Identifier: Apache-2.0
// Lines over a common axis, as an SVG file that stands alone, light and dark.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace octet {

struct LineChart {
  struct Line {
    std::string label;          ///< written at its right end
    std::vector<double> values; ///< one for each of `ticks`
  };
  std::string title, x_label, y_label;
  std::vector<std::string> ticks; ///< at equal distances along the x axis
  std::vector<Line> lines;
};

/// Errors are programming errors: a line without a value for each tick, no tick, no line.
std::string svg_of(const LineChart& chart);

} // namespace octet
