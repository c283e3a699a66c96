// SPDX-License-Identifier: Apache-2.0
// What BERT's tokenizer asks about characters, with the Unicode data that Hugging Face's fast
// tokenizers (0.23) have: categories of Unicode 8, decompositions of Unicode 9, lower case of
// Unicode 17. utf8proc gives decompositions, combining classes and lower case; the tables here hold
// what is independent of its version and where it differs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace octet::text {

/// Removed by clean_text. Tabs, line feeds and carriage returns are not.
bool is_removed(uint32_t code);
/// White_Space of Unicode.
bool is_space(uint32_t code);
bool is_cjk(uint32_t code);
/// Nonspacing marks, which strip_accents removes.
bool is_mark(uint32_t code);
/// Words of their own: categories P, and every ASCII symbol.
bool is_punctuation(uint32_t code);

/// Canonical combining class.
int combining_class(uint32_t code);

/// A few code points that replace one.
struct Expansion {
  std::array<uint32_t, 4> codes;
  uint32_t size;
};
Expansion decompose(uint32_t code);
Expansion lower(uint32_t code);

} // namespace octet::text
