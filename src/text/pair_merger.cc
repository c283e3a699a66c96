// SPDX-License-Identifier: Apache-2.0
#include "text/pair_merger.h"

#include <algorithm>
#include <tuple>

namespace octet::text {

bool PairMerger::Entry::operator<(const Entry& other) const {
  // The heap's top is the greatest: lower symbols count as greater.
  return std::tuple(score, count, other.pair.first, other.pair.second) <
         std::tuple(other.score, other.count, pair.first, pair.second);
}

PairMerger::State& PairMerger::state(int32_t first, int32_t second) {
  const uint64_t key = static_cast<uint64_t>(first) << 32 | static_cast<uint32_t>(second);
  const auto [at, made] = index_.try_emplace(key, static_cast<uint32_t>(states_.size()));
  if (made) {
    states_.emplace_back().pair = {first, second};
    if (score_ == PairScore::kLikelihood) {
      const auto size = static_cast<size_t>(std::max(first, second)) + 1;
      if (neighbours_.size() < size) neighbours_.resize(size);
      neighbours_[static_cast<size_t>(first)].push_back(at->second);
      if (second != first) neighbours_[static_cast<size_t>(second)].push_back(at->second);
    }
  }
  return states_[at->second];
}

PairMerger::Entry PairMerger::entry(const State& s) const {
  double score = 0;
  if (score_ == PairScore::kLikelihood) {
    const auto frequency = [&](int32_t symbol) {
      return static_cast<double>(frequency_[static_cast<size_t>(symbol)]);
    };
    score = static_cast<double>(s.count) / (frequency(s.pair.first) * frequency(s.pair.second));
  }
  return {score, s.count, s.pair};
}

void PairMerger::add_word(std::span<const int32_t> symbols, int64_t count) {
  words_.push_back({symbols_.size(), static_cast<uint32_t>(symbols.size()), count});
  symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
  count_pairs(static_cast<uint32_t>(words_.size() - 1), 1);
}

/// Adds or takes away what a word has of symbols and pairs.
void PairMerger::count_pairs(uint32_t word, int64_t sign) {
  const Word& w = words_[word];
  const int32_t* symbols = symbols_.data() + w.begin;
  for (uint32_t i = 0; i < w.size; ++i) {
    const auto symbol = static_cast<size_t>(symbols[i]);
    if (frequency_.size() <= symbol) frequency_.resize(symbol + 1);
    frequency_[symbol] += sign * w.count;
    if (i + 1 == w.size) break;
    State& s = state(symbols[i], symbols[i + 1]);
    s.count += sign * w.count;
    if (sign > 0 && (s.words.empty() || s.words.back() != word)) s.words.push_back(word);
    if (prepared_) touched_.push_back(static_cast<uint32_t>(&s - states_.data()));
  }
}

bool PairMerger::best(Pair& out) {
  if (!prepared_) {
    prepared_ = true;
    for (State& s : states_) {
      s.seen = s.count;
      if (s.count >= min_frequency_) heap_.push(entry(s));
    }
  }
  while (!heap_.empty()) {
    const Entry top = heap_.top();
    heap_.pop();
    const Entry now = entry(state(top.pair.first, top.pair.second));
    if (now.count < min_frequency_) continue;
    if (now.count == top.count && now.score == top.score) {
      out = top.pair;
      return true;
    }
    // A score that rose since has an entry of its own; one that fell is put where it belongs.
    if (now < top) heap_.push(now);
  }
  return false;
}

void PairMerger::replace(Word& word, Pair pair, int32_t symbol) {
  int32_t* symbols = symbols_.data() + word.begin;
  uint32_t out = 0;
  for (uint32_t i = 0; i < word.size; ++out) {
    const bool here =
        i + 1 < word.size && symbols[i] == pair.first && symbols[i + 1] == pair.second;
    symbols[out] = here ? symbol : symbols[i];
    i += here ? 2 : 1;
  }
  word.size = out;
}

void PairMerger::merge(Pair pair, int32_t symbol) {
  std::vector<uint32_t> words = std::move(state(pair.first, pair.second).words);
  state(pair.first, pair.second).words.clear();
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  touched_.clear();
  for (const uint32_t index : words) {
    Word& word = words_[index];
    const int32_t* symbols = symbols_.data() + word.begin;
    bool found = false;
    for (uint32_t i = 0; i + 1 < word.size && !found; ++i)
      found = symbols[i] == pair.first && symbols[i + 1] == pair.second;
    if (!found) continue;
    count_pairs(index, -1);
    replace(word, pair, symbol);
    count_pairs(index, 1);
  }
  const int32_t changed[] = {pair.first, pair.second, symbol};
  push_changed(changed);
}

/// New heap entries for pairs whose score may have risen.
void PairMerger::push_changed(std::span<const int32_t> symbols) {
  if (score_ == PairScore::kLikelihood) {
    touched_.clear();
    for (const int32_t symbol : symbols) {
      const auto i = static_cast<size_t>(symbol);
      if (i >= neighbours_.size()) continue;
      // Pairs that no word has any more would only be looked at again.
      std::erase_if(neighbours_[i], [&](uint32_t at) { return states_[at].count == 0; });
      touched_.insert(touched_.end(), neighbours_[i].begin(), neighbours_[i].end());
    }
  }
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (const uint32_t at : touched_) {
    State& s = states_[at];
    const bool risen = score_ == PairScore::kLikelihood || s.count > s.seen;
    s.seen = s.count;
    if (risen && s.count >= min_frequency_) heap_.push(entry(s));
  }
}

} // namespace octet::text
