// SPDX-License-Identifier: Apache-2.0
// XXH64, the hash that names contents. Not for security. Source: the xxHash specification 0.1.1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace octet {

/// The same value on every machine and in every run; chain hashes through `seed`.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t hash_bytes(std::string_view text, uint64_t seed = 0);
uint64_t hash_value(uint64_t value, uint64_t seed);

/// The hash of bytes that come in pieces: the same however they are cut.
class PieceHash {
 public:
  explicit PieceHash(uint64_t seed = 0);
  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  void take_stripe(const std::byte* stripe);

  static constexpr size_t kStripe = 32;
  uint64_t seed_;
  std::array<uint64_t, 4> lanes_;
  std::array<std::byte, kStripe> rest_{}; ///< less than a stripe
  size_t count_ = 0;                      ///< of all bytes
};

} // namespace octet
