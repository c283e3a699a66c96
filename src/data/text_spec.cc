// SPDX-License-Identifier: Apache-2.0
#include "data/text_spec.h"

#include "core/format.h"
#include "core/string_util.h"

namespace octet {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

} // namespace

const std::string* TextSpec::find(std::string_view key) const {
  for (const auto& [name, value] : options) {
    if (name == key) return &value;
  }
  return nullptr;
}

Status TextSpec::allow(std::span<const std::string> keys) const {
  for (size_t i = 0; i < options.size(); ++i) {
    const std::string& name = options[i].first;
    bool known = false;
    for (const std::string& key : keys)
      known = known || key == name;
    if (!known && keys.empty()) return error("{} takes no options, not \"{}\"", kind, name);
    if (!known) return error("{} has no option \"{}\"{}", kind, name, suggestion(name, keys));
    for (size_t j = 0; j < i; ++j) {
      if (options[j].first == name)
        return error("option \"{}\" of {} is given twice; give it once", name, kind);
    }
  }
  return ok_status();
}

Result<TextSpec> parse_text_spec(std::string_view spec) {
  TextSpec out;
  const size_t mark = spec.rfind('?');
  const bool with_options =
      mark != std::string_view::npos && spec.find('=', mark) != std::string_view::npos;
  const std::string_view head = with_options ? spec.substr(0, mark) : spec;
  const size_t colon = head.find(':');
  out.kind = head.substr(0, colon);
  if (colon != std::string_view::npos) {
    for (const std::string_view place : split(head.substr(colon + 1), ',')) {
      if (place.empty())
        return error("data set \"{}\" names an empty file; write {}:FILE,FILE", spec, out.kind);
      out.places.emplace_back(place);
    }
  }
  if (!with_options) return out;
  for (const std::string_view option : split(spec.substr(mark + 1), '&')) {
    const size_t equals = option.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == option.size()) {
      return error("option \"{}\" of data set \"{}\" has no name or no value; write key=value",
                   option, spec);
    }
    out.options.emplace_back(option.substr(0, equals), percent_decoded(option.substr(equals + 1)));
  }
  return out;
}

} // namespace octet
