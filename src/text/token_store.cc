// SPDX-License-Identifier: Apache-2.0
#include "text/token_store.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "core/format.h"
#include "core/hash.h"

namespace octet {
namespace {

constexpr std::string_view kStoreMagic =
    "octet tokens 1\r\n"; // 16 bytes; \r\n shows text conversions
constexpr size_t kStoreBlock = size_t{1} << 16;
constexpr size_t kTrailerNumbers = 8;
constexpr size_t kTrailerBytes = kTrailerNumbers * 8;

enum Trailer { kUnits, kPieces, kIds, kIdBytes, kKeyLow, kKeyHigh, kChecksum, kEnd };

uint64_t load(const char* at) {
  uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

size_t padded(size_t size) {
  return (size + 7) / 8 * 8;
}

template <class T>
void append_ids(const std::byte* from, int64_t count, std::vector<int32_t>& out) {
  for (int64_t i = 0; i < count; ++i) {
    T id = 0;
    std::memcpy(&id, from + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    out.push_back(static_cast<int32_t>(id));
  }
}

template <class T>
uint64_t largest_id(const std::byte* from, uint64_t count) {
  T largest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    T id = 0;
    std::memcpy(&id, from + i * sizeof(T), sizeof(T));
    largest = std::max(largest, id);
  }
  return largest;
}

} // namespace

std::string to_string(const TokenKey& key) {
  return fmt::format("{:016x}{:016x}", key[0], key[1]);
}

uint64_t token_store_checksum(std::string_view bytes) {
  uint64_t hash = 0;
  for (size_t at = 0; at < bytes.size(); at += kStoreBlock)
    hash = hash_bytes(bytes.substr(at, kStoreBlock), hash);
  return hash;
}

Result<TokenStore> TokenStore::parse(std::shared_ptr<const Buffer> buffer,
                                     const std::string& name,
                                     const TokenKey& key,
                                     int64_t vocabulary_size) {
  const auto bytes = buffer->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto damaged = [&](std::string_view what) {
    return error("the token cache {} is damaged: {}; delete the file, it is made again", name,
                 what);
  };
  if (text.size() < kStoreMagic.size() + kTrailerBytes ||
      text.substr(0, kStoreMagic.size()) != kStoreMagic)
    return damaged("it does not begin as one");
  const char* trailer = text.data() + text.size() - kTrailerBytes;
  const auto number = [&](Trailer which) { return load(trailer + 8 * static_cast<size_t>(which)); };
  if (number(kEnd) != load(kStoreMagic.data())) return damaged("its end is missing");
  if (number(kChecksum) != token_store_checksum(text.substr(0, text.size() - 16)))
    return damaged("its checksum is another one");
  if (TokenKey{number(kKeyLow), number(kKeyHigh)} != key)
    return damaged("it belongs to another text or tokenizer");
  // No sum below can wrap: each count is first held against the size of the file.
  const uint64_t most = text.size();
  const bool plausible = number(kUnits) < most && number(kPieces) < most && number(kIds) < most &&
                         (number(kIdBytes) == 2 || number(kIdBytes) == 4);
  if (!plausible) return damaged("its counts are beyond its size");
  TokenStore out;
  out.units_ = static_cast<int64_t>(number(kUnits));
  out.pieces_ = static_cast<int64_t>(number(kPieces));
  out.id_bytes_ = number(kIdBytes);
  out.pieces_at_ = padded(kStoreMagic.size() + number(kIds) * out.id_bytes_);
  out.units_at_ = out.pieces_at_ + 8 * (number(kPieces) + 1);
  if (out.units_at_ + 8 * (number(kUnits) + 1) + kTrailerBytes != text.size())
    return damaged("its counts do not fit its size");
  out.buffer_ = std::move(buffer);
  if (out.piece_start(out.pieces_) != number(kIds)) return damaged("an offset is wrong");
  OCTET_TRY(out.check(name, vocabulary_size));
  return out;
}

Status TokenStore::check(const std::string& name, int64_t vocabulary_size) const {
  bool good = piece_start(0) == 0 && first_piece(0) == 0 && first_piece(units_) == pieces_;
  for (int64_t i = 0; good && i < pieces_; ++i)
    good = piece_start(i) <= piece_start(i + 1);
  for (int64_t i = 0; good && i < units_; ++i)
    good = number(units_at_, i) <= number(units_at_, i + 1);
  if (!good)
    return error("the token cache {} is damaged: an offset is wrong; delete the file, it is made "
                 "again",
                 name);
  const std::byte* from = buffer_->bytes().data() + kStoreMagic.size();
  const auto count = static_cast<uint64_t>(ids());
  const uint64_t largest =
      id_bytes_ == 2 ? largest_id<uint16_t>(from, count) : largest_id<uint32_t>(from, count);
  if (count > 0 && largest >= static_cast<uint64_t>(vocabulary_size)) {
    return error("the token cache {} is damaged: it holds id {}, the vocabulary has {} tokens; "
                 "delete the file, it is made again",
                 name, largest, vocabulary_size);
  }
  return ok_status();
}

uint64_t TokenStore::number(size_t at, int64_t index) const {
  const auto* bytes = reinterpret_cast<const char*>(buffer_->bytes().data());
  return load(bytes + at + 8 * static_cast<size_t>(index));
}

void TokenStore::append(int64_t piece, std::vector<int32_t>& out) const {
  const std::byte* from =
      buffer_->bytes().data() + kStoreMagic.size() + piece_start(piece) * id_bytes_;
  if (id_bytes_ == 2)
    append_ids<uint16_t>(from, length(piece), out);
  else
    append_ids<uint32_t>(from, length(piece), out);
}

TokenStoreWriter::TokenStoreWriter(Sink sink, const TokenKey& key, int64_t vocabulary_size)
    : sink_(std::move(sink)), key_(key), id_bytes_(vocabulary_size <= 65536 ? 2 : 4),
      block_(kStoreMagic) {}

Status TokenStoreWriter::add_piece(std::span<const int32_t> ids) {
  std::string bytes(ids.size() * id_bytes_, '\0');
  for (size_t i = 0; i < ids.size(); ++i)
    std::memcpy(bytes.data() + i * id_bytes_, &ids[i], id_bytes_); // little-endian: the low bytes
  piece_start_.push_back(piece_start_.back() + ids.size());
  return write(bytes);
}

Status TokenStoreWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t n = std::min(kStoreBlock - block_.size(), bytes.size());
    block_ += bytes.substr(0, n);
    bytes.remove_prefix(n);
    if (block_.size() == kStoreBlock) OCTET_TRY(flush());
  }
  return ok_status();
}

Status TokenStoreWriter::flush() {
  if (!block_.empty()) checksum_ = hash_bytes(block_, checksum_);
  OCTET_TRY(sink_(block_));
  block_.clear();
  return ok_status();
}

Status TokenStoreWriter::write_numbers(std::span<const uint64_t> numbers) {
  return write({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

Status TokenStoreWriter::finish() {
  const uint64_t ids = piece_start_.back();
  const size_t end = kStoreMagic.size() + ids * id_bytes_;
  OCTET_TRY(write(std::string(padded(end) - end, '\0')));
  OCTET_TRY(write_numbers(piece_start_));
  OCTET_TRY(write_numbers(unit_start_));
  const uint64_t trailer[] = {
      unit_start_.size() - 1, piece_start_.size() - 1, ids, id_bytes_, key_[0], key_[1]};
  OCTET_TRY(write_numbers(trailer));
  OCTET_TRY(flush());
  const uint64_t end_marks[] = {checksum_, load(kStoreMagic.data())};
  return sink_({reinterpret_cast<const char*>(end_marks), sizeof end_marks});
}

} // namespace octet
