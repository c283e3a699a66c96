// SPDX-License-Identifier: Apache-2.0
#include "text/word_counts.h"

#include <algorithm>
#include <unordered_map>

#include "core/hash.h"
#include "core/threads.h"
#include "core/utf8.h"
#include "text/normalizer.h"

namespace octet::text {
namespace {

/// Texts are gathered up to so many bytes and then counted by all threads.
constexpr size_t kPortionBytes = size_t{16} << 20;
/// Each word belongs to one shard, whose table only one thread touches at a time.
constexpr size_t kShards = 64;

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view word) const { return hash_bytes(word); }
};
using Table = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;

class Counter {
 public:
  Counter(const NormalizerOptions& options, size_t max_characters, int threads)
      : normalizer_(options), max_characters_(max_characters), pool_(threads), tables_(kShards) {}

  /// Counts the words of each text; a text ends a word.
  void add(const std::vector<std::string>& texts) {
    constexpr int64_t kTexts = 64;
    const auto count = static_cast<int64_t>(texts.size());
    std::vector<Table> parts(static_cast<size_t>((count + kTexts - 1) / kTexts));
    pool_.run(count, kTexts, [&](int64_t begin, int64_t end) {
      Table& part = parts[static_cast<size_t>(begin / kTexts)];
      for (int64_t i = begin; i < end; ++i)
        count_text(texts[static_cast<size_t>(i)], part);
    });
    pool_.run(kShards, 1, [&](int64_t begin, int64_t) {
      for (const Table& part : parts)
        for (const auto& [word, n] : part)
          if (Hash()(word) % kShards == static_cast<size_t>(begin))
            tables_[static_cast<size_t>(begin)][word] += n;
    });
  }

  std::vector<WordCount> take() {
    std::vector<WordCount> out;
    for (Table& table : tables_) {
      out.insert(out.end(), table.begin(), table.end());
      table.clear();
    }
    std::sort(out.begin(), out.end(), [](const WordCount& a, const WordCount& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return out;
  }

 private:
  void count_text(std::string_view text, Table& part) const {
    thread_local Normalizer::Output normal;
    normalizer_.normalize(text.data(), text.data() + text.size(), normal);
    const std::string_view bytes = normal.bytes;
    Normalizer::split(bytes, [&](size_t begin, size_t end) {
      const std::string_view word = bytes.substr(begin, end - begin);
      if (word.size() > max_characters_ && count_characters(word) > max_characters_) return;
      const auto at = part.find(word);
      if (at != part.end()) {
        ++at->second;
      } else {
        part.emplace(word, 1);
      }
    });
  }

  Normalizer normalizer_;
  size_t max_characters_;
  ThreadPool pool_;
  std::vector<Table> tables_;
};

} // namespace

Result<std::vector<WordCount>> count_words(const std::function<bool(std::string_view&)>& next,
                                           const NormalizerOptions& options,
                                           size_t max_characters,
                                           int threads,
                                           const CancelToken* cancel) {
  Counter counter(options, max_characters, threads);
  std::string_view text;
  bool more = true;
  while (more) {
    std::vector<std::string> portion;
    size_t bytes = 0;
    while (bytes < kPortionBytes && (more = next(text))) {
      bytes += text.size() + 1;
      portion.emplace_back(text);
    }
    counter.add(portion);
    if (cancel != nullptr && cancel->cancelled())
      return Error("stopped by the user", ErrorCode::kCancelled);
  }
  return counter.take();
}

} // namespace octet::text
