// SPDX-License-Identifier: Apache-2.0
#include "data/table.h"

#include "core/format.h"
#include "core/string_util.h"
#include "data/text_file.h"

namespace octet {
namespace {

/// One past the closing quote of the field that opens at `at`; npos: it does not close.
size_t end_of_quoted(std::string_view text, size_t at) {
  size_t quote = text.find('"', at + 1);
  while (quote != std::string_view::npos) {
    if (quote + 1 >= text.size() || text[quote + 1] != '"') return quote + 1;
    quote = text.find('"', quote + 2);
  }
  return std::string_view::npos;
}

Result<size_t> split_csv(std::string_view text, size_t at, std::vector<std::string_view>& fields) {
  while (true) {
    const bool quoted = at < text.size() && text[at] == '"';
    const size_t end = quoted ? end_of_quoted(text, at) : text.find_first_of(",\n", at);
    if (quoted && end == std::string_view::npos)
      return error("the quoted column {} does not end; close it with \"", fields.size() + 1);
    const size_t stop = std::min(end, text.size());
    std::string_view field = text.substr(at, stop - at);
    const bool last = stop == text.size() || text[stop] == '\n';
    const bool line_end = quoted && text.substr(stop, 2) == "\r\n";
    if (!quoted && last && !field.empty() && field.back() == '\r') field.remove_suffix(1);
    fields.push_back(field);
    if (last || line_end) return std::min(stop + (line_end ? 2 : 1), text.size());
    if (text[stop] != ',') {
      return error("column {} goes on after its closing quote; write a quote inside of a quoted "
                   "column twice",
                   fields.size());
    }
    at = stop + 1;
  }
}

} // namespace

Result<size_t> split_record(std::string_view text,
                            size_t at,
                            TableFormat format,
                            std::vector<std::string_view>& fields) {
  fields.clear();
  if (format == TableFormat::kCsv) return split_csv(text, at, fields);
  const std::string_view line = next_line(text, at);
  fields = split(line, '\t');
  return at;
}

std::string field_value(std::string_view field, TableFormat format) {
  if (format == TableFormat::kTsv || field.empty() || field[0] != '"') return std::string(field);
  std::string out;
  out.reserve(field.size());
  for (size_t i = 1; i + 1 < field.size(); ++i) {
    out += field[i];
    if (field[i] == '"') ++i;
  }
  return out;
}

} // namespace octet
