// SPDX-License-Identifier: Apache-2.0
// Small help with text: "did you mean", splitting, joining.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, bytewise.
int edit_distance(std::string_view a, std::string_view b);

/// The name closest to `text`, the case of ASCII letters ignored; none when all are further away
/// than a third of the longer one's length.
std::optional<std::string> nearest_match(std::string_view text, std::span<const std::string> names);

/// `; did you mean "x"?` or `; known are a, b, c`, some of very many: the end of an error about an
/// unknown name.
std::string suggestion(std::string_view text, std::span<const std::string> names);

/// With the letters of ASCII in lower case.
std::string lowered(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// Decimal digits alone, above 0 and within int64; 0: something else.
int64_t whole_number(std::string_view text);
/// A decimal number that is the whole text and finite.
std::optional<double> decimal_number(std::string_view text);
/// `1 example`, `2 examples`; nouns that take an s.
std::string counted(int64_t count, std::string_view noun);
std::string join(std::span<const std::string> parts, std::string_view separator);
/// At most `most` parts with commas between them, and how many more there are: for lists of any
/// length in a message. A long part is cut.
std::string join_some(std::span<const std::string> parts, size_t most = 8);

/// True when `text` matches `pattern` (`*` any run, `?` any one character).
bool glob_match(std::string_view pattern, std::string_view text);

} // namespace octet
