// SPDX-License-Identifier: Apache-2.0
// UTF-8, one code point after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace octet {

constexpr uint32_t kReplacement = 0xFFFD;

struct Decoded {
  uint32_t code;
  uint32_t bytes;
};

/// The code point at `p` (p < end). Invalid UTF-8 gives U+FFFD for each maximal subpart (Unicode
/// 15, section 3.9), as Python's errors="replace" does.
Decoded decode_utf8(const char* p, const char* end);
void append_utf8(std::string& out, uint32_t code);
bool is_utf8(std::string_view text);
/// Code points of valid UTF-8.
size_t count_characters(std::string_view utf8);

} // namespace octet
