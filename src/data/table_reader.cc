// SPDX-License-Identifier: Apache-2.0
// Records of TSV and CSV files.
#include <charconv>

#include "core/format.h"
#include "core/string_util.h"
#include "data/records.h"

namespace octet {
namespace {

/// A column's position; texts that are not names may be numbers from 1 on where there is no header.
Result<size_t> find_column(const std::string& wanted,
                           const std::vector<std::string>& names,
                           size_t count,
                           const std::string& place) {
  if (names.empty()) {
    size_t number = 0;
    const auto [end, code] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
    const bool whole = code == std::errc() && end == wanted.data() + wanted.size();
    if (whole && number >= 1 && number <= count) return number - 1;
    return error("{}no column {} among {}; without a header columns go by number from 1", place,
                 wanted, count);
  }
  size_t found = names.size();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != wanted) continue;
    if (found < names.size())
      return error("{}two columns are named \"{}\"; rename one", place, wanted);
    found = i;
  }
  if (found < names.size()) return found;
  return error(ErrorCode::kNotFound,
               "{}no column \"{}\"{} (header=no where the file has no header)", place, wanted,
               suggestion(wanted, names));
}

class TableReader final : public RecordReader {
 public:
  TableReader(TextFile file, TableFormat format) : file_(std::move(file)), format_(format) {}

  Status open(Header header, const RecordColumns& columns) {
    const std::string_view text = file_.text();
    std::vector<std::string_view> fields;
    while (begin_ < text.size() && fields.empty()) {
      size_t next = begin_;
      if (next_line(text, next).empty()) {
        begin_ = next;
        continue;
      }
      next = OCTET_TRY_WITH(split_record(text, begin_, format_, fields), file_.place(begin_));
      first_line_ = file_.line_at(begin_);
      if (header == Header::kYes) begin_ = next;
    }
    if (fields.empty()) return error("{} is empty; name a file with rows", file_.name());
    count_ = fields.size();
    const std::string place = file_.name() + ": ";
    std::vector<std::string> names;
    for (size_t i = 0; header == Header::kYes && i < count_; ++i)
      names.emplace_back(trim(field_value(fields[i], format_)));
    text_ = OCTET_TRY(find_column(columns.text, names, count_, place));
    if (columns.text2) text2_ = OCTET_TRY(find_column(*columns.text2, names, count_, place));
    std::optional<std::string> label = columns.label;
    for (const std::string& name : names) {
      if (!label && columns.label_if_present && name == "label") label = name;
    }
    if (label) label_ = OCTET_TRY(find_column(*label, names, count_, place));
    return ok_status();
  }

  size_t begin() const override { return begin_; }
  bool pairs() const override { return text2_.has_value(); }
  bool labelled() const override { return label_.has_value(); }

  Result<size_t> read(size_t at, RawRecord& out) const override {
    std::vector<std::string_view> fields;
    const size_t next = OCTET_TRY(split_record(file_.text(), at, format_, fields));
    if (fields.size() != count_) {
      return error("{} column{}, line {} has {}; {}", fields.size(), fields.size() == 1 ? "" : "s",
                   first_line_, count_,
                   format_ == TableFormat::kTsv ? "a tab inside of a text must be removed"
                                                : "quote texts that hold commas");
    }
    out.text = field_value(fields[text_], format_);
    out.text2 = text2_ ? field_value(fields[*text2_], format_) : std::string();
    out.label = label_ ? std::string(trim(field_value(fields[*label_], format_))) : std::string();
    return next;
  }

 private:
  TextFile file_;
  TableFormat format_;
  size_t begin_ = 0;
  size_t count_ = 0;
  int64_t first_line_ = 1;
  size_t text_ = 0;
  std::optional<size_t> text2_, label_;
};

} // namespace

Result<std::unique_ptr<RecordReader>> make_table_reader(const TextFile& file,
                                                        TableFormat format,
                                                        Header header,
                                                        const RecordColumns& columns) {
  auto reader = std::make_unique<TableReader>(file, format);
  OCTET_TRY(reader->open(header, columns));
  return std::unique_ptr<RecordReader>(std::move(reader));
}

} // namespace octet
