// SPDX-License-Identifier: Apache-2.0
// Reading one object of a plan's JSON: typed members, and no others.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "core/format.h"
#include <nlohmann/json.hpp>

#include "octet/quantize.h"

namespace octet {

/// Reads typed members of one object; remembers the first thing that does not fit.
class PlanReader {
 public:
  PlanReader(const nlohmann::json& json, std::string where)
      : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) fail("expected an object");
  }

  template <class T>
  void read(const char* key, T& out) {
    const nlohmann::json* item = find(key);
    if (item == nullptr) return;
    if constexpr (std::is_same_v<T, bool>) {
      if (!item->is_boolean()) return fail(fmt::format("\"{}\" is not true or false", key));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!item->is_number()) return fail(fmt::format("\"{}\" is not a number", key));
    } else if constexpr (std::is_integral_v<T>) {
      if (!item->is_number_integer()) return fail(fmt::format("\"{}\" is not an integer", key));
    } else {
      if (!item->is_string()) return fail(fmt::format("\"{}\" is not a string", key));
    }
    out = item->get<T>();
  }
  void read_optional(const char* key, std::optional<int64_t>& out) {
    const nlohmann::json* item = find(key);
    if (item == nullptr || item->is_null()) return;
    if (!item->is_number_integer()) return fail(fmt::format("\"{}\" is not an integer", key));
    out = item->get<int64_t>();
  }
  void read_ints(const char* key, std::vector<int64_t>& out) {
    const nlohmann::json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_array()) return fail(fmt::format("\"{}\" is not a list", key));
    for (const nlohmann::json& value : *item) {
      if (!value.is_number_integer()) return fail(fmt::format("\"{}\" holds no integer", key));
      out.push_back(value.get<int64_t>());
    }
  }
  void read_numbers(const char* key, std::vector<double>& out) {
    const nlohmann::json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_array()) return fail(fmt::format("\"{}\" is not a list", key));
    for (const nlohmann::json& value : *item) {
      if (!value.is_number()) return fail(fmt::format("\"{}\" holds no number", key));
      out.push_back(value.get<double>());
    }
  }
  void read_ranges(const char* key, std::vector<Range>& out) {
    const nlohmann::json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_array()) return fail(fmt::format("\"{}\" is not a list", key));
    for (const nlohmann::json& r : *item) {
      if (!r.is_array() || r.size() != 2 || !r[0].is_number() || !r[1].is_number())
        return fail(fmt::format("\"{}\": a range is [lo, hi]", key));
      out.push_back({r[0].get<double>(), r[1].get<double>()});
      if (!(out.back().lo <= out.back().hi))
        return fail(
            fmt::format("\"{}\": the range [{}, {}] is empty", key, out.back().lo, out.back().hi));
    }
  }
  void read_texts(const char* key, std::vector<std::string>& out) {
    const nlohmann::json* item = find(key);
    if (item == nullptr) return;
    if (!item->is_array()) return fail(fmt::format("\"{}\" is not a list", key));
    for (const nlohmann::json& text : *item) {
      if (!text.is_string()) return fail(fmt::format("\"{}\" holds no text", key));
      out.push_back(text.get<std::string>());
    }
  }
  const nlohmann::json* find(const char* key) {
    known_.emplace_back(key);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    if (found == json_.end()) {
      fail(fmt::format("\"{}\" is missing", key));
      return nullptr;
    }
    return &*found;
  }
  void fail(std::string message) {
    if (message_.empty()) message_ = std::move(message);
  }
  Status finish() {
    if (message_.empty() && json_.is_object())
      for (const auto& item : json_.items())
        if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
          fail(fmt::format("unknown key \"{}\"", item.key()));
    if (message_.empty()) return ok_status();
    return error("plan: {}: {}", where_, message_);
  }

 private:
  const nlohmann::json& json_;
  std::string where_;
  std::vector<std::string> known_;
  std::string message_;
};

} // namespace octet
