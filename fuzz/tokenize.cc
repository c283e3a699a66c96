// SPDX-License-Identifier: Apache-2.0
// Any bytes as text: ids are in the vocabulary, offsets in the text, limits are kept, and a text
// that is cut short begins like the whole one.
#include <algorithm>
#include <cstdlib>

#include "core/utf8.h"
#include "replay/seeds.h"

#include "octet/tokenizer.h"

namespace {

const octet::Tokenizer& tokenizer(bool lowercase) {
  static const std::vector<std::string> vocabulary = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                                      "a",     "b",     "##a",   "##b",   "##ab",
                                                      "e",     ".",     "中",    "##é",   "ᄀ"};
  static const auto lower = octet::Tokenizer::create(vocabulary, {}).value();
  static const auto cased = octet::Tokenizer::create(vocabulary, {.lowercase = false}).value();
  return lowercase ? lower : cased;
}

} // namespace

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"abab éb.中\xF0\x9F\x98\x80 [MASK]", "e\xCC\x81\xEA\xB0\x80\xFF\xE4\xB8 \xC2\xA0x",
          std::string(300, 'a')};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  uint32_t characters = 0;
  for (size_t i = 0; i < size; ++characters)
    i += octet::decode_utf8(text.data() + i, text.data() + size).bytes;
  for (const bool lowercase : {true, false}) {
    const octet::Tokenizer& t = tokenizer(lowercase);
    const octet::Encoding whole =
        t.encode(text, {.special_tokens = false, .offsets = true, .words = true});
    if (whole.offsets.size() != whole.ids.size() || whole.words.size() != whole.ids.size())
      std::abort();
    for (size_t i = 0; i < whole.ids.size(); ++i) {
      const octet::Offset at = whole.offsets[i];
      if (whole.ids[i] < 0 || whole.ids[i] >= t.size() || at.begin >= at.end || at.end > characters)
        std::abort();
    }
    const octet::Encoding cut = t.encode(text, {.max_length = 3, .special_tokens = false});
    if (cut.ids.size() != std::min<size_t>(whole.ids.size(), 3) ||
        !std::equal(cut.ids.begin(), cut.ids.end(), whole.ids.begin()))
      std::abort();
    static_cast<void>(t.decode(whole.ids));
  }
  return 0;
}
