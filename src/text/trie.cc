// SPDX-License-Identifier: Apache-2.0
#include "text/trie.h"

#include <algorithm>

namespace octet::text {
namespace {

constexpr uint32_t kBytes = 256;
/// So many free places are tried for a node's children before they go to the end.
constexpr int kTries = 64;

} // namespace

/// Breadth first: a node's children are placed at once, at the first base where all are free.
struct Trie::Builder {
  struct Task {
    uint32_t node;
    size_t begin, end, depth;
  };
  std::span<const Entry> entries;
  std::vector<Node>& nodes;
  std::vector<Task> tasks{};
  std::vector<unsigned char> bytes{};
  uint32_t first_free = 1;

  void grow(uint32_t size) {
    if (nodes.size() < size) nodes.resize(std::max<size_t>(size, nodes.size() * 3 / 2));
  }

  bool fits(uint32_t base) const {
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](unsigned char b) { return nodes[base + b].parent == kFree; });
  }

  uint32_t find_base() {
    while (nodes[first_free].parent != kFree) {
      ++first_free;
      grow(first_free + 2 * kBytes);
    }
    uint32_t at = std::max(first_free, bytes.front() + 1U);
    for (int tries = 0; tries < kTries; ++at) {
      grow(at + 2 * kBytes);
      if (nodes[at].parent != kFree) continue;
      if (fits(at - bytes.front())) return at - bytes.front();
      ++tries;
    }
    // The gaps before are few and small: they are given up.
    first_free = at;
    while (!fits(at - bytes.front()))
      grow(++at + 2 * kBytes);
    return at - bytes.front();
  }

  void place(const Task& task) {
    size_t begin = task.begin;
    if (entries[begin].first.size() == task.depth) {
      nodes[task.node].value = entries[begin].second;
      ++begin;
    }
    if (begin == task.end) return;
    bytes.clear();
    const auto byte_at = [&](size_t i) {
      return static_cast<unsigned char>(entries[i].first[task.depth]);
    };
    for (size_t i = begin; i < task.end; ++i)
      if (i == begin || byte_at(i) != bytes.back()) bytes.push_back(byte_at(i));
    const uint32_t base = find_base();
    nodes[task.node].base = base;
    for (size_t i = begin; i < task.end;) {
      const unsigned char byte = byte_at(i);
      size_t end = i;
      while (end < task.end && byte_at(end) == byte)
        ++end;
      nodes[base + byte].parent = task.node;
      tasks.push_back({base + byte, i, end, task.depth + 1});
      i = end;
    }
  }

  void run() {
    grow(2 * kBytes);
    nodes[kRoot].parent = kRoot;
    if (!entries.empty()) tasks.push_back({kRoot, 0, entries.size(), 0});
    for (size_t i = 0; i < tasks.size(); ++i)
      place(Task(tasks[i]));
    size_t used = nodes.size();
    while (used > 1 && nodes[used - 1].parent == kFree)
      --used;
    // Any byte may be added to any base.
    nodes.resize(used + kBytes);
    nodes.shrink_to_fit();
  }
};

Trie::Trie() : Trie(std::span<const Entry>()) {}

Trie::Trie(std::span<const Entry> entries) {
  Builder{entries, nodes_}.run();
}

} // namespace octet::text
