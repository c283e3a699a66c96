// SPDX-License-Identifier: Apache-2.0
// Labelled texts from files of records: TSV, CSV and JSON lines, read through one index.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/table.h"
#include "data/text_file.h"

#include "octet/text_source.h"

namespace octet {

/// A record as it is written.
struct RawRecord {
  std::string text, text2, label;
};

/// Which columns (or keys) a record's parts are in, by name or, without a header, by number from 1.
struct RecordColumns {
  std::string text = "text";
  std::optional<std::string> text2;
  std::optional<std::string> label;
  /// No label column was asked for: "label" is taken where there is one.
  bool label_if_present = true;
};

/// Reads the records of one file.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// Where the first record begins.
  virtual size_t begin() const = 0;
  virtual bool pairs() const = 0;
  virtual bool labelled() const = 0;
  /// The record at `at`; returns where the next one begins. Errors have no place.
  virtual Result<size_t> read(size_t at, RawRecord& out) const = 0;
};

enum class Header { kNo, kYes };

/// Errors name the file: no header, a column that is not there (with the nearest name) or is there
/// twice. Reading errors: a row with more or fewer columns than the first one.
Result<std::unique_ptr<RecordReader>> make_table_reader(const TextFile& file,
                                                        TableFormat format,
                                                        Header header,
                                                        const RecordColumns& columns);
/// Objects one a line; keys of the first one decide whether there are labels. Texts are strings,
/// labels strings, integers or booleans.
Result<std::unique_ptr<RecordReader>> make_json_reader(const TextFile& file,
                                                       const RecordColumns& columns);

struct RecordFile {
  TextFile file;
  std::unique_ptr<RecordReader> reader;
};

/// What the labels of a set may be.
struct LabelRules {
  /// Class names; empty: found in the files (integers from 0 on, else names in sorted order).
  std::vector<std::string> classes;
  bool found = false;  ///< the classes above were found in a training file, not given by the user
  bool ignore = false; ///< leave the set unlabelled
};

/// A part of the records, cut off for testing by a hash of their position.
struct HeldOut {
  double share = 0; ///< 0: nothing is held out
  Split part = Split::kTrain;
};

/// The share that `test=10%` holds out; none where the value is no percentage. Errors: a share that
/// is not possible.
Result<std::optional<double>> share_to_hold_out(const std::string& test);

/// The description is `NAME, 25000 NOUNsNOTE`.
struct Wording {
  std::string name, noun, note;
};

/// Indexes and checks every record.
/// Errors name file and line: an empty text, a label that is no class, unlabelled records among
/// labelled ones, no records at all.
Result<std::shared_ptr<const TextSource>> make_record_source(std::vector<RecordFile> files,
                                                             const LabelRules& rules,
                                                             const HeldOut& held_out,
                                                             const Wording& wording);

/// Whether an example belongs to the part; a function of its index alone.
bool belongs_to(const HeldOut& held_out, int64_t index);

} // namespace octet
