// SPDX-License-Identifier: Apache-2.0
// The name of a data set of texts or images: kind:PLACE,PLACE?key=value&key=value.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/result.h"

namespace octet {

struct TextSpec {
  std::string kind;
  std::vector<std::string> places; ///< files or a folder; none for generated sets
  std::vector<std::pair<std::string, std::string>> options;

  /// Null when the option is not given.
  const std::string* find(std::string_view key) const;
  /// Errors: an option that is not among `keys`, or given twice.
  Status allow(std::span<const std::string> keys) const;
};

/// What stands behind the last `?` is options when it has a `=`; %XX in a value is the byte XX.
/// Errors: an empty place, an option without a value.
Result<TextSpec> parse_text_spec(std::string_view spec);

} // namespace octet
