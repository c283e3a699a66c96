// SPDX-License-Identifier: Apache-2.0
// Text as data sets of token ids: for classification, and masked with next-sentence pairs for
// pretraining.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "octet/dataset.h"
#include "octet/text_source.h"
#include "octet/tokenizer.h"

namespace octet {

struct TextDatasetOptions {
  int64_t max_length = 128;   ///< tokens of a row with [CLS] and [SEP]; longer texts are cut
  bool token_type_ids = true; ///< the feature of that name: 1 for the second text
  int64_t pad_multiple = 1;   ///< rows are padded to a multiple of this, never above max_length
  bool pad_to_max = false;    ///< always to max_length, not to the longest row of the batch
  /// Where tokens are kept between runs; empty: $XDG_CACHE_HOME/octet/tokens or
  /// ~/.cache/octet/tokens; "none": in memory only.
  std::string cache_folder;
  int threads = 0;   ///< for tokenizing; 0: one for each core
  int64_t limit = 0; ///< so many examples (documents), drawn by `seed`; 0: all
  uint64_t seed = 0; ///< of the limit's choice, of masks and pairs
  const CancelToken* cancel = nullptr;
  std::function<void(int64_t done, int64_t total)> on_progress; ///< texts tokenized
};

/// Features input_ids, attention_mask and token_type_ids, i64[N, S]: `[CLS] text [SEP]` or
/// `[CLS] text [SEP] text2 [SEP]`, the longer text cut first; S is the longest row of the batch.
/// Labels i64[N] where the source has classes. The source is read once and not kept.
/// Errors: a max_length without room for a token, a damaged cache (named, to be deleted).
Result<std::shared_ptr<const Dataset>> make_text_dataset(std::shared_ptr<const TextSource> source,
                                                         const Tokenizer& tokenizer,
                                                         const TextDatasetOptions& options);
/// make_text_dataset over open_text.
Result<std::shared_ptr<const Dataset>> open_text_dataset(std::string_view spec,
                                                         Split split,
                                                         const Tokenizer& tokenizer,
                                                         const TextDatasetOptions& options);

/// The features of texts that are at hand, as a batch of such a data set has them; without labels.
/// They are pairs where the first one is. Errors: a max_length without room for a token.
Result<Batch> text_batch(std::span<const TextExample> texts,
                         const Tokenizer& tokenizer,
                         const TextDatasetOptions& options);

struct MaskingOptions {
  double rate = 0.15;      ///< share of a row's tokens (special ones apart) that is to be predicted
  double mask = 0.8;       ///< of these, become [MASK]
  double random = 0.1;     ///< of these, become another ordinary token; the rest stays as it is
  bool whole_word = false; ///< pieces of a word are chosen together
  int64_t max_predictions = 0; ///< of a row; 0: no limit
  double short_rate = 0.1;     ///< rows cut to a random length, so that short ones are known too
};

enum class NextSentence { kNo, kYes };
/// Where predictions are: everywhere (i64[N, S] with -100 for no prediction), or gathered.
enum class Predictions { kEverywhere, kGathered };

/// Rows for BERT's pretraining: consecutive sentences of a document that fill max_length. With
/// NextSentence::kYes they are cut in two at a random place and with probability one half the
/// second part is replaced by sentences of another document. Pairs, masks and cuts of batch_at are
/// a function of (seed, epoch, index) alone; batch() is epoch 0.
/// Features as above; targets mlm_labels i64[N, S] (the original token where one is to be
/// predicted, else -100) and nsp_labels i64[N] (0: the second part follows the first, 1: it does
/// not). Predictions::kGathered: feature masked_positions i64[M] (row * S + column, ascending) and
/// mlm_labels i64[M].
/// Errors: no [MASK] in the vocabulary, fewer than two documents for pairs, no text, rates beyond
/// [0, 1].
/// Source: Devlin et al., BERT, 2018, sections 3.1 and A.1.
Result<std::shared_ptr<const Dataset>>
make_pretraining_dataset(std::shared_ptr<const TextSource> source,
                         const Tokenizer& tokenizer,
                         const TextDatasetOptions& options,
                         const MaskingOptions& masking,
                         NextSentence next_sentence,
                         Predictions predictions);

} // namespace octet
