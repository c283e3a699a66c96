// SPDX-License-Identifier: Apache-2.0
// octet data show for text: where the labels are, how long texts get as tokens, what is masked.
#pragma once

#include <string>

#include "cli/command.h"

namespace octet::cli {

struct TextShow {
  std::string spec;
  int64_t examples = 2;
  std::string vocab;        ///< empty: no tokens are shown
  int64_t max_length = 128; ///< of rows
  bool pretrain = false;    ///< rows as pretraining sees them: pairs and masks
  bool whole_word = false;
  int64_t epoch = 0;
};

Result<Answer> show_text(const TextShow& show, const Common& common);

} // namespace octet::cli
