// SPDX-License-Identifier: Apache-2.0
// How often each word occurs in a text, the words being those that the tokenizer would cut.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/progress.h"

#include "octet/tokenizer.h"

namespace octet::text {

using WordCount = std::pair<std::string, int64_t>;

/// Words of at most `max_characters`, the most frequent first, equal ones by their bytes.
Result<std::vector<WordCount>> count_words(const std::function<bool(std::string_view&)>& next,
                                           const NormalizerOptions& options,
                                           size_t max_characters,
                                           int threads,
                                           const CancelToken* cancel);

} // namespace octet::text
