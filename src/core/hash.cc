// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace octet {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little, "words are read as little endian");

template <class Word>
Word load(const std::byte* p) {
  Word word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

uint64_t round(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

uint64_t avalanche(uint64_t h) {
  h = (h ^ (h >> 33)) * kPrime2;
  h = (h ^ (h >> 29)) * kPrime3;
  return h ^ (h >> 32);
}

} // namespace

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  uint64_t h = seed + kPrime5;
  if (left >= 32) {
    std::array<uint64_t, 4> lanes = {seed + kPrime1 + kPrime2, seed + kPrime2, seed,
                                     seed - kPrime1};
    for (; left >= 32; left -= 32, p += 32) {
      for (size_t i = 0; i < 4; ++i)
        lanes[i] = round(lanes[i], load<uint64_t>(p + 8 * i));
    }
    h = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
        std::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes)
      h = (h ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  h += bytes.size();
  for (; left >= 8; left -= 8, p += 8)
    h = std::rotl(h ^ round(0, load<uint64_t>(p)), 27) * kPrime1 + kPrime4;
  if (left >= 4) {
    h = std::rotl(h ^ (load<uint32_t>(p) * kPrime1), 23) * kPrime2 + kPrime3;
    left -= 4;
    p += 4;
  }
  for (; left > 0; --left, ++p)
    h = std::rotl(h ^ (static_cast<uint64_t>(*p) * kPrime5), 11) * kPrime1;
  return avalanche(h);
}

uint64_t hash_bytes(std::string_view text, uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())), seed);
}

uint64_t hash_value(uint64_t value, uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(&value, 1)), seed);
}

} // namespace octet
