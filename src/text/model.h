// SPDX-License-Identifier: Apache-2.0
// What a tokenizer is made of: its vocabulary, special tokens, added tokens and WordPiece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/wordpiece.h"

#include "octet/tokenizer.h"

namespace octet::text {

/// Files above this are refused before they are read.
constexpr size_t kMaxFileBytes = size_t{64} << 20;

/// A token that is looked for in the text as it stands, before anything else.
struct AddedToken {
  int32_t id;
  bool special; ///< left out when decoding
};

/// A tokenizer's settings as read from files, not yet checked.
struct Description {
  std::vector<std::string> tokens; ///< the index is the id
  size_t in_model = 0;             ///< those from here on are added tokens alone
  std::vector<AddedToken> added;   ///< empty: the special tokens
  NormalizerOptions normalizer;
  size_t max_characters = 100; ///< of a word; longer ones are unknown
  std::string unk = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
};

/// A text up to an added token, which may be missing at the end.
struct Split {
  std::string_view before;
  int32_t added = -1;
  size_t added_bytes = 0;
};

/// Finds added tokens, the leftmost first, at one place the longest.
class AddedTokens {
 public:
  AddedTokens(const std::vector<std::string>& tokens, std::vector<AddedToken> added);
  Split next(std::string_view text) const;
  const std::vector<AddedToken>& list() const { return added_; }

 private:
  std::vector<AddedToken> added_; ///< longest first
  std::vector<std::string> contents_;
  std::array<bool, 256> first_{};
  std::optional<char> only_first_; ///< when all begin alike
};

} // namespace octet::text

namespace octet {

struct Tokenizer::Impl {
  Impl(text::Description description,
       std::vector<int32_t> order,
       std::vector<text::AddedToken> all);

  std::vector<std::string> tokens;
  std::vector<int32_t> sorted; ///< ids, by their tokens
  std::vector<bool> special;   ///< for each id: left out when decoding
  size_t in_model;
  int32_t unk, cls, sep, pad, mask;
  text::WordPiece wordpiece;
  text::AddedTokens added;

  int32_t find(std::string_view token) const;
};

namespace text {

/// Checks and builds. Errors: a missing special token, a duplicate or empty entry.
Result<Tokenizer> build(Description description);
/// vocab.txt: a token a line. Reads tokenizer_config.json beside it when there is one.
Result<Description> read_vocabulary(const std::string& path);
Result<Description> parse_vocabulary(std::string_view content, const std::string& name);
/// Errors: a token that a line cannot hold.
Result<std::string> write_vocabulary(const std::vector<std::string>& tokens);

} // namespace text
} // namespace octet
