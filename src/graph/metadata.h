// SPDX-License-Identifier: Apache-2.0
// ONNX metadata_props by their keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Null: there is none of this key.
inline const std::string* find_metadata(const Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata)
    if (name == key) return &value;
  return nullptr;
}

inline void erase_metadata(Metadata& metadata, std::string_view key) {
  std::erase_if(metadata, [&](const auto& entry) { return entry.first == key; });
}

/// At the end, in place of all of this key.
inline void set_metadata(Metadata& metadata, std::string_view key, std::string value) {
  erase_metadata(metadata, key);
  metadata.emplace_back(key, std::move(value));
}

} // namespace octet
