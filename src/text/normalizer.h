// SPDX-License-Identifier: Apache-2.0
// BertNormalizer for text that is not plain ASCII: cleaning, spaces around ideographs, canonical
// decomposition without marks, lower case. Every byte of the result knows the source character that
// Hugging Face's NormalizedString aligns it with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "text/unicode.h"

#include "octet/tokenizer.h"

namespace octet::text {

class Normalizer {
 public:
  explicit Normalizer(const NormalizerOptions& options)
      : options_(options),
        strip_(options.strip_accents == NormalizerOptions::StripAccents::kYes ||
               (options.strip_accents == NormalizerOptions::StripAccents::kAuto &&
                options.lowercase)) {}

  struct Character {
    uint32_t code;
    uint32_t origin; ///< index of its source character
  };
  struct Output {
    std::string bytes;            ///< UTF-8
    std::vector<uint32_t> origin; ///< for each byte: index of its source character
    uint32_t characters = 0;      ///< of the source
  };
  /// [begin, end) must be cut where nothing combines across: before or after ASCII. `out` is
  /// replaced; its memory is reused.
  void normalize(const char* begin, const char* end, Output& out) const;

  /// Calls `word(begin, end)` with the bytes of each word of normalized text: spaces go,
  /// punctuation stands alone (BertPreTokenizer).
  template <class Word>
  static void split(std::string_view text, Word&& word);

  const NormalizerOptions& options() const { return options_; }

 private:
  using Run = std::vector<Character>;
  void normalize_run(Run& run, Output& out) const;

  NormalizerOptions options_;
  bool strip_;
};

template <class Word>
void Normalizer::split(std::string_view text, Word&& word) {
  size_t begin = 0;
  const auto finish = [&](size_t end) {
    if (begin != end) word(begin, end);
    begin = end;
  };
  for (size_t i = 0; i < text.size();) {
    const Decoded c = decode_utf8(text.data() + i, text.data() + text.size());
    const size_t next = i + c.bytes;
    if (is_space(c.code)) {
      finish(i);
      begin = next;
    } else if (is_punctuation(c.code)) {
      finish(i);
      finish(next);
    }
    i = next;
  }
  finish(text.size());
}

} // namespace octet::text
