// SPDX-License-Identifier: Apache-2.0
#include "text/sentences.h"

namespace octet {
namespace {

constexpr size_t kLongSentence = 1000;
constexpr std::string_view kSpace = " \t\r\n\v\f";
constexpr std::string_view kEnds = ".!?";
constexpr std::string_view kClosing = "\"')]}";

bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

/// Bytes of the HTML break at `at`; 0: there is none.
size_t break_at(std::string_view text, size_t at) {
  if (text[at] != '<' || at + 4 > text.size()) return 0;
  if ((text[at + 1] | 0x20) != 'b' || (text[at + 2] | 0x20) != 'r') return 0;
  size_t end = at + 3;
  while (end < text.size() && (text[end] == ' ' || text[end] == '/'))
    ++end;
  return end < text.size() && text[end] == '>' ? end + 1 - at : 0;
}

/// One past the run of ends and closing marks at `at`; 0: the sentence goes on.
size_t end_at(std::string_view text, size_t at) {
  if (!is_one_of(text[at], kEnds)) return 0;
  while (at < text.size() && (is_one_of(text[at], kEnds) || is_one_of(text[at], kClosing)))
    ++at;
  if (at == text.size()) return at;
  if (!is_one_of(text[at], kSpace)) return 0;
  const size_t next = text.find_first_not_of(kSpace, at);
  const bool lower = next != std::string_view::npos && text[next] >= 'a' && text[next] <= 'z';
  return lower ? 0 : at;
}

void add(std::vector<std::string_view>& out, std::string_view sentence) {
  const size_t begin = sentence.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return;
  out.push_back(sentence.substr(begin, sentence.find_last_not_of(kSpace) - begin + 1));
}

} // namespace

std::vector<std::string_view> split_sentences(std::string_view text) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    size_t skip = break_at(text, at);
    size_t end = at;
    if (skip == 0) {
      const bool long_enough = at - begin >= kLongSentence && is_one_of(text[at], kSpace);
      if (text[at] == '\n' || long_enough) {
        skip = 1;
      } else if (const size_t stop = end_at(text, at)) {
        skip = stop - at;
        end = stop;
      }
    }
    if (skip == 0) {
      ++at;
      continue;
    }
    add(out, text.substr(begin, end - begin));
    at += skip;
    begin = at;
  }
  add(out, text.substr(begin));
  return out;
}

} // namespace octet
