// SPDX-License-Identifier: Apache-2.0
// tokenizer.json and tokenizer_config.json, the files of Hugging Face's fast BERT tokenizer.
#pragma once

#include <string>

#include "text/model.h"

namespace octet::text {

/// Errors: not JSON, another kind of tokenizer (the part that differs is named), ids with gaps.
Result<Description> read_tokenizer_json(const std::string& path);
Result<Description> parse_tokenizer_json(const std::string& content);
/// Sets what the file says: casing, accents, ideographs, names of the special tokens.
Status read_tokenizer_config(const std::string& path, Description& out);

std::string write_tokenizer_json(const Tokenizer::Impl& model);
std::string write_tokenizer_config(const Tokenizer::Impl& model);

} // namespace octet::text
