// SPDX-License-Identifier: Apache-2.0
// BertOptions as the config.json that Hugging Face's BERT and DistilBERT have.
#pragma once

#include <string>
#include <string_view>

#include "octet/bert.h"

namespace octet {

/// Under which a graph's metadata has its options.
inline constexpr const char* kBertMetadata = "octet.bert";

/// With `octet_...` keys for what Hugging Face has no word for.
std::string bert_config_json(const BertOptions& options);

/// Reads config.json of model type bert or distilbert. Dimensions and labels are checked; a head is
/// taken from `architectures`. Errors: no JSON, another model type, a value of the wrong kind.
Result<BertOptions> parse_bert_config(std::string_view text);

/// Errors: sizes out of range, or that do not fit each other.
Status check_bert_options(const BertOptions& options);

} // namespace octet
