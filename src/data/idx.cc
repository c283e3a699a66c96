// SPDX-License-Identifier: Apache-2.0
#include "data/idx.h"

#include <cstring>
#include <optional>

#include "core/format.h"
#include "data/byte_order.h"
#include "data/gzip.h"

namespace octet {
namespace {

constexpr size_t kMaxIdxBytes = size_t{1} << 32;

std::optional<DType> type_of(unsigned code) {
  switch (code) {
  case 0x08:
    return DType::kUint8;
  case 0x09:
    return DType::kInt8;
  case 0x0B:
    return DType::kInt16;
  case 0x0C:
    return DType::kInt32;
  case 0x0D:
    return DType::kFloat32;
  case 0x0E:
    return DType::kFloat64;
  default:
    return std::nullopt;
  }
}

} // namespace

Result<Tensor> parse_idx(std::span<const std::byte> bytes, const std::string& name) {
  const auto at = [&](size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  if (bytes.size() < 4) {
    return error("{} has {} bytes, an IDX file has at least 4; fetch it again", name, bytes.size());
  }
  const std::optional<DType> type = type_of(at(2));
  if (at(0) != 0 || at(1) != 0 || !type) {
    return error("{} begins with {:02x}{:02x}{:02x}{:02x}, an IDX file with 0000 and a type such "
                 "as 08; name an IDX file",
                 name, at(0), at(1), at(2), at(3));
  }
  const size_t rank = at(3);
  const size_t header = 4 + 4 * rank;
  if (bytes.size() < header) {
    return error("{} is truncated: {} bytes, its header alone takes {}; fetch it again", name,
                 bytes.size(), header);
  }
  Shape shape;
  for (size_t i = 4; i < header; i += 4)
    shape.push_back(int64_t{at(i)} << 24 | at(i + 1) << 16 | at(i + 2) << 8 | at(i + 3));
  const int64_t count = OCTET_TRY_WITH(element_count(shape), name);
  const auto payload = static_cast<int64_t>(bytes.size() - header);
  if (bytes_for(*type, count) != payload) {
    return error("{} {}: its header announces {} of type {}, {} bytes, but {} follow; fetch it "
                 "again",
                 name, bytes_for(*type, count) > payload ? "is truncated" : "has extra bytes",
                 to_string(shape), octet::name(*type), bytes_for(*type, count), payload);
  }
  Tensor out = OCTET_TRY_WITH(Tensor::zeros(*type, std::move(shape)), name);
  if (payload > 0)
    std::memcpy(out.mutable_bytes().data(), bytes.data() + header, static_cast<size_t>(payload));
  swap_words(out.mutable_bytes(), static_cast<size_t>(bits(*type) / 8));
  return out;
}

Result<Tensor> read_idx(const std::string& path) {
  DataFile file = OCTET_TRY(DataFile::open(path, kMaxIdxBytes));
  const std::string content = OCTET_TRY(file.read_all());
  return parse_idx(std::as_bytes(std::span(content)), path);
}

} // namespace octet
