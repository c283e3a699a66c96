// SPDX-License-Identifier: Apache-2.0
#include "report/line_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "report/axis.h"
#include "report/html.h"
#include <fmt/format.h>

namespace octet {
namespace {

constexpr double kWidth = 760, kHeight = 420;
constexpr double kPlotLeft = 64, kPlotRight = 640, kPlotTop = 44, kPlotBottom = 352;
constexpr double kGridSteps = 6;      ///< lines, about
constexpr double kLabelDistance = 16; ///< of two labels, so that they do not lie on each other

// Okabe and Ito's colours, which people tell apart who see few colours; black follows the text.
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73",     "#cc79a7",
                                                 "#e69f00", "#56b4e9", "currentColor"};

constexpr std::string_view kChartStyle =
    "svg{color:#1b1f24;background:#fff;font:13px system-ui,sans-serif}text{fill:currentColor}"
    ".grid{stroke:#d9dee3}.axis{fill:#57606a}@media(prefers-color-scheme:dark){svg{color:#e6edf3;"
    "background:#0d1117}.grid{stroke:#30363d}.axis{fill:#8b949e}}";

/// Where labels stand that want to stand at `wanted`: in their order, none closer than they may be
/// and, where there is room, none below the plot.
std::vector<double> label_heights(const std::vector<double>& wanted) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  std::vector<double> out = wanted;
  for (size_t i = 1; i < order.size(); ++i)
    out[order[i]] = std::max(out[order[i]], out[order[i - 1]] + kLabelDistance);
  double lowest = kPlotBottom;
  for (size_t i = order.size(); i-- > 0; lowest -= kLabelDistance)
    out[order[i]] = std::min(out[order[i]], lowest);
  return out;
}

} // namespace

std::string svg_of(const LineChart& chart) {
  OCTET_CHECK(!chart.ticks.empty() && !chart.lines.empty());
  double low = chart.lines[0].values.at(0), high = low;
  for (const LineChart::Line& line : chart.lines) {
    OCTET_CHECK(line.values.size() == chart.ticks.size());
    const auto [least, most] = std::minmax_element(line.values.begin(), line.values.end());
    low = std::min(low, *least);
    high = std::max(high, *most);
  }
  const double step = axis_step(high - low, kGridSteps);
  low = std::floor(low / step) * step;
  high = std::max(std::ceil(high / step) * step, low + step);
  const auto y_of = [&](double v) {
    return kPlotBottom - (v - low) / (high - low) * (kPlotBottom - kPlotTop);
  };
  const double apart =
      (kPlotRight - kPlotLeft) / std::max<double>(1, static_cast<double>(chart.ticks.size()) - 1);
  const auto x_of = [&](size_t i) { return kPlotLeft + apart * static_cast<double>(i); };

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n<style>{}</style>\n<text x=\"{:.0f}\" y=\"24\" font-size=\"15\">{}"
      "</text>\n",
      kWidth, kHeight, html_escape(chart.title), kChartStyle, kPlotLeft, html_escape(chart.title));
  const auto lines = static_cast<int>(std::lround((high - low) / step));
  for (int i = 0; i <= lines; ++i) {
    const double y = y_of(low + i * step);
    out += fmt::format("<path class=\"grid\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text class=\"axis\" "
                       "x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
                       kPlotLeft, y, kPlotRight, kPlotLeft - 8, y + 4, low + i * step);
  }
  for (size_t i = 0; i < chart.ticks.size(); ++i)
    out += fmt::format(
        "<text class=\"axis\" x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n",
        x_of(i), kPlotBottom + 20, html_escape(chart.ticks[i]));
  out += fmt::format(
      "<text class=\"axis\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n<text "
      "class=\"axis\" transform=\"translate(16 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}"
      "</text>\n",
      (kPlotLeft + kPlotRight) / 2, kPlotBottom + 46, html_escape(chart.x_label),
      (kPlotTop + kPlotBottom) / 2, html_escape(chart.y_label));

  std::vector<double> ends;
  ends.reserve(chart.lines.size());
  for (const LineChart::Line& line : chart.lines)
    ends.push_back(y_of(line.values.back()));
  const std::vector<double> labels = label_heights(ends);
  for (size_t k = 0; k < chart.lines.size(); ++k) {
    const char* colour = kColours[k % kColours.size()];
    std::string path;
    for (size_t i = 0; i < chart.ticks.size(); ++i)
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', x_of(i),
                          y_of(chart.lines[k].values[i]));
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/><path "
                       "d=\"M{:.0f} {:.1f}L{:.0f} {:.1f}\" stroke=\"{}\" fill=\"none\"/><text "
                       "x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n",
                       path, colour, kPlotRight, ends[k], kPlotRight + 10, labels[k], colour,
                       kPlotRight + 14, labels[k] + 4, html_escape(chart.lines[k].label));
  }
  return out + "</svg>\n";
}

} // namespace octet
