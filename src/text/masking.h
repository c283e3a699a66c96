// SPDX-License-Identifier: Apache-2.0
// Masked-language-model noise: which tokens of a row are to be predicted and what is shown instead.
#pragma once

#include <cstdint>
#include <vector>

#include "core/philox.h"
#include "text/rows.h"

namespace octet {

/// What masking needs to know about a vocabulary.
class MaskingRule {
 public:
  /// Errors: no [MASK], rates beyond [0, 1], no ordinary token.
  static Result<MaskingRule> create(const Tokenizer& tokenizer, const MaskingOptions& options);

  /// Changes the row and returns the original ids at the chosen columns, -100 elsewhere. The number
  /// of chosen tokens is rate x the ordinary ones (those that are not [CLS], [SEP] or [PAD]), with
  /// the fraction rounded up or down at random, at least one, at most max_predictions. Whole words
  /// that would go beyond the number are passed over.
  std::vector<int64_t> apply(Row& row, Philox& random) const;

 private:
  MaskingRule(const SpecialTokens& special, const MaskingOptions& options)
      : special_(special), options_(options) {}
  std::vector<std::vector<size_t>> groups_of(const Row& row) const;

  SpecialTokens special_;
  MaskingOptions options_;
  std::vector<int32_t> ordinary_;  ///< ids that may stand in for another token
  std::vector<bool> continuation_; ///< by id: begins with ##
};

} // namespace octet
