// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of text files share: every record is read twice, by the index and by
// itself.
#pragma once

#include <cstdlib>

#include "data/records.h"

namespace octet::fuzz {

/// Whatever is accepted can be read again, has text, and labels among its classes.
inline void read_all(const TextFile& file, Result<std::unique_ptr<RecordReader>> reader) {
  if (!reader.ok()) return;
  std::vector<RecordFile> files;
  files.push_back({file, std::move(*reader)});
  const auto source = make_record_source(std::move(files), {}, {}, {"input", "rows"});
  if (!source.ok()) return;
  const auto classes = static_cast<int64_t>((*source)->classes().size());
  for (int64_t i = 0; i < (*source)->size(); ++i) {
    const auto example = (*source)->example(i);
    if (!example.ok() || is_blank(example->text)) std::abort();
    if (example->label >= classes || (classes > 0 && example->label < 0)) std::abort();
  }
}

/// A table with a header and named columns, and one without.
inline void read_table(const uint8_t* data, size_t size, TableFormat format) {
  const TextFile file =
      TextFile::from("input", std::string(reinterpret_cast<const char*>(data), size));
  RecordColumns columns;
  read_all(file, make_table_reader(file, format, Header::kYes, columns));
  columns.text = "2";
  columns.label = "1";
  read_all(file, make_table_reader(file, format, Header::kNo, columns));
}

} // namespace octet::fuzz
