// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"

#include <algorithm>
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

PieceHash::PieceHash(uint64_t seed)
    : seed_(seed), lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1} {}

void PieceHash::take_stripe(const std::byte* stripe) {
  for (size_t i = 0; i < lanes_.size(); ++i)
    lanes_[i] = round(lanes_[i], load<uint64_t>(stripe + 8 * i));
}

void PieceHash::add(std::span<const std::byte> bytes) {
  const size_t used = count_ % kStripe;
  count_ += bytes.size();
  if (used > 0) {
    const std::span<const std::byte> front = bytes.first(std::min(bytes.size(), kStripe - used));
    std::copy(front.begin(), front.end(), rest_.begin() + static_cast<std::ptrdiff_t>(used));
    bytes = bytes.subspan(front.size());
    if (used + front.size() < kStripe) return;
    take_stripe(rest_.data());
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe))
    take_stripe(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

uint64_t PieceHash::value() const {
  uint64_t h = seed_ + kPrime5;
  if (count_ >= kStripe) {
    h = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
        std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_)
      h = (h ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  h += count_;
  const std::byte* p = rest_.data();
  size_t left = count_ % kStripe;
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

uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  PieceHash hasher(seed);
  hasher.add(bytes);
  return hasher.value();
}

uint64_t hash_bytes(std::string_view text, uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())), seed);
}

uint64_t hash_value(uint64_t value, uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(&value, 1)), seed);
}

} // namespace octet
