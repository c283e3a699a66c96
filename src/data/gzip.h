// SPDX-License-Identifier: Apache-2.0
// Reading gzip (RFC 1952) and raw deflate (RFC 1951) streams with a bound on what comes out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "octet/result.h"

namespace octet {

class Buffer;

enum class Deflate {
  kGzip, ///< one or more gzip members, one after the other
  kRaw,  ///< a single deflate stream, as in zip files
  kNone, ///< bytes as they are
};

/// kGzip when the bytes begin like a gzip file, else kNone.
Deflate detect_gzip(std::span<const std::byte> bytes);

/// A stream over compressed bytes in memory, which must outlive it.
class InflateStream {
 public:
  /// `name` begins every error; more than `limit_bytes` of output is an error.
  InflateStream(std::span<const std::byte> bytes,
                Deflate format,
                std::string name,
                size_t limit_bytes);
  InflateStream(InflateStream&&) noexcept;
  InflateStream& operator=(InflateStream&&) noexcept;
  ~InflateStream();

  /// Fills `out` as far as there is data; fewer bytes than asked for (0 at last) means the end.
  /// Errors: corrupted, truncated (also when a checksum is missing), above the limit.
  Result<size_t> read(std::span<std::byte> out);
  /// Compressed bytes consumed, for progress.
  size_t consumed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// All of a stream. Memory grows with what really comes out, never with what a header claims.
Result<std::string> inflate_all(std::span<const std::byte> bytes,
                                Deflate format,
                                const std::string& name,
                                size_t limit_bytes);

/// A file, gzipped or plain (told by its first bytes), read as a stream or at once.
class DataFile {
 public:
  static Result<DataFile> open(const std::string& path, size_t limit_bytes);
  Result<size_t> read(std::span<std::byte> out) { return stream_.read(out); }
  Result<std::string> read_all();
  size_t file_bytes() const;
  size_t consumed() const { return stream_.consumed(); }

 private:
  DataFile(std::shared_ptr<Buffer> file, InflateStream stream);
  std::shared_ptr<Buffer> file_;
  InflateStream stream_;
};

/// A gzip member with no name and no time: equal input gives equal bytes.
std::string gzip_compress(std::span<const std::byte> bytes);

} // namespace octet
