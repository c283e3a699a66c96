// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <algorithm>
#include <charconv>

#include "core/format.h"
#include <nlohmann/json.hpp>

namespace octet {
namespace {

constexpr int kMaxDepth = 64;

/// Copying and comparing a value recurse as deep as its brackets are nested.
Status check_depth(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return error("brackets are nested more than {} deep", kMaxDepth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return ok_status();
}

/// "line 3, column 7" of the byte that parsing stopped at, counted from 1.
std::string place(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n');
  const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

template <class Json>
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace

Result<nlohmann::json> parse_json(std::string_view text) {
  OCTET_TRY(check_depth(text));
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    return error("not valid JSON at {}", place(text, e.byte));
  } catch (const nlohmann::json::exception&) { // a number beyond f64
    return error("not valid JSON: a number is too large");
  }
}

std::string json_text(const nlohmann::json& json, int indent) {
  return text_of(json, indent);
}
std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return text_of(json, indent);
}

Result<const nlohmann::json*> member(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return error("no JSON object");
  const auto found = object.find(key);
  if (found == object.end()) return error("\"{}\" is missing", key);
  return &*found;
}

Result<std::string> text_at(const nlohmann::json& object, const char* key) {
  const nlohmann::json& item = *OCTET_TRY(member(object, key));
  if (!item.is_string()) return error("\"{}\" is no text", key);
  return item.get<std::string>();
}

Result<uint64_t> hash_at(const nlohmann::json& object, const char* key) {
  const std::string text = OCTET_TRY(text_at(object, key));
  uint64_t out = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out, 16);
  if (code != std::errc() || end != text.data() + text.size() || hash_text(out) != text)
    return error("\"{}\": \"{}\" is no hash", key, text);
  return out;
}

std::string hash_text(uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

} // namespace octet
