// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/axis.h"
#include <fmt/format.h>

namespace octet {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:86rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1f24;background:#fff}h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem}"
    "p,figure{max-width:60rem}figure:has(table){max-width:none}.origin{color:#57606a;font-size:."
    "85rem}"
    "div{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}"
    "th,td{padding:.35rem .6rem;"
    "border-bottom:1px solid #d9dee3;text-align:right;white-space:nowrap}th:first-child,"
    "td:first-child{text-align:left}table.words th,table.words td{text-align:left;"
    "vertical-align:top}table.words td{white-space:normal;overflow-wrap:anywhere;min-width:4.5em}"
    "th{color:#57606a;font-weight:600}table.matrix{width:auto}table.matrix "
    "td{min-width:2.6em}figure{margin:1rem 0}"
    "figcaption{color:#57606a;font-size:.9rem}svg text{font:13px system-ui,sans-serif;"
    "fill:#1b1f24}@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}"
    "th,td{border-color:#30363d}th,figcaption,.origin{color:#8b949e}svg text{fill:#e6edf3}}"
    "@media print{body{max-width:none;color:#000;background:#fff}div{overflow:visible}"
    "h2,figure,tr{break-inside:avoid}table{font-size:.75rem}}";

constexpr double kLabelWidth = 190, kBarWidth = 470, kTextWidth = 200, kRow = 28, kAxisHeight = 26;
constexpr double kPlotMargin = 40, kPlotWidth = 780, kPlotHeight = 110;
constexpr double kTickDistance = 80; ///< of two labels, so that they do not lie on each other

/// As much of a label as there is room for: its end, which tells more than its beginning.
std::string end_of(std::string_view label) {
  constexpr size_t kMostLetters = 24;
  size_t letters = 0, begin = label.size();
  while (begin > 0 && letters < kMostLetters) {
    --begin;
    if ((static_cast<unsigned char>(label[begin]) & 0xC0) != 0x80) ++letters; // no byte within one
  }
  return begin == 0 ? std::string(label) : "…" + std::string(label.substr(begin));
}

} // namespace

std::string html_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  }
  return out;
}

void HtmlPage::paragraph(std::string_view text) {
  body_ += "<p>" + html_escape(text) + "</p>\n";
}

void HtmlPage::heading(std::string_view text) {
  body_ += "<h2>" + html_escape(text) + "</h2>\n";
}

void HtmlPage::table(const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows) {
  table("<table>", header, rows);
}

void HtmlPage::text_table(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) {
  table("<table class=\"words\">", header, rows);
}

void HtmlPage::table(std::string_view opening,
                     const std::vector<std::string>& header,
                     const std::vector<std::vector<std::string>>& rows) {
  const auto row = [&](const std::vector<std::string>& cells, std::string_view tag) {
    std::string out = "<tr>";
    for (const std::string& cell : cells)
      out += fmt::format("<{0}>{1}</{0}>", tag, html_escape(cell));
    return out + "</tr>\n";
  };
  body_ += fmt::format("<div>{}\n", opening) + row(header, "th");
  for (const auto& cells : rows)
    body_ += row(cells, "td");
  body_ += "</table></div>\n";
}

void HtmlPage::bars(std::string_view caption, const std::vector<Bar>& bars) {
  double top = 0;
  for (const Bar& b : bars)
    top = std::max({top, b.value, b.high});
  begin_chart(caption, bars, 0);
  for (size_t i = 0; i < bars.size(); ++i) {
    const double y = kRow * static_cast<double>(i);
    const double end = top > 0 ? std::clamp(bars[i].value / top, 0.0, 1.0) * kBarWidth : 0.0;
    body_ += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"18\" rx=\"2\" "
                         "fill=\"#2f81f7\"/>",
                         kLabelWidth, y + 5, std::max(1.0, end));
    end_row(bars[i], y, 0, top > 0 ? top : 1);
  }
  end_chart(caption);
}

void HtmlPage::points(std::string_view caption, const std::vector<Bar>& bars) {
  if (bars.empty()) return;
  constexpr double kRoom = 0.08, kLeast = 1e-6, kMarks = 6;
  double low = bars.front().value, high = low;
  for (const Bar& b : bars) {
    low = std::min({low, b.value, b.high > b.low ? b.low : b.value});
    high = std::max({high, b.value, b.high});
  }
  const double room = std::max(kRoom * (high - low), kLeast * std::max(1.0, std::abs(high)));
  low -= room;
  high += room;
  const double below = kRow * static_cast<double>(bars.size());
  begin_chart(caption, bars, kAxisHeight);
  for (const double mark : axis_marks(low, high, kMarks)) {
    const double x = kLabelWidth + (mark - low) / (high - low) * kBarWidth;
    body_ +=
        fmt::format("<path d=\"M{0:.1f} 0V{1:.1f}\" stroke=\"#8b949e\" stroke-opacity=\".35\"/>"
                    "<text x=\"{0:.1f}\" y=\"{2:.1f}\" text-anchor=\"middle\">{3:g}</text>",
                    x, below + 4, below + 19, mark);
  }
  for (size_t i = 0; i < bars.size(); ++i) {
    const double y = kRow * static_cast<double>(i);
    end_row(bars[i], y, low, high);
    body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"#2f81f7\"/>\n",
                         kLabelWidth + (bars[i].value - low) / (high - low) * kBarWidth, y + 14);
  }
  end_chart(caption);
}

void HtmlPage::begin_chart(std::string_view caption, const std::vector<Bar>& bars, double below) {
  const double height = kRow * static_cast<double>(bars.size()) + below;
  body_ +=
      fmt::format("<figure><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
                  kLabelWidth + kBarWidth + kTextWidth, height, html_escape(caption));
  for (size_t i = 0; i < bars.size(); ++i)
    body_ += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\"><title>{}</title>{}</text>",
        kLabelWidth - 8, kRow * static_cast<double>(i) + 18, html_escape(bars[i].label),
        html_escape(end_of(bars[i].label)));
}

void HtmlPage::end_row(const Bar& b, double y, double from, double to) {
  const auto x = [&](double v) {
    return kLabelWidth + std::clamp((v - from) / (to - from), 0.0, 1.0) * kBarWidth;
  };
  double end = x(b.value);
  if (b.high > b.low) {
    end = std::max(end, x(b.high));
    body_ += fmt::format("<path d=\"M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8\" "
                         "stroke=\"#d29922\" stroke-width=\"2\" fill=\"none\"/>",
                         x(b.low), x(b.high), y + 14, y + 10);
  }
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", end + 10, y + 18,
                       html_escape(b.text));
}

void HtmlPage::end_chart(std::string_view caption) {
  body_ += "</svg><figcaption>" + html_escape(caption) + "</figcaption></figure>\n";
}

void HtmlPage::matrix(std::string_view caption,
                      const std::vector<std::string>& names,
                      const std::vector<std::vector<int64_t>>& counts) {
  body_ += "<figure><div><table class=\"matrix\"><tr><th></th>";
  for (const std::string& name : names)
    body_ += "<th>" + html_escape(name) + "</th>";
  body_ += "</tr>\n";
  for (size_t i = 0; i < counts.size(); ++i) {
    const double all = static_cast<double>(
        std::max<int64_t>(std::accumulate(counts[i].begin(), counts[i].end(), int64_t{0}), 1));
    body_ += "<tr><th>" + html_escape(names[i]) + "</th>";
    for (size_t j = 0; j < counts[i].size(); ++j)
      body_ += fmt::format(
          "<td style=\"background:rgba({},{:.3f})\">{}</td>", i == j ? "47,129,247" : "248,81,73",
          static_cast<double>(counts[i][j]) / all * (i == j ? 0.45 : 0.9), counts[i][j]);
    body_ += "</tr>\n";
  }
  body_ += "</table></div><figcaption>" + html_escape(caption) + "</figcaption></figure>\n";
}

void HtmlPage::origin(std::string_view text) {
  body_ += "<p class=\"origin\">" + html_escape(text) + "</p>\n";
}

void HtmlPage::histogram(std::string_view caption, const Histogram& h) {
  const double span = h.high > h.low ? h.high - h.low : 1;
  const auto x = [&](double v) {
    return kPlotMargin + std::clamp((v - h.low) / span, 0.0, 1.0) * kPlotWidth;
  };
  double most = 1;
  for (const double count : h.counts)
    most = std::max(most, std::log1p(count));
  body_ +=
      fmt::format("<figure><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
                  2 * kPlotMargin + kPlotWidth, kPlotHeight + 26, html_escape(caption));
  if (h.to > h.from)
    body_ +=
        fmt::format("<rect x=\"{0:.1f}\" y=\"0\" width=\"{1:.1f}\" height=\"{2:.0f}\" "
                    "fill=\"#3fb950\" fill-opacity=\".18\"/><path d=\"M{0:.1f} 0V{2:.0f}M{3:.1f} "
                    "0V{2:.0f}\" stroke=\"#3fb950\" stroke-width=\"2\"/>\n",
                    x(h.from), x(h.to) - x(h.from), kPlotHeight, x(h.to));
  const double width = kPlotWidth / static_cast<double>(std::max<size_t>(h.counts.size(), 1));
  for (size_t i = 0; i < h.counts.size(); ++i) {
    const double height = std::log1p(h.counts[i]) / most * (kPlotHeight - 6);
    if (height > 0)
      body_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#2f81f7\"/>",
          kPlotMargin + width * static_cast<double>(i), kPlotHeight - height,
          std::max(width - 0.6, 0.6), height);
  }
  std::string steps;
  for (const double step : h.steps)
    steps += fmt::format("M{:.1f} {:.0f}v5", x(step), kPlotHeight);
  body_ += fmt::format("\n<path d=\"M{:.0f} {:.0f}H{:.0f}{}\" stroke=\"#8b949e\" fill=\"none\"/>\n",
                       kPlotMargin, kPlotHeight, kPlotMargin + kPlotWidth, steps);
  std::vector<double> labelled;
  for (const double tick : {h.from, h.to, 0.0, h.low, h.high}) {
    const bool crowded = std::any_of(labelled.begin(), labelled.end(), [&](double other) {
      return std::abs(x(other) - x(tick)) < kTickDistance;
    });
    if (crowded || tick < h.low || tick > h.high) continue;
    labelled.push_back(tick);
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.3g}</text>",
                         x(tick), kPlotHeight + 20, tick);
  }
  body_ += "\n</svg><figcaption>" + html_escape(caption) + "</figcaption></figure>\n";
}

void HtmlPage::picture(std::string_view svg, std::string_view caption) {
  body_ +=
      fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, html_escape(caption));
}

std::string HtmlPage::text() const {
  return fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                     "<title>{0}</title><style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n{2}"
                     "</body></html>\n",
                     html_escape(title_), kStyle, body_);
}

} // namespace octet
