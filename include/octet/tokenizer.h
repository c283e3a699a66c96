// SPDX-License-Identifier: Apache-2.0
// Tokenizer: BERT's normalizer and WordPiece, as Hugging Face's fast BertTokenizer does it, and the
// training of a vocabulary.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/result.h"

namespace octet {

class CancelToken; // core/progress.h

/// The fields of tokenizer.json's BertNormalizer, in the order in which they act.
struct NormalizerOptions {
  bool clean_text = true;           ///< control characters and U+FFFD go, every space is U+0020
  bool handle_chinese_chars = true; ///< CJK ideographs are words of their own
  enum class StripAccents { kAuto, kYes, kNo };
  StripAccents strip_accents = StripAccents::kAuto; ///< auto: as lowercase
  bool lowercase = true;
};

/// Unicode code points of the source text, as Hugging Face counts them.
struct Offset {
  uint32_t begin, end;
  bool operator==(const Offset&) const = default;
};

/// One text or pair as tokens; all filled members are of one length.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<uint8_t> type_ids; ///< 1: second text of a pair and its [SEP]
  std::vector<uint8_t> special;  ///< 1: [CLS] or [SEP] that was added
  std::vector<Offset> offsets;   ///< into the token's own text; empty unless asked for
  std::vector<int32_t> words;    ///< word within its text, -1: added; empty unless asked for
};

struct EncodeOptions {
  /// With special tokens; 0: no limit. Of a pair the longer text is cut first. A limit below the
  /// number of special tokens leaves these alone.
  int64_t max_length = 0;
  bool special_tokens = true;
  bool offsets = false;
  bool words = false;
};

/// Immutable and cheap to copy; every method may be called from several threads.
class Tokenizer {
 public:
  /// A vocab.txt, a tokenizer.json, or a folder that holds one (tokenizer.json first). Beside
  /// vocab.txt, tokenizer_config.json's do_lower_case, strip_accents and tokenize_chinese_chars are
  /// honoured. Errors: a missing [UNK], [CLS], [SEP] or [PAD], a duplicate entry, another kind of
  /// tokenizer, a file of more than 64 MiB.
  static Result<Tokenizer> load(const std::string& path);
  /// The index of an entry is its id.
  static Result<Tokenizer> create(std::vector<std::string> vocabulary,
                                  const NormalizerOptions& options);

  /// Invalid UTF-8 counts as U+FFFD, one for each maximal invalid part, as Python replaces it.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding
  encode(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;
  /// `threads` 0: one for each core. The result does not depend on it.
  std::vector<Encoding> encode_batch(std::span<const std::string_view> texts,
                                     const EncodeOptions& options = {},
                                     int threads = 0) const;
  /// Pairs: `second` is as long as `first`.
  std::vector<Encoding> encode_batch(std::span<const std::string_view> first,
                                     std::span<const std::string_view> second,
                                     const EncodeOptions& options = {},
                                     int threads = 0) const;
  /// Joins ## pieces and leaves out special tokens and unknown ids; the space before punctuation
  /// goes, as in Hugging Face's decoder.
  std::string decode(std::span<const int32_t> ids) const;

  int64_t size() const;
  /// Empty for an id outside [0, size()).
  std::string_view token(int32_t id) const;
  /// -1: not in the vocabulary.
  int32_t id(std::string_view token) const;
  int32_t pad() const;
  int32_t cls() const;
  int32_t sep() const;
  int32_t unk() const;
  int32_t mask() const; ///< -1 when there is none
  /// Whether the token continues a word (it begins with ##).
  bool continues_word(int32_t id) const;
  const NormalizerOptions& normalizer() const;
  /// 32 hexadecimal digits over vocabulary and settings: equal tokenizers, and only these, have
  /// equal ones. The key of caches, not for security.
  std::string hash() const;
  /// Writes vocab.txt, tokenizer.json and tokenizer_config.json, each atomically; makes the folder.
  Status save(const std::string& folder) const;

  struct Impl;
  explicit Tokenizer(std::shared_ptr<const Impl> impl);
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

struct WordPieceTrainOptions {
  int64_t vocabulary_size = 30522; ///< special tokens included
  /// Which pair of pieces is joined next: the one with the highest freq(ab) / (freq(a) freq(b)),
  /// else the most frequent one.
  bool likelihood = false;
  int64_t min_frequency = 2; ///< a pair seen less often is never joined
  NormalizerOptions normalizer;
  int threads = 0;
  const CancelToken* cancel = nullptr;
  std::function<void(double)> on_progress; ///< share done, 0 to 1
};

/// Learns a vocabulary. `next` hands out texts until it returns false; a text must stay valid until
/// the following call. The result depends on the texts and the options alone, not on threads.
Result<Tokenizer> train_wordpiece(const std::function<bool(std::string_view&)>& next,
                                  const WordPieceTrainOptions& options);

} // namespace octet
