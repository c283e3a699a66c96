// SPDX-License-Identifier: Apache-2.0
// Generated sequences of tokens with a label each: small tasks that a small BERT can learn, for
// experiments without data of others.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dataset.h"

namespace octet {

/// Numbers of tokens of the tasks' sequences: ids are below kTaskVocabulary, no sequence is longer
/// than kTaskLength.
inline constexpr int64_t kTaskVocabulary = 32;
inline constexpr int64_t kTaskLength = 16;

/// `contains`: token 2 occurs. `majority`: more tokens of 10 .. 17 than of 2 .. 9. `order`: 3 comes
/// before 2. `adjacent`: a 3 stands directly behind a 2. `ends`: the first and the last token are
/// the same. `count`: how often 2 occurs, 0 to 3.
std::vector<std::string> token_tasks();

/// 4,000 training and 2,000 test examples: `input_ids` and `attention_mask` i64[N, 16], labels.
/// Sequences of 8 to 16 tokens begin with token 1, end with token 31 and are filled up with 0,
/// which the mask hides. They are drawn from Philox, the same on every machine. Errors: an unknown
/// task, with the known ones.
Result<std::shared_ptr<const Dataset>> open_token_task(const std::string& task, Split split);

} // namespace octet
