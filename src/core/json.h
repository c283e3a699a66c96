// SPDX-License-Identifier: Apache-2.0
// JSON as text: parsed and printed here, but for the headers of safetensors files, which no key may
// come twice in (models/safetensors.cc).
#pragma once

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

} // namespace octet
