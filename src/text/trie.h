// SPDX-License-Identifier: Apache-2.0
// A trie over bytes as a double array: a step is one addition and one comparison.
// Source: J. Aoe, "An efficient digital search algorithm by using a double-array structure", 1989.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace octet::text {

class Trie {
 public:
  using Entry = std::pair<std::string_view, int32_t>;
  /// Where a walk begins; also what step() returns when there is no way on.
  static constexpr uint32_t kRoot = 0;

  Trie();
  /// Entries are sorted by their keys, which are distinct and not empty; values are not negative.
  explicit Trie(std::span<const Entry> entries);

  uint32_t step(uint32_t node, unsigned char byte) const {
    const uint32_t next = nodes_[node].base + byte;
    return nodes_[next].parent == node ? next : kRoot;
  }
  /// -1: no key ends here.
  int32_t value(uint32_t node) const { return nodes_[node].value; }

 private:
  static constexpr uint32_t kFree = 0xFFFFFFFF;
  struct Node {
    uint32_t base = 0;
    uint32_t parent = kFree;
    int32_t value = -1;
  };
  struct Builder;
  std::vector<Node> nodes_;
};

} // namespace octet::text
