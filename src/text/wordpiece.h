// SPDX-License-Identifier: Apache-2.0
// WordPiece: a word is cut into the longest entries of the vocabulary from its left end on, or is
// unknown as a whole. Plain ASCII is read where it stands; everything else goes through the
// normalizer, word by word.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/normalizer.h"
#include "text/trie.h"

namespace octet::text {

/// Tokens of one text, without special ones.
struct Tokens {
  std::vector<int32_t> ids;
  std::vector<Offset> offsets; ///< filled when asked for
  std::vector<int32_t> words;  ///< filled when asked for
  bool want_offsets = false;
  bool want_words = false;
  int32_t word_count = 0;
  uint32_t characters = 0; ///< of the source, up to where the next token is looked for

  void emit(int32_t id, uint32_t begin, uint32_t end) {
    ids.push_back(id);
    if (want_offsets) offsets.push_back({begin, end});
    if (want_words) words.push_back(word_count);
  }
  void shrink(size_t count);
};

class WordPiece {
 public:
  /// `tokens[i]` has the id i; those from `in_model` on are not looked for inside words.
  /// Continuations begin with ##.
  WordPiece(const std::vector<std::string>& tokens,
            const std::vector<int32_t>& sorted,
            size_t in_model,
            int32_t unknown,
            size_t max_characters,
            const NormalizerOptions& options);

  /// Appends the tokens of a text that holds no added token; stops early after `limit` tokens.
  void encode(std::string_view text, size_t limit, Tokens& out) const;

  const NormalizerOptions& options() const { return normalizer_.options(); }
  size_t max_characters() const { return max_characters_; }

 private:
  enum class Kind : uint8_t { kWord, kSpace, kPunctuation, kOther };
  template <class Fold, class Place>
  void cut(std::string_view word, size_t characters, Fold fold, Place place, Tokens& out) const;
  const char* encode_other(const char* p, const char* end, Tokens& out) const;

  Normalizer normalizer_;
  Trie words_, continuations_;
  int32_t unknown_;
  size_t max_characters_;
  std::array<Kind, 256> kinds_{};
  std::array<unsigned char, 256> fold_{};
  std::array<int32_t, 128> punctuation_{};
};

} // namespace octet::text
