// SPDX-License-Identifier: Apache-2.0
#include "graph/text_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace octet {
namespace {

constexpr std::array<std::string_view, 6> kKeywords = {"graph",   "input",  "const",
                                                       "capture", "output", "_"};

} // namespace

bool is_word_char(char c) {
  const auto u = static_cast<unsigned char>(c);
  return std::isalnum(u) != 0 || c == '_' || c == '.' || c == '/' || c == ':' || c == '-';
}

std::string word(std::string_view text) {
  const bool starts = !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 ||
                                        text[0] == '_' || text[0] == '/');
  // A trailing colon would run into the one after a name.
  const bool bare = starts && text.back() != ':' &&
                    std::all_of(text.begin(), text.end(), is_word_char) &&
                    std::find(kKeywords.begin(), kKeywords.end(), text) == kKeywords.end();
  return bare ? std::string(text) : in_quotes(text);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20 || u == 0x7f) {
      out += "\\x" + hex(std::string_view(&c, 1));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

} // namespace octet
