// SPDX-License-Identifier: Apache-2.0
// XXH64, the hash that names contents. Not for security. Source: the xxHash specification 0.1.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace octet {

/// The same value on every machine and in every run; chain hashes through `seed`.
uint64_t hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t hash_bytes(std::string_view text, uint64_t seed = 0);
uint64_t hash_value(uint64_t value, uint64_t seed);

} // namespace octet
