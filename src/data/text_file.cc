// SPDX-License-Identifier: Apache-2.0
#include "data/text_file.h"

#include <algorithm>

#include "core/format.h"
#include "data/gzip.h"

#include "octet/tensor.h"

namespace octet {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 36;

std::string_view without_mark(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  return text;
}

} // namespace

Result<TextFile> TextFile::open(const std::string& path) {
  const std::shared_ptr<const Buffer> mapped = OCTET_TRY(Buffer::map(path));
  const auto bytes = mapped->bytes();
  if (bytes.size() > kMaxTextBytes)
    return error("{} has {} bytes, above the limit of {}; split it", path, bytes.size(),
                 kMaxTextBytes);
  if (detect_gzip(bytes) == Deflate::kGzip)
    return from(path, OCTET_TRY(inflate_all(bytes, Deflate::kGzip, path, kMaxTextBytes)));
  TextFile out;
  out.name_ = path;
  out.text_ = without_mark({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  out.mapped_ = mapped;
  return out;
}

TextFile TextFile::from(std::string name, std::string content) {
  TextFile out;
  out.name_ = std::move(name);
  out.owned_ = std::make_shared<const std::string>(std::move(content));
  out.text_ = without_mark(*out.owned_);
  return out;
}

int64_t TextFile::line_at(size_t offset) const {
  const std::string_view before = text_.substr(0, offset);
  return 1 + std::count(before.begin(), before.end(), '\n');
}

std::string TextFile::place(size_t offset) const {
  return fmt::format("{} line {}: ", name_, line_at(offset));
}

std::string_view next_line(std::string_view text, size_t& at) {
  const size_t end = text.find('\n', at);
  std::string_view line = text.substr(at, end == std::string_view::npos ? end : end - at);
  at = end == std::string_view::npos ? text.size() : end + 1;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

} // namespace octet
