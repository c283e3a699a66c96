// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>

#include <utf8proc.h>

namespace octet {
namespace {

/// Columns that a terminal shows for the text.
size_t width(const std::string& text) {
  size_t columns = 0;
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t taken = utf8proc_iterate(at, left, &code);
    if (taken <= 0) return text.size();
    columns += static_cast<size_t>(std::max(0, utf8proc_charwidth(code)));
    at += taken;
    left -= taken;
  }
  return columns;
}

bool starts_as_number(const std::string& text) {
  return !text.empty() && (text[0] == '-' || text[0] == '+' || (text[0] >= '0' && text[0] <= '9'));
}

} // namespace

std::string Table::text() const {
  const size_t columns = rows_.front().size();
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> right(columns, rows_.size() > 1);
  for (size_t r = 0; r < rows_.size(); ++r)
    for (size_t c = 0; c < columns && c < rows_[r].size(); ++c) {
      widths[c] = std::max(widths[c], width(rows_[r][c]));
      if (r > 0 && !starts_as_number(rows_[r][c])) right[c] = false;
    }
  std::string out;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (right[c] ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

} // namespace octet
