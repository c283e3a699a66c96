// SPDX-License-Identifier: Apache-2.0
// A self-contained HTML page: headings, tables and bar charts, no scripts, nothing fetched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

class HtmlPage {
 public:
  explicit HtmlPage(std::string title) : title_(std::move(title)) {}

  void paragraph(std::string_view text);
  void heading(std::string_view text);
  void table(const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows);
  /// The same with cells of words, which wrap on narrow screens.
  void text_table(const std::vector<std::string>& header,
                  const std::vector<std::vector<std::string>>& rows);
  struct Bar {
    std::string label;
    double value = 0;
    std::string text;         ///< shown at the bar's end
    double low = 0, high = 0; ///< an interval, drawn when high > low
  };
  /// Horizontal bars; the axis starts at `from`.
  void bars(std::string_view caption, const std::vector<Bar>& bars, double from = 0);
  /// Counts in bins of equal width from `low` to `high`, on a logarithmic axis.
  struct Histogram {
    double low = 0, high = 0;
    std::vector<double> counts;
    double from = 0, to = 0;   ///< a range that is shaded, drawn when to > from
    std::vector<double> steps; ///< places within it that are marked
  };
  void histogram(std::string_view caption, const Histogram& histogram);
  /// A picture of octet's own, as SVG.
  void picture(std::string_view svg, std::string_view caption);
  std::string text() const;

 private:
  void table(std::string_view opening,
             const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows);

  std::string title_, body_;
};

/// With &, <, > and quotes as entities.
std::string html_escape(std::string_view text);

} // namespace octet
