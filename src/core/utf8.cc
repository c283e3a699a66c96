// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include <algorithm>

namespace octet {
namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

} // namespace

Decoded decode_utf8(const char* p, const char* end) {
  const auto* s = reinterpret_cast<const unsigned char*>(p);
  const auto left = static_cast<size_t>(end - p);
  const uint32_t lead = s[0];
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {kReplacement, 1};
  // The second byte's range depends on the first: no overlong forms, surrogates or values above
  // U+10FFFF.
  const uint32_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint32_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (left < 2 || s[1] < low || s[1] > high) return {kReplacement, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (s[1] & 0x3FU), 2};
  if (left < 3 || !is_continuation(s[2])) return {kReplacement, 2};
  if (lead < 0xF0) return {(lead & 0xF) << 12 | (s[1] & 0x3FU) << 6 | (s[2] & 0x3FU), 3};
  if (left < 4 || !is_continuation(s[3])) return {kReplacement, 3};
  return {(lead & 7) << 18 | (s[1] & 0x3FU) << 12 | (s[2] & 0x3FU) << 6 | (s[3] & 0x3FU), 4};
}

void append_utf8(std::string& out, uint32_t code) {
  const auto byte = [&](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
    return;
  }
  if (code < 0x800) {
    byte(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xE0 | code >> 12);
    } else {
      byte(0xF0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3F));
    }
    byte(0x80 | (code >> 6 & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

bool is_utf8(std::string_view text) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Decoded c = decode_utf8(p, end);
    if (c.code == kReplacement && c.bytes != 3) return false;
    if (c.code == kReplacement && std::string_view(p, 3) != "\xEF\xBF\xBD") return false;
    p += c.bytes;
  }
  return true;
}

size_t count_characters(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return !is_continuation(static_cast<unsigned char>(c));
  }));
}

} // namespace octet
