// SPDX-License-Identifier: Apache-2.0
// Turning big-endian elements into the machine's (little-endian) order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace octet {

/// Reverses the bytes of every word; a last part shorter than a word stays.
inline void swap_words(std::span<std::byte> bytes, size_t word_bytes) {
  for (size_t i = 0; word_bytes > 1 && i + word_bytes <= bytes.size(); i += word_bytes)
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(i),
                 bytes.begin() + static_cast<ptrdiff_t>(i + word_bytes));
}

} // namespace octet
