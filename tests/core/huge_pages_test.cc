// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "core/huge_pages.h"
#include "support/memory.h"
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace octet {
namespace {

using Bytes = std::shared_ptr<Buffer>;

bool is_zero(const Buffer& buffer) {
  return std::all_of(buffer.bytes().begin(), buffer.bytes().end(),
                     [](std::byte b) { return b == std::byte{0}; });
}

bool is_aligned(const Buffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.bytes().data()) % 64 == 0;
}

void fill(Buffer& buffer, int value) {
  std::memset(buffer.writable(), value, buffer.bytes().size());
}

TEST(HugePages, EverySizeIsZeroedAlignedAndApart) {
  std::vector<Bytes> held;
  for (const size_t bytes :
       {0, 1, 63, 64, 65, 4095, 4096, 4097, 70000, 1 << 20, (1 << 20) + 1, 2 << 20, (3 << 20) - 1,
        (3 << 20) + 5, 16 << 20, (16 << 20) + 1, 40 << 20}) {
    for (const Bytes& made : {allocate_in_huge_pages(bytes), allocate_among_others(bytes)}) {
      ASSERT_NE(made, nullptr) << bytes;
      EXPECT_EQ(made->bytes().size(), bytes);
      EXPECT_TRUE(is_aligned(*made)) << bytes;
      EXPECT_TRUE(is_zero(*made)) << bytes;
      fill(*made, 0x5A); // what comes next is zero nevertheless
      held.push_back(made);
    }
  }
  std::sort(held.begin(), held.end(),
            [](const Bytes& a, const Bytes& b) { return a->bytes().data() < b->bytes().data(); });
  for (size_t i = 1; i < held.size(); ++i)
    EXPECT_LE(held[i - 1]->bytes().data() + held[i - 1]->bytes().size(), held[i]->bytes().data());
}

TEST(HugePages, NoMemoryIsNull) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers end the process";
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {kMost, kMost - 64, kMost / 2}) {
    EXPECT_EQ(allocate_in_huge_pages(bytes), nullptr);
    EXPECT_EQ(allocate_among_others(bytes), nullptr);
  }
}

/// Whole pages of these bytes that are in memory; -1: not mapped any more.
int64_t pages_in_memory(std::span<const std::byte> bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  const size_t pages = (bytes.size() - before) / page;
  std::vector<unsigned char> present(pages);
  auto* const begin = const_cast<std::byte*>(bytes.data()) + before;
  if (mincore(begin, pages * page, present.data()) != 0) return -1;
  return std::count_if(present.begin(), present.end(),
                       [](unsigned char p) { return (p & 1) != 0; });
}

TEST(HugePages, ABufferGivesItsPagesBackWhileOthersStay) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers keep memory that was given back";
  std::vector<Bytes> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(allocate_among_others((1 << 20) + 100));
    fill(*all.back(), i);
  }
  const std::span<const std::byte> gone = all[9]->bytes(), neighbour = all[10]->bytes();
  EXPECT_GE(pages_in_memory(gone), 255);
  all[9] = nullptr;
  EXPECT_EQ(pages_in_memory(gone), 0);
  EXPECT_GE(pages_in_memory(neighbour), 255);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    const std::span<const std::byte> bytes = all[i]->bytes();
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte(i)), std::ssize(bytes));
  }
  const std::span<const std::byte> last = all.back()->bytes();
  all.clear();
  EXPECT_EQ(pages_in_memory(last), -1) << "the addresses go with the last buffer";
}

TEST(HugePages, ThreadsShareMappings) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  threads.reserve(wrong.size());
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &wrong] {
      std::vector<Bytes> own;
      for (size_t i = 0; i < 200; ++i) {
        own.push_back(allocate_among_others(4096 + i * 977));
        if (!own.back() || !is_zero(*own.back())) return void(wrong[static_cast<size_t>(t)] = 1);
        fill(*own.back(), t + 1);
        if (i % 3 == 0) own.erase(own.begin() + static_cast<std::ptrdiff_t>(own.size() / 2));
      }
      for (const Bytes& b : own)
        if (std::count(b->bytes().begin(), b->bytes().end(), std::byte(t + 1)) !=
            std::ssize(b->bytes()))
          wrong[static_cast<size_t>(t)] = 2;
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

} // namespace
} // namespace octet
