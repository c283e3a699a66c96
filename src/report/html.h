// SPDX-License-Identifier: Apache-2.0
// A self-contained HTML page: headings, tables and bar charts, no scripts, nothing fetched.
#pragma once

#include <cstdint>
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
  /// Horizontal bars from 0 on.
  void bars(std::string_view caption, const std::vector<Bar>& bars);
  /// The same values as points with their intervals, which may lie close together: the axis covers
  /// them alone and has its numbers written below.
  void points(std::string_view caption, const std::vector<Bar>& bars);
  /// Counts by [row][column] of the same names, shaded by their share of the row.
  void matrix(std::string_view caption,
              const std::vector<std::string>& names,
              const std::vector<std::vector<int64_t>>& counts);
  /// How and where the page was made, small, below the title.
  void origin(std::string_view text);
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
  void begin_chart(std::string_view caption, const std::vector<Bar>& bars, double below);
  /// The interval, and the text behind it, on an axis from `from` to `to`.
  void end_row(const Bar& bar, double y, double from, double to);
  void end_chart(std::string_view caption);
  void table(std::string_view opening,
             const std::vector<std::string>& header,
             const std::vector<std::vector<std::string>>& rows);

  std::string title_, body_;
};

/// With &, <, > and quotes as entities.
std::string html_escape(std::string_view text);

} // namespace octet
