// SPDX-License-Identifier: Apache-2.0
// JSON as text: parsed and printed here, but for the headers of safetensors files, which no key may
// come twice in (models/safetensors.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "octet/result.h"

namespace octet {

/// Errors name the line and the column. Keys are sorted, so that a large object takes no quadratic
/// time; brackets are nested at most 64 deep.
Result<nlohmann::json> parse_json(std::string_view text);

/// On one line where `indent` is negative. Bytes that are not UTF-8, which names in models may
/// hold, become U+FFFD.
std::string json_text(const nlohmann::json& json, int indent = 2);
std::string json_text(const nlohmann::ordered_json& json, int indent = 2);

/// A member of an object. Errors: none of this name, or no object.
Result<const nlohmann::json*> member(const nlohmann::json& object, const char* key);
/// The same where it is a text.
Result<std::string> text_at(const nlohmann::json& object, const char* key);
/// The same where it is a text that hash_text() gives.
Result<uint64_t> hash_at(const nlohmann::json& object, const char* key);
/// A hash in 16 hexadecimal digits.
std::string hash_text(uint64_t hash);

} // namespace octet
