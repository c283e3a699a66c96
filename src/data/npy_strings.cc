// SPDX-License-Identifier: Apache-2.0
#include "data/npy_strings.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/format.h"
#include "core/utf8.h"

namespace octet {
namespace {

constexpr size_t kCodeBytes = sizeof(uint32_t);
constexpr size_t kMostCharacters = size_t{1} << 28;

/// nullopt: no code point of Unicode's.
std::optional<std::string> utf8_of(std::span<const std::byte> codes) {
  std::string out;
  size_t filled = 0; // without the padding
  for (size_t i = 0; i < codes.size(); i += kCodeBytes) {
    uint32_t code = 0;
    std::memcpy(&code, codes.data() + i, kCodeBytes);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return std::nullopt;
    append_utf8(out, code);
    if (code != 0) filled = out.size();
  }
  out.resize(filled);
  return out;
}

std::string bytes_of(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::string(all.substr(0, all.find_last_not_of('\0') + 1));
}

} // namespace

size_t npy_string_bytes(std::string_view code) {
  if (code.empty() || (code[0] != 'U' && code[0] != 'S')) return 0;
  size_t characters = 0;
  const auto [end, failed] =
      std::from_chars(code.data() + 1, code.data() + code.size(), characters);
  if (failed != std::errc() || end != code.data() + code.size() || characters > kMostCharacters)
    return 0;
  return characters * (code[0] == 'U' ? kCodeBytes : 1);
}

Result<Tensor> npy_strings(Shape shape,
                           std::span<const std::byte> elements,
                           size_t element,
                           size_t word,
                           const std::string& name) {
  std::vector<std::string> out;
  out.reserve(elements.size() / element);
  for (size_t at = 0; at < elements.size(); at += element) {
    const auto one = elements.subspan(at, element);
    std::optional<std::string> text = word == kCodeBytes ? utf8_of(one) : bytes_of(one);
    if (!text)
      return error("{}: element {} holds a code point that Unicode does not have; save text", name,
                   at / element);
    out.push_back(std::move(*text));
  }
  return Tensor::strings(std::move(shape), std::move(out));
}

Result<NpyTexts> npy_texts(const Tensor& strings) {
  constexpr size_t kMostBytes = size_t{1} << 32;
  const std::vector<std::string>& texts = strings.string_values();
  size_t longest = 1; // as NumPy has it, also of empty strings
  for (const std::string& text : texts) {
    if (!is_utf8(text))
      return error(ErrorCode::kUnsupported,
                   "a string of {} bytes is no UTF-8, which NumPy's texts are", text.size());
    if (text.ends_with('\0'))
      return error(ErrorCode::kUnsupported,
                   "a string of {} bytes ends in NUL, which NumPy takes for padding", text.size());
    longest = std::max(longest, count_characters(text));
  }
  if (longest > kMostBytes / kCodeBytes / std::max<size_t>(texts.size(), 1))
    return error(ErrorCode::kUnsupported,
                 "{} strings, the longest of {} characters, take more than 2^32 bytes as NumPy's "
                 "texts of one length",
                 texts.size(), longest);
  const size_t element = longest * kCodeBytes;
  Tensor codes =
      OCTET_TRY(Tensor::zeros(DType::kUint8, {static_cast<int64_t>(texts.size() * element)}));
  std::byte* to = codes.mutable_bytes().data();
  for (size_t i = 0; i < texts.size(); ++i, to += element) {
    const char *p = texts[i].data(), *end = p + texts[i].size();
    for (size_t character = 0; p < end; ++character) {
      const Decoded c = decode_utf8(p, end);
      std::memcpy(to + character * kCodeBytes, &c.code, kCodeBytes);
      p += c.bytes;
    }
  }
  return NpyTexts{longest, std::move(codes)};
}

} // namespace octet
