// SPDX-License-Identifier: Apache-2.0
// Joins pairs of neighbouring pieces in a list of words, the best pair first. Counts of pairs are
// kept up to date word by word; a heap with stale entries finds the best one.
// Source: R. Sennrich, B. Haddow, A. Birch, "Neural machine translation of rare words with subword
// units", 2016; the likelihood score: M. Schuster, K. Nakajima, "Japanese and Korean voice search",
// 2012.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

namespace octet::text {

enum class PairScore { kFrequency, kLikelihood };

class PairMerger {
 public:
  struct Pair {
    int32_t first, second;
  };

  PairMerger(PairScore score, int64_t min_frequency)
      : score_(score), min_frequency_(min_frequency) {}

  /// Symbols are numbers from 0 on. All words are added before the first call of best().
  void add_word(std::span<const int32_t> symbols, int64_t count);
  /// The pair with the highest score, of equal ones the more frequent, then that with the lower
  /// symbols. False: no pair is as frequent as it must be.
  bool best(Pair& out);
  /// Replaces the pair, from left to right, by `symbol` (new, or one that is in use).
  void merge(Pair pair, int32_t symbol);

 private:
  struct Word {
    size_t begin;
    uint32_t size;
    int64_t count;
  };
  struct State {
    Pair pair;
    int64_t count = 0;
    int64_t seen = 0; ///< the count of the youngest heap entry
    std::vector<uint32_t> words;
  };
  struct Entry {
    double score;
    int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const;
  };

  State& state(int32_t first, int32_t second);
  Entry entry(const State& s) const;
  void count_pairs(uint32_t word, int64_t sign);
  void replace(Word& word, Pair pair, int32_t symbol);
  void push_changed(std::span<const int32_t> symbols);

  PairScore score_;
  int64_t min_frequency_;
  bool prepared_ = false;
  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, uint32_t> index_;
  std::vector<State> states_;
  std::vector<int64_t> frequency_;                ///< of each symbol
  std::vector<std::vector<uint32_t>> neighbours_; ///< states with this symbol; likelihood alone
  std::vector<uint32_t> touched_;
  std::priority_queue<Entry> heap_;
};

} // namespace octet::text
