// SPDX-License-Identifier: Apache-2.0
#include "text/normalizer.h"

#include <algorithm>

#include "text/unicode.h"

namespace octet::text {
namespace {

struct Character {
  uint32_t code;
  uint32_t origin;
};

/// Canonical decomposition and ordering (UAX 15). The first code point of a decomposition takes the
/// next source character, the others share that of the one before them; this is decided after the
/// ordering, as Hugging Face does it.
class Decomposer {
 public:
  explicit Decomposer(std::vector<Character>& out) : out_(out) {}

  void add(Character c) {
    sources_.push_back(c.origin);
    const Expansion parts = decompose(c.code);
    for (uint32_t i = 0; i < parts.size; ++i) {
      const int order = combining_class(parts.codes[i]);
      if (order == 0) flush();
      pending_.push_back({parts.codes[i], order, i == 0});
    }
  }

  void flush() {
    const auto before = [](const Part& a, const Part& b) { return a.order < b.order; };
    if (!std::is_sorted(pending_.begin(), pending_.end(), before))
      std::stable_sort(pending_.begin(), pending_.end(), before);
    for (const Part& part : pending_) {
      taken_ += part.first ? 1 : 0;
      out_.push_back({part.code, sources_[taken_ - 1]});
    }
    pending_.clear();
  }

 private:
  struct Part {
    uint32_t code;
    int order;
    bool first;
  };
  std::vector<Character>& out_;
  std::vector<Part> pending_;
  std::vector<uint32_t> sources_;
  size_t taken_ = 0;
};

} // namespace

void Normalizer::normalize(const char* begin, const char* end, Output& out) const {
  out.bytes.clear();
  out.origin.clear();
  out.characters = 0;
  thread_local std::vector<Character> cleaned;
  thread_local std::vector<Character> plain;
  cleaned.clear();
  for (const char* p = begin; p < end; ++out.characters) {
    const Decoded c = decode_utf8(p, end);
    p += c.bytes;
    if (options_.clean_text && is_removed(c.code)) continue;
    const uint32_t code = options_.clean_text && is_space(c.code) ? ' ' : c.code;
    const bool apart = options_.handle_chinese_chars && is_cjk(code);
    if (apart) cleaned.push_back({' ', out.characters});
    cleaned.push_back({code, out.characters});
    if (apart) cleaned.push_back({' ', out.characters});
  }
  const std::vector<Character>* result = &cleaned;
  if (strip_) {
    plain.clear();
    Decomposer decomposer(plain);
    for (const Character& c : cleaned)
      decomposer.add(c);
    decomposer.flush();
    std::erase_if(plain, [](const Character& c) { return is_mark(c.code); });
    result = &plain;
  }
  for (const Character& c : *result) {
    const Expansion parts = options_.lowercase ? lower(c.code) : Expansion{{c.code}, 1};
    for (uint32_t i = 0; i < parts.size; ++i)
      append_utf8(out.bytes, parts.codes[i]);
    out.origin.resize(out.bytes.size(), c.origin);
  }
}

} // namespace octet::text
