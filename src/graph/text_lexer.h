// SPDX-License-Identifier: Apache-2.0
// Tokens of the textual form.
#pragma once

#include <string>
#include <string_view>

#include "octet/result.h"

namespace octet {

struct Token {
  enum class Kind { kWord, kString, kNumber, kPunctuation, kNewline, kEnd };
  Kind kind = Kind::kEnd;
  std::string text; ///< unescaped for strings
  int line = 1;

  bool is(char c) const { return kind == Kind::kPunctuation && text[0] == c; }
  /// What messages show.
  std::string describe() const;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// The next token; errors name the line of an unfinished string or a character out of place.
  Result<Token> next();
  /// The raw text up to (not including) the next `stop` or `,` outside parentheses on this line:
  /// a dimension's expression.
  std::string raw_until(char stop);
  int line() const { return line_; }

 private:
  Result<Token> string_token();

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

} // namespace octet
