// SPDX-License-Identifier: Apache-2.0
// Texts to tokens, with the cache on disk.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "text/token_store.h"

#include "octet/text_dataset.h"

namespace octet {

enum class Cut {
  kTexts,     ///< a unit is an example: its text, and its second text in a source of pairs
  kSentences, ///< a unit is a document, its pieces are its sentences; empty documents are left out
};

/// The examples that `limit` leaves, ascending; all of them without one.
std::vector<int64_t> chosen_examples(int64_t size, int64_t limit, uint64_t seed);

/// Tokens without special ones and without any limit of length, from the cache or by reading the
/// chosen examples. The cache file is named by a hash of their texts, the tokenizer and the cut; it
/// is written atomically, and of two processes that need the same one the second waits for the
/// first. Errors: a damaged cache file, a folder that cannot be written, unreadable text.
Result<std::shared_ptr<const TokenStore>> tokenize(const TextSource& source,
                                                   std::span<const int64_t> chosen,
                                                   const Tokenizer& tokenizer,
                                                   Cut cut,
                                                   const TextDatasetOptions& options);

} // namespace octet
