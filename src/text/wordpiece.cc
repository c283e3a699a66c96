// SPDX-License-Identifier: Apache-2.0
#include "text/wordpiece.h"

#include <algorithm>

#include "core/utf8.h"
#include "text/unicode.h"

namespace octet::text {
namespace {

unsigned char byte_of(char c) {
  return static_cast<unsigned char>(c);
}

} // namespace

void Tokens::shrink(size_t count) {
  ids.resize(count);
  if (want_offsets) offsets.resize(count);
  if (want_words) words.resize(count);
}

WordPiece::WordPiece(const std::vector<std::string>& tokens,
                     const std::vector<int32_t>& sorted,
                     size_t in_model,
                     int32_t unknown,
                     size_t max_characters,
                     const NormalizerOptions& options)
    : normalizer_(options), unknown_(unknown), max_characters_(max_characters) {
  std::vector<Trie::Entry> begins;
  std::vector<Trie::Entry> continues;
  for (const int32_t id : sorted) {
    const std::string_view token = tokens[static_cast<size_t>(id)];
    // No word is longer, so that such an entry is never found.
    if (token.size() > 4 * max_characters_ + 2 || static_cast<size_t>(id) >= in_model) continue;
    if (!token.starts_with("##")) {
      begins.emplace_back(token, id);
    } else if (token.size() > 2) {
      continues.emplace_back(token.substr(2), id);
    }
  }
  words_ = Trie(begins);
  continuations_ = Trie(continues);
  for (uint32_t c = 0; c < 256; ++c) {
    const bool removed = c >= 0x80 || is_removed(c);
    const bool space = c < 0x80 && is_space(c) && !(options.clean_text && removed);
    kinds_[c] = space                           ? Kind::kSpace
                : removed                       ? Kind::kOther
                : c < 0x80 && is_punctuation(c) ? Kind::kPunctuation
                                                : Kind::kWord;
    fold_[c] = static_cast<unsigned char>(options.lowercase && c >= 'A' && c <= 'Z' ? c + 32 : c);
    if (c >= 0x80) continue;
    const int32_t id = words_.value(words_.step(Trie::kRoot, static_cast<unsigned char>(c)));
    punctuation_[c] = id < 0 ? unknown : id;
  }
}

/// `fold` maps a byte of the word to one of the trie; `place` gives the source characters of the
/// bytes [begin, end) of the word.
template <class Fold, class Place>
void WordPiece::cut(
    std::string_view word, size_t characters, Fold fold, Place place, Tokens& out) const {
  const size_t before = out.ids.size();
  const Trie* trie = &words_;
  size_t begin = characters > max_characters_ ? word.size() + 1 : 0;
  while (begin < word.size()) {
    int32_t best = -1;
    size_t best_end = begin;
    uint32_t node = Trie::kRoot;
    for (size_t i = begin; i < word.size(); ++i) {
      node = trie->step(node, fold(byte_of(word[i])));
      if (node == Trie::kRoot) break;
      if (trie->value(node) >= 0) {
        best = trie->value(node);
        best_end = i + 1;
      }
    }
    if (best < 0) break;
    const Offset at = place(begin, best_end);
    out.emit(best, at.begin, at.end);
    begin = best_end;
    trie = &continuations_;
  }
  if (begin != word.size()) {
    out.shrink(before);
    const Offset at = place(size_t{0}, word.size());
    out.emit(unknown_, at.begin, at.end);
  }
  ++out.word_count;
}

/// Everything up to the next ASCII space or punctuation: nothing combines across these.
const char* WordPiece::encode_other(const char* p, const char* end, Tokens& out) const {
  const char* stop = p;
  while (stop < end &&
         (kinds_[byte_of(*stop)] == Kind::kWord || kinds_[byte_of(*stop)] == Kind::kOther))
    ++stop;
  thread_local Normalizer::Output normal;
  normalizer_.normalize(p, stop, normal);
  const std::string_view text = normal.bytes;
  const uint32_t first = out.characters;
  out.characters += normal.characters;
  Normalizer::split(text, [&](size_t word, size_t word_end) {
    const std::string_view bytes = text.substr(word, word_end - word);
    cut(
        bytes, count_characters(bytes), [](unsigned char b) { return b; },
        [&](size_t begin, size_t last) {
          return Offset{first + normal.origin[word + begin],
                        first + normal.origin[word + last - 1] + 1};
        },
        out);
  });
  return stop;
}

void WordPiece::encode(std::string_view text, size_t limit, Tokens& out) const {
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end && out.ids.size() < limit) {
    const unsigned char c = byte_of(*p);
    switch (kinds_[c]) {
    case Kind::kSpace:
      ++p;
      ++out.characters;
      break;
    case Kind::kPunctuation:
      out.emit(punctuation_[c], out.characters, out.characters + 1);
      ++out.word_count;
      ++p;
      ++out.characters;
      break;
    case Kind::kOther:
      p = encode_other(p, end, out);
      break;
    case Kind::kWord: {
      const char* stop = p + 1;
      while (stop < end && kinds_[byte_of(*stop)] == Kind::kWord)
        ++stop;
      if (stop < end && kinds_[byte_of(*stop)] == Kind::kOther) {
        p = encode_other(p, end, out);
        break;
      }
      const std::string_view word(p, static_cast<size_t>(stop - p));
      const uint32_t first = out.characters;
      cut(
          word, word.size(), [&](unsigned char b) { return fold_[b]; },
          [&](size_t begin, size_t last) {
            return Offset{first + static_cast<uint32_t>(begin),
                          first + static_cast<uint32_t>(last)};
          },
          out);
      out.characters += static_cast<uint32_t>(word.size());
      p = stop;
      break;
    }
    }
  }
}

} // namespace octet::text
