// SPDX-License-Identifier: Apache-2.0
// Layout of the weight store's file, for those who write and read it: header, table, payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/pack_archive.h"

#include "octet/dtype.h"
#include "octet/tensor.h"

namespace octet::runtime {

constexpr std::string_view kMagic = "octetpk\n";
constexpr uint32_t kByteOrder = 0x01020304;
constexpr uint32_t kStoreFormat = 1;
constexpr size_t kHeaderBytes = 4096; ///< the last 8 are the hash of the others
constexpr size_t kSectionAlignment = 64;
constexpr size_t kSectionTail = 64; ///< zeros behind each section, which kernels may read
constexpr int64_t kMostElements = int64_t{1} << 40;
/// Weights that are elsewhere take at most so many times the file: packs are no smaller.
constexpr size_t kMostReleased = 64;
/// Constants from here on stand in the payload.
constexpr size_t kLeastStored = 4096;

struct StoreHeader {
  uint32_t byte_order = kByteOrder, format = kStoreFormat, packers = 0;
  uint64_t file_bytes = 0, table_offset = kHeaderBytes, table_bytes = 0, table_hash = 0;
  std::string version, isa;

  void write(PackWriter& to) const {
    for (const char c : kMagic)
      to.number(c);
    to.number(byte_order);
    to.number(format);
    to.number(packers);
    to.number(file_bytes);
    to.number(table_offset);
    to.number(table_bytes);
    to.number(table_hash);
    to.text(version);
    to.text(isa);
  }
  void read(PackReader& from) {
    for (size_t i = 0; i < kMagic.size(); ++i)
      from.number<char>();
    byte_order = from.number<uint32_t>();
    format = from.number<uint32_t>();
    packers = from.number<uint32_t>();
    file_bytes = from.number<uint64_t>();
    table_offset = from.number<uint64_t>();
    table_bytes = from.number<uint64_t>();
    table_hash = from.number<uint64_t>();
    version = from.text();
    isa = from.text();
  }
};

/// The first kHeaderBytes of the file, with their hash.
std::string header_bytes(const StoreHeader& header);

constexpr size_t aligned_size(size_t bytes) {
  return (bytes + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

/// Wider integers tell shapes and places: they stand in the table, which is always checked.
inline bool may_be_stored(DType type) {
  return is_float(type) || (is_integer(type) && bytes_for(type, 8) <= 8);
}

/// What stands in the stored graph for a constant of the table.
constexpr int64_t kPlaceholder[] = {0x6F63746574706163, 0x6B20636F6E737461};
inline Tensor placeholder(int64_t index) {
  return Tensor::of<int64_t>({3}, {kPlaceholder[0], kPlaceholder[1], index});
}
inline std::optional<int64_t> placeholder_index(const Tensor& t) {
  if (t.type() != DType::kInt64 || t.shape() != Shape{3}) return std::nullopt;
  const auto values = t.to_ints();
  if (!values.ok() || (*values)[0] != kPlaceholder[0] || (*values)[1] != kPlaceholder[1])
    return std::nullopt;
  return (*values)[2];
}

} // namespace octet::runtime
