// SPDX-License-Identifier: Apache-2.0
// BertNormalizer for text that is not plain ASCII: cleaning, spaces around ideographs, canonical
// decomposition without marks, lower case. Every byte of the result knows the source character that
// Hugging Face's NormalizedString aligns it with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "octet/tokenizer.h"

namespace octet::text {

class Normalizer {
 public:
  explicit Normalizer(const NormalizerOptions& options)
      : options_(options),
        strip_(options.strip_accents == NormalizerOptions::StripAccents::kYes ||
               (options.strip_accents == NormalizerOptions::StripAccents::kAuto &&
                options.lowercase)) {}

  struct Output {
    std::string bytes;            ///< UTF-8
    std::vector<uint32_t> origin; ///< for each byte: index of its source character
    uint32_t characters = 0;      ///< of the source
  };
  /// [begin, end) must be cut where nothing combines across: before or after ASCII. `out` is
  /// replaced; its memory is reused.
  void normalize(const char* begin, const char* end, Output& out) const;

  const NormalizerOptions& options() const { return options_; }

 private:
  NormalizerOptions options_;
  bool strip_;
};

} // namespace octet::text
