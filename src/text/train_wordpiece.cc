// SPDX-License-Identifier: Apache-2.0
// Trains a WordPiece vocabulary: special tokens, the characters of the text, then joined pieces in
// the order in which they are found.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "core/format.h"
#include "core/progress.h"
#include "core/utf8.h"
#include "text/pair_merger.h"
#include "text/word_counts.h"

#include "octet/tokenizer.h"

namespace octet {
namespace {

using text::PairMerger;
using text::WordCount;

constexpr std::array<const char*, 5> kSpecial = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
/// At most so many characters; a word with another one is not learned from.
constexpr size_t kMaxAlphabet = 1000;
constexpr size_t kMaxCharacters = 100;

/// The vocabulary as it grows. A piece that continues a word has ## before it.
class Pieces {
 public:
  Pieces() {
    for (const char* token : kSpecial)
      add(token);
  }
  int32_t add(const std::string& token) {
    const auto [at, made] = ids_.try_emplace(token, static_cast<int32_t>(tokens_.size()));
    if (made) tokens_.push_back(token);
    return at->second;
  }
  int32_t find(const std::string& token) const {
    const auto at = ids_.find(token);
    return at == ids_.end() ? -1 : at->second;
  }
  std::string joined(PairMerger::Pair pair) const {
    return tokens_[static_cast<size_t>(pair.first)] +
           tokens_[static_cast<size_t>(pair.second)].substr(2);
  }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  std::vector<std::string> take() { return std::move(tokens_); }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
};

struct CharacterUse {
  int64_t count = 0;
  bool inside = false; ///< other than at the beginning of a word
};

template <class Each>
void for_each_character(std::string_view word, Each&& each) {
  for (const char* p = word.data(); p < word.data() + word.size();) {
    const Decoded c = decode_utf8(p, word.data() + word.size());
    each(c.code, p == word.data());
    p += c.bytes;
  }
}

std::string piece_of(uint32_t code, bool begins) {
  std::string out = begins ? "" : "##";
  append_utf8(out, code);
  return out;
}

/// The most frequent characters become pieces, in the order of their code points.
void add_alphabet(const std::vector<WordCount>& words, size_t room, Pieces& pieces) {
  std::map<uint32_t, CharacterUse> uses;
  for (const auto& [word, count] : words)
    for_each_character(word, [&, n = count](uint32_t code, bool begins) {
      CharacterUse& use = uses[code];
      use.count += n;
      use.inside |= !begins;
    });
  std::vector<std::pair<uint32_t, CharacterUse>> order(uses.begin(), uses.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  order.resize(std::min({order.size(), kMaxAlphabet, room / 2}));
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [code, use] : order)
    pieces.add(piece_of(code, true));
  for (const auto& [code, use] : order)
    if (use.inside) pieces.add(piece_of(code, false));
}

void add_words(const std::vector<WordCount>& words, const Pieces& pieces, PairMerger& merger) {
  std::vector<int32_t> symbols;
  for (const auto& [word, count] : words) {
    symbols.clear();
    for_each_character(word, [&](uint32_t code, bool begins) {
      symbols.push_back(pieces.find(piece_of(code, begins)));
    });
    if (std::find(symbols.begin(), symbols.end(), -1) == symbols.end())
      merger.add_word(symbols, count);
  }
}

} // namespace

Result<Tokenizer> train_wordpiece(const std::function<bool(std::string_view&)>& next,
                                  const WordPieceTrainOptions& options) {
  constexpr int64_t kSmallest = kSpecial.size() + 2;
  constexpr int64_t kLargest = int64_t{1} << 24;
  if (options.vocabulary_size < kSmallest || options.vocabulary_size > kLargest)
    return error("a vocabulary of {} entries cannot be trained; give a size from {} to {}",
                 options.vocabulary_size, kSmallest, kLargest);
  const std::vector<WordCount> words = OCTET_TRY(
      text::count_words(next, options.normalizer, kMaxCharacters, options.threads, options.cancel));
  if (words.empty()) return error("there are no words in the text; give more text");
  Pieces pieces;
  add_alphabet(words, static_cast<size_t>(options.vocabulary_size) - kSpecial.size(), pieces);
  PairMerger merger(options.likelihood ? text::PairScore::kLikelihood : text::PairScore::kFrequency,
                    std::max<int64_t>(options.min_frequency, 1));
  add_words(words, pieces, merger);
  PairMerger::Pair pair{};
  while (pieces.size() < options.vocabulary_size && merger.best(pair)) {
    merger.merge(pair, pieces.add(pieces.joined(pair)));
    if (pieces.size() % 256 != 0) continue;
    if (options.cancel != nullptr && options.cancel->cancelled())
      return Error("stopped by the user", ErrorCode::kCancelled);
    if (options.on_progress)
      options.on_progress(static_cast<double>(pieces.size()) /
                          static_cast<double>(options.vocabulary_size));
  }
  if (options.on_progress) options.on_progress(1);
  return Tokenizer::create(pieces.take(), options.normalizer);
}

} // namespace octet
