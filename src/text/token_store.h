// SPDX-License-Identifier: Apache-2.0
// Token ids of many texts in one block of memory or one mapped file: units (examples, documents) of
// pieces (texts, sentences) of ids. The file, little-endian: 16 bytes of magic, ids of 2 or 4
// bytes, zeros up to a multiple of 8, u64 piece_start[pieces + 1], u64 unit_start[units + 1], a
// trailer of u64: units, pieces, ids, bytes of an id, two of the key, the checksum (XXH64 of each
// block of 64 KiB before it, chained), the magic's first 8 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/tensor.h"

namespace octet {

/// Names a text, a tokenizer and how the one was cut for the other.
using TokenKey = std::array<uint64_t, 2>;
std::string to_string(const TokenKey& key);

class TokenStore {
 public:
  /// `name` begins every error. Checks the checksum, every offset, and that ids are below
  /// `vocabulary_size`. Errors: truncated, damaged, of another key.
  static Result<TokenStore> parse(std::shared_ptr<const Buffer> buffer,
                                  const std::string& name,
                                  const TokenKey& key,
                                  int64_t vocabulary_size);

  int64_t units() const { return units_; }
  int64_t pieces() const { return pieces_; }
  int64_t ids() const { return static_cast<int64_t>(piece_start(pieces_)); }
  /// The first piece of a unit; `unit` may be units().
  int64_t first_piece(int64_t unit) const { return static_cast<int64_t>(number(units_at_, unit)); }
  int64_t length(int64_t piece) const {
    return static_cast<int64_t>(piece_start(piece + 1) - piece_start(piece));
  }
  /// Adds the ids of a piece to `out`.
  void append(int64_t piece, std::vector<int32_t>& out) const;

 private:
  uint64_t number(size_t at, int64_t index) const;
  uint64_t piece_start(int64_t piece) const { return number(pieces_at_, piece); }
  Status check(const std::string& name, int64_t vocabulary_size) const;

  std::shared_ptr<const Buffer> buffer_;
  int64_t units_ = 0, pieces_ = 0;
  size_t id_bytes_ = 2, pieces_at_ = 0, units_at_ = 0;
};

/// Writes the file front to back; keeps 8 bytes for each piece and unit.
class TokenStoreWriter {
 public:
  using Sink = std::function<Status(std::string_view)>;
  TokenStoreWriter(Sink sink, const TokenKey& key, int64_t vocabulary_size);

  Status add_piece(std::span<const int32_t> ids);
  /// A unit of the pieces since the last one.
  void end_unit() { unit_start_.push_back(piece_start_.size() - 1); }
  Status finish();

 private:
  Status write(std::string_view bytes);
  Status write_numbers(std::span<const uint64_t> numbers);
  Status flush();

  Sink sink_;
  TokenKey key_;
  size_t id_bytes_;
  std::string block_;
  uint64_t checksum_ = 0;
  std::vector<uint64_t> piece_start_ = {0}, unit_start_ = {0};
};

/// The checksum of a file whose bytes before it are these.
uint64_t token_store_checksum(std::string_view bytes);

} // namespace octet
