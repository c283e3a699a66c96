// SPDX-License-Identifier: Apache-2.0
// Records of delimited text. TSV: a line each, columns apart by tabs, nothing quoted (the IANA
// media type text/tab-separated-values). CSV: RFC 4180, where a quoted field may hold commas,
// doubled quotes and line ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "octet/result.h"

namespace octet {

enum class TableFormat { kTsv, kCsv };

/// The fields, as they are written, of the record at `at`, which must not be the end of the text.
/// Returns where the next record begins. Errors (without a place): a quoted field that does not
/// end, text behind a closing quote.
Result<size_t> split_record(std::string_view text,
                            size_t at,
                            TableFormat format,
                            std::vector<std::string_view>& fields);

/// What a field means: without the quotes of CSV.
std::string field_value(std::string_view field, TableFormat format);

} // namespace octet
