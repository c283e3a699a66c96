// SPDX-License-Identifier: Apache-2.0
// Rows of token ids of different lengths as padded tensors.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "octet/text_dataset.h"

namespace octet {

/// `[CLS] first [SEP]` or `[CLS] first [SEP] second [SEP]`.
struct Row {
  std::vector<int32_t> ids;
  int64_t second_begin = 0; ///< where tokens of type 1 begin; the row's end when there are none
};

struct SpecialTokens {
  explicit SpecialTokens(const Tokenizer& tokenizer)
      : pad(tokenizer.pad()), cls(tokenizer.cls()), sep(tokenizer.sep()), mask(tokenizer.mask()) {}
  int32_t pad, cls, sep, mask;
};

Row make_row(const SpecialTokens& special, const std::vector<int32_t>& first);
Row make_row(const SpecialTokens& special,
             const std::vector<int32_t>& first,
             const std::vector<int32_t>& second);

/// The lengths that are left of two parts when the longer one is cut first until both fit into
/// `room`: the rule of Hugging Face's fast tokenizers ("longest_first").
std::pair<int64_t, int64_t> longest_first(int64_t first, int64_t second, int64_t room);

/// The columns of a padded batch.
int64_t padded_length(const std::vector<Row>& rows, const TextDatasetOptions& options);
/// Adds input_ids, attention_mask and token_type_ids, i64[rows, length].
Status add_row_features(const std::vector<Row>& rows,
                        int64_t length,
                        const SpecialTokens& special,
                        const TextDatasetOptions& options,
                        Batch& out);
/// Names and types of these features.
std::vector<std::pair<std::string, TypeInfo>> row_features(const TextDatasetOptions& options);

/// Errors: a max_length below `least` or above 2^20, a pad_multiple below 1, a negative limit.
Status check_options(const TextDatasetOptions& options, int64_t least);
/// The error about an index outside of a set.
Status check_index(int64_t index, int64_t size, const std::string& description);

} // namespace octet
