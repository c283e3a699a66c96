// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include <algorithm>
#include <span>

#include "text/unicode_tables.h"
#include <utf8proc.h>

namespace octet::text {
namespace {

bool contains(std::span<const Range> ranges, uint32_t code) {
  const auto after = std::partition_point(ranges.begin(), ranges.end(),
                                          [&](const Range& r) { return r.last < code; });
  return after != ranges.end() && after->first <= code;
}

bool between(uint32_t code, uint32_t first, uint32_t last) {
  return code - first <= last - first;
}

/// Letters whose lower case is younger than Unicode 15: from `first` to `last` at a fixed distance.
struct LowerRange {
  uint32_t first, last, lower;
};
constexpr LowerRange kYoungLower[] = {
    {0x1C89, 0x1C89, 0x1C8A},    {0xA7CB, 0xA7CB, 0x264},  {0xA7CC, 0xA7CC, 0xA7CD},
    {0xA7CE, 0xA7CE, 0xA7CF},    {0xA7D2, 0xA7D2, 0xA7D3}, {0xA7D4, 0xA7D4, 0xA7D5},
    {0xA7DA, 0xA7DA, 0xA7DB},    {0xA7DC, 0xA7DC, 0x19B},  {0x10D50, 0x10D65, 0x10D70},
    {0x16EA0, 0x16EB8, 0x16EBB},
};

} // namespace

bool is_removed(uint32_t code) {
  if (code < 0x80) return code < 0x20 ? code != '\t' && code != '\n' && code != '\r' : code == 0x7F;
  return contains(kRemoved, code);
}

bool is_space(uint32_t code) {
  if (code < 0x80) return code == ' ' || between(code, 9, 13);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || between(code, 0x2000, 0x200A) ||
         between(code, 0x2028, 0x2029) || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_cjk(uint32_t code) {
  // The hole at 2B820 is BERT's own: its range begins at 2B920.
  return between(code, 0x4E00, 0x9FFF) || between(code, 0x3400, 0x4DBF) ||
         between(code, 0xF900, 0xFAFF) || between(code, 0x20000, 0x2A6DF) ||
         between(code, 0x2A700, 0x2B81F) || between(code, 0x2B920, 0x2CEAF) ||
         between(code, 0x2F800, 0x2FA1F);
}

bool is_mark(uint32_t code) {
  return code >= 0x300 && contains(kMarks, code);
}

bool is_punctuation(uint32_t code) {
  if (code < 0x80)
    return between(code, '!', '/') || between(code, ':', '@') || between(code, '[', '`') ||
           between(code, '{', '~');
  return contains(kPunctuation, code);
}

int combining_class(uint32_t code) {
  if (code < 0x300 || contains(kStarters, code)) return 0;
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code))->combining_class;
}

Expansion decompose(uint32_t code) {
  Expansion out{{code}, 1};
  if (code < 0xC0 || contains(kWhole, code)) return out;
  std::array<utf8proc_int32_t, 4> codes;
  int boundary = 0;
  const utf8proc_ssize_t n = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code), codes.data(),
      static_cast<utf8proc_ssize_t>(codes.size()), UTF8PROC_DECOMPOSE, &boundary);
  if (n < 1 || n > static_cast<utf8proc_ssize_t>(codes.size())) return out;
  out.size = static_cast<uint32_t>(n);
  std::copy_n(codes.begin(), n, out.codes.begin());
  return out;
}

Expansion lower(uint32_t code) {
  if (code < 0x80) return {{between(code, 'A', 'Z') ? code + 32 : code}, 1};
  if (code == 0x130) return {{'i', 0x307}, 2}; // the only one that gives two
  if (code >= kYoungLower[0].first)
    for (const LowerRange& r : kYoungLower)
      if (between(code, r.first, r.last)) return {{code - r.first + r.lower}, 1};
  return {{static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)))}, 1};
}

} // namespace octet::text
