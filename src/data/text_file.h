// SPDX-License-Identifier: Apache-2.0
// A text file in memory: mapped, or unpacked when it is gzipped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "octet/result.h"

namespace octet {

class Buffer;

class TextFile {
 public:
  /// Errors: not there, damaged or truncated gzip, above 64 GiB (unpacked).
  static Result<TextFile> open(const std::string& path);
  /// Text at hand; `name` stands for the file in errors.
  static TextFile from(std::string name, std::string content);

  /// All of it but a byte order mark; it lives as long as any copy of the file.
  std::string_view text() const { return text_; }
  const std::string& name() const { return name_; }
  /// The line of a position, from 1 on.
  int64_t line_at(size_t offset) const;
  /// `FILE line 12: `: the beginning of an error about a position.
  std::string place(size_t offset) const;

 private:
  std::string name_;
  std::string_view text_;
  std::shared_ptr<const Buffer> mapped_;
  std::shared_ptr<const std::string> owned_;
};

/// The line at `at` without its end (\n or \r\n); `at` moves to the next one.
std::string_view next_line(std::string_view text, size_t& at);
/// Whether there is nothing but ASCII white space.
bool is_blank(std::string_view text);

} // namespace octet
