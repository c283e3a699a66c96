// SPDX-License-Identifier: Apache-2.0
#include "text/normalizer.h"

#include <algorithm>

#include "text/unicode.h"

namespace octet::text {
namespace {

using Character = Normalizer::Character;

/// Canonical decomposition and ordering (UAX 15) of characters between two that nothing combines
/// with. The first code point of a decomposition takes the next source character, the others share
/// that of the one before them; this is decided after the ordering, as Hugging Face does it.
class Decomposer {
 public:
  void run(const std::vector<Character>& in, std::vector<Character>& out) {
    parts_.clear();
    for (const Character& c : in) {
      const Expansion parts = decompose(c.code);
      for (uint32_t i = 0; i < parts.size; ++i)
        parts_.push_back({parts.codes[i], combining_class(parts.codes[i]), i == 0});
    }
    for (auto begin = parts_.begin(); begin != parts_.end();) {
      const auto end =
          std::find_if(begin + 1, parts_.end(), [](const Part& p) { return p.order == 0; });
      const auto before = [](const Part& a, const Part& b) { return a.order < b.order; };
      if (!std::is_sorted(begin, end, before)) std::stable_sort(begin, end, before);
      begin = end;
    }
    out.clear();
    size_t taken = 0;
    for (const Part& part : parts_) {
      taken += part.first ? 1 : 0;
      out.push_back({part.code, in[taken - 1].origin});
    }
  }

 private:
  struct Part {
    uint32_t code;
    int order;
    bool first;
  };
  std::vector<Part> parts_;
};

void append(Normalizer::Output& out, uint32_t code, uint32_t origin) {
  append_utf8(out.bytes, code);
  out.origin.resize(out.bytes.size(), origin);
}

} // namespace

/// Characters between two ASCII ones: what may combine.
void Normalizer::normalize_run(Run& run, Output& out) const {
  thread_local Decomposer decomposer;
  thread_local Run plain;
  const Run* result = &run;
  if (strip_) {
    decomposer.run(run, plain);
    std::erase_if(plain, [](const Character& c) { return is_mark(c.code); });
    result = &plain;
  }
  for (const Character& c : *result) {
    const Expansion parts = options_.lowercase ? lower(c.code) : Expansion{{c.code}, 1};
    for (uint32_t i = 0; i < parts.size; ++i)
      append(out, parts.codes[i], c.origin);
  }
  run.clear();
}

void Normalizer::normalize(const char* begin, const char* end, Output& out) const {
  out.bytes.clear();
  out.origin.clear();
  out.characters = 0;
  thread_local Run run;
  run.clear();
  for (const char* p = begin; p < end; ++out.characters) {
    const Decoded c = decode_utf8(p, end);
    p += c.bytes;
    if (options_.clean_text && is_removed(c.code)) continue;
    const uint32_t code = options_.clean_text && is_space(c.code) ? ' ' : c.code;
    if (code < 0x80) {
      if (!run.empty()) normalize_run(run, out);
      out.bytes.push_back(static_cast<char>(options_.lowercase ? lower(code).codes[0] : code));
      out.origin.push_back(out.characters);
      continue;
    }
    const bool apart = options_.handle_chinese_chars && is_cjk(code);
    if (apart) run.push_back({' ', out.characters});
    run.push_back({code, out.characters});
    if (apart) run.push_back({' ', out.characters});
  }
  normalize_run(run, out);
}

} // namespace octet::text
