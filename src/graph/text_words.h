// SPDX-License-Identifier: Apache-2.0
// Words of the textual form: what stands bare, what is quoted, and how.
#pragma once

#include <string>
#include <string_view>

namespace octet {

/// Whether a character may stand in a bare word.
bool is_word_char(char c);
/// The text bare where it can be, else quoted.
std::string word(std::string_view text);
/// In double quotes; backslash, quote and control characters as escapes (\n, \xNN).
std::string in_quotes(std::string_view text);
std::string hex(std::string_view bytes);

} // namespace octet
