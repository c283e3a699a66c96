// SPDX-License-Identifier: Apache-2.0
#include "graph/text_lexer.h"

#include <cctype>

#include "core/format.h"
#include "graph/text_words.h"

namespace octet {
namespace {

bool starts_number(std::string_view rest) {
  const size_t i = rest[0] == '-' || rest[0] == '+' ? 1 : 0;
  return i < rest.size() && std::isdigit(static_cast<unsigned char>(rest[i])) != 0;
}

int lower_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

} // namespace

std::string Token::describe() const {
  switch (kind) {
  case Kind::kNewline:
    return "the end of the line";
  case Kind::kEnd:
    return "the end of the text";
  default:
    return "\"" + text + "\"";
  }
}

Result<Token> Lexer::next() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '#')) {
    if (text_[at_] != '#') {
      ++at_;
      continue;
    }
    while (at_ < text_.size() && text_[at_] != '\n')
      ++at_;
  }
  Token t;
  t.line = line_;
  if (at_ >= text_.size()) return t;
  const char c = text_[at_];
  if (c == '\n') {
    ++at_;
    ++line_;
    t.kind = Token::Kind::kNewline;
    return t;
  }
  if (c == '"') return string_token();
  const size_t begin = at_;
  if (starts_number(text_.substr(at_))) {
    ++at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.' ||
            ((text_[at_] == '-' || text_[at_] == '+') &&
             (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))))
      ++at_;
    t.kind = Token::Kind::kNumber;
  } else if (is_word_char(c)) {
    while (at_ < text_.size() && is_word_char(text_[at_]))
      ++at_;
    while (at_ > begin + 1 && text_[at_ - 1] == ':')
      --at_;
    t.kind = c == ':' ? Token::Kind::kPunctuation : Token::Kind::kWord;
  } else if (std::string_view("(){}[]=,@").find(c) != std::string_view::npos) {
    ++at_;
    t.kind = Token::Kind::kPunctuation;
  } else {
    return error("line {}: character '{}' has no meaning here", line_, c);
  }
  t.text = std::string(text_.substr(begin, at_ - begin));
  return t;
}

Result<Token> Lexer::string_token() {
  Token t;
  t.kind = Token::Kind::kString;
  t.line = line_;
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\n') break;
    if (text_[at_] != '\\') {
      t.text += text_[at_];
      continue;
    }
    if (++at_ >= text_.size()) break;
    if (text_[at_] == 'n') {
      t.text += '\n';
    } else if (text_[at_] == 'x') {
      const int high = at_ + 1 < text_.size() ? lower_hex_digit(text_[at_ + 1]) : -1;
      const int low = at_ + 2 < text_.size() ? lower_hex_digit(text_[at_ + 2]) : -1;
      if (high < 0 || low < 0) return error("line {}: \\x wants two hex digits", line_);
      t.text += static_cast<char>(high * 16 + low);
      at_ += 2;
    } else {
      t.text += text_[at_];
    }
  }
  if (at_ >= text_.size() || text_[at_] != '"')
    return error("line {}: a string has no closing quote", line_);
  ++at_;
  return t;
}

std::string Lexer::raw_until(char stop) {
  const size_t begin = at_;
  int depth = 0;
  bool in_quotes = false;
  for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    const char c = text_[at_];
    if (c == '"') in_quotes = !in_quotes;
    if (in_quotes) continue;
    if (depth == 0 && (c == stop || c == ',')) break;
    if (c == '(') ++depth;
    if (c == ')') --depth;
  }
  std::string_view raw = text_.substr(begin, at_ - begin);
  while (!raw.empty() && raw.front() == ' ')
    raw.remove_prefix(1);
  while (!raw.empty() && raw.back() == ' ')
    raw.remove_suffix(1);
  return std::string(raw);
}

} // namespace octet
