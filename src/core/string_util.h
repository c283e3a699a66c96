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

/// `; did you mean "x"?` or `; known are a, b, c`: the end of an error about an unknown name.
std::string suggestion(std::string_view text, std::span<const std::string> names);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// Decimal digits alone, above 0 and within int64; 0: something else.
int64_t whole_number(std::string_view text);
/// `1 example`, `2 examples`; nouns that take an s.
std::string counted(int64_t count, std::string_view noun);
std::string join(std::span<const std::string> parts, std::string_view separator);

} // namespace octet
