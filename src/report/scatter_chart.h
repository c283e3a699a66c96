// SPDX-License-Identifier: Apache-2.0
// Points over two axes, some of them joined by a line: SVG for a page, light and dark.
#pragma once

#include <string>
#include <vector>

namespace octet {

struct ScatterChart {
  struct Point {
    double x = 0, y = 0;
    std::string label; ///< shown beside the point; empty: none
    std::string text;  ///< shown when it is pointed at
    bool joined = false;
  };
  std::string title, x_label, y_label;
  std::vector<Point> points; ///< finite
};

/// Joined points are joined in the order of x.
std::string svg_of(const ScatterChart& chart);

} // namespace octet
