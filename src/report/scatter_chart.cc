// SPDX-License-Identifier: Apache-2.0
#include "report/scatter_chart.h"

#include <algorithm>
#include <cmath>

#include "report/axis.h"
#include "report/html.h"
#include <fmt/format.h>

namespace octet {
namespace {

constexpr double kScatterWidth = 760, kScatterHeight = 420;
constexpr double kFieldLeft = 72, kFieldRight = 730, kFieldTop = 24, kFieldBottom = 360;
constexpr double kGridLines = 5; ///< at most

constexpr std::string_view kScatterStyle =
    ".dot{fill:#2f81f7}.off{fill:#8b949e}.front{stroke:#2f81f7;fill:none}.grid{stroke:#d9dee3}"
    "@media(prefers-color-scheme:dark){.grid{stroke:#30363d}}";

/// The numbers of an axis, with a little room at both ends.
struct Axis {
  double low = 0, high = 1;

  template <class Of>
  Axis(const std::vector<ScatterChart::Point>& points, Of of) {
    if (points.empty()) return;
    constexpr double kRoom = 0.06, kLeast = 1e-9;
    low = high = of(points.front());
    for (const ScatterChart::Point& p : points) {
      low = std::min(low, of(p));
      high = std::max(high, of(p));
    }
    const double room = std::max(kRoom * (high - low), kLeast);
    low -= room;
    high += room;
  }
  double at(double v, double begin, double end) const {
    return begin + (v - low) / (high - low) * (end - begin);
  }
  std::vector<double> lines() const { return axis_marks(low, high, kGridLines); }
};

} // namespace

std::string svg_of(const ScatterChart& chart) {
  const Axis across(chart.points, [](const auto& p) { return p.x; });
  const Axis up(chart.points, [](const auto& p) { return p.y; });
  const auto x = [&](double v) { return across.at(v, kFieldLeft, kFieldRight); };
  const auto y = [&](double v) { return up.at(v, kFieldBottom, kFieldTop); };
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n<style>{}</style>\n",
      kScatterWidth, kScatterHeight, html_escape(chart.title), kScatterStyle);
  for (const double v : up.lines())
    out += fmt::format("<path class=\"grid\" d=\"M{:.0f} {:.1f}H{:.0f}\"/>"
                       "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.6g}</text>\n",
                       kFieldLeft, y(v), kFieldRight, kFieldLeft - 8, y(v) + 4, v);
  for (const double v : across.lines())
    out += fmt::format("<path class=\"grid\" d=\"M{0:.1f} {1:.0f}V{2:.0f}\"/>"
                       "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4:.6g}</text>\n",
                       x(v), kFieldTop, kFieldBottom, kFieldBottom + 20, v);
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n<text "
                     "transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}"
                     "</text>\n",
                     (kFieldLeft + kFieldRight) / 2, kFieldBottom + 46, html_escape(chart.x_label),
                     (kFieldTop + kFieldBottom) / 2, html_escape(chart.y_label));
  std::vector<ScatterChart::Point> joined;
  for (const ScatterChart::Point& p : chart.points)
    if (p.joined) joined.push_back(p);
  std::stable_sort(joined.begin(), joined.end(),
                   [](const auto& a, const auto& b) { return a.x < b.x; });
  std::string path;
  for (const ScatterChart::Point& p : joined)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x(p.x), y(p.y));
  if (joined.size() > 1) out += fmt::format("<path class=\"front\" d=\"{}\"/>\n", path);
  for (const ScatterChart::Point& p : chart.points) {
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{}</title>"
                       "</circle>\n",
                       p.joined ? "dot" : "off", x(p.x), y(p.y), html_escape(p.text));
    if (p.label.empty()) continue;
    const bool left = x(p.x) > (kFieldLeft + kFieldRight) / 2;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                       x(p.x) + (left ? -10 : 10), y(p.y) - 6, left ? "end" : "start",
                       html_escape(p.label));
  }
  return out + "</svg>";
}

} // namespace octet
