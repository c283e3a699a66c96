// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all: a temporary file in the same folder, fsync, rename, fsync
// of the folder. A kill at any moment leaves the old file (or none) and at most a temporary one,
// named `.NAME.octet-*`; a signal handler can remove that too.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "octet/result.h"

namespace octet {

enum class Overwrite { kNo, kYes };

/// A file being written; destroying it without commit() leaves nothing behind. A path that names a
/// device or a pipe (/dev/stdout) is written directly; a symbolic link is followed.
class AtomicFile {
 public:
  /// Errors: the file exists and may not be overwritten, the folder is missing or not writable.
  static Result<AtomicFile> create(const std::string& path, Overwrite overwrite);
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  /// The temporary file, for code that writes by name (it may replace the file's content).
  const std::string& temporary_path() const;
  /// Makes the file appear under its name; nothing may be written after it.
  Status commit();

 private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

Status write_file(const std::string& path, std::string_view content, Overwrite overwrite);

/// Removes the temporary files of every AtomicFile that is not committed (of the first 32 at one
/// time). For a signal handler that ends the process: it calls only what one may call.
void remove_temporary_files() noexcept;

/// The whole file. Errors: missing, not a file, above `limit_bytes`.
Result<std::string> read_file(const std::string& path, size_t limit_bytes);

} // namespace octet
