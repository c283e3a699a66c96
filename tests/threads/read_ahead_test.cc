// SPDX-License-Identifier: Apache-2.0
// ReadAhead makes items in order, one at a time and no more than it may; errors and exceptions come
// out where they belong, and it can be left at any point.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/format.h"
#include "data/read_ahead.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(ReadAhead, GivesEveryItemInOrderFromOneThreadThatIsNotTheCallers) {
  const std::thread::id own = std::this_thread::get_id();
  std::atomic<int> running = 0;
  ReadAhead<std::vector<int64_t>> items(1000, [&](int64_t k) -> Result<std::vector<int64_t>> {
    EXPECT_EQ(running.fetch_add(1), 0);
    EXPECT_NE(std::this_thread::get_id(), own);
    running.fetch_sub(1);
    return std::vector<int64_t>{k, k * k};
  });
  for (int64_t k = 0; k < 1000; ++k)
    ASSERT_EQ(items.next().value(), (std::vector<int64_t>{k, k * k}));
}

TEST(ReadAhead, MakesAsManyAsItMayAndNoMore) {
  for (const int64_t ahead : {1, 2, 5}) {
    std::atomic<int64_t> made = 0;
    ReadAhead<int64_t> items(
        100, [&](int64_t k) -> Result<int64_t> { return made = k + 1; },
        static_cast<size_t>(ahead));
    for (int64_t taken = 0; taken < 20; ++taken) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (made < taken + ahead && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      ASSERT_EQ(made, taken + ahead);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ASSERT_EQ(made, taken + ahead) << "it ran ahead of its bound";
      ASSERT_EQ(items.next().value(), taken + 1);
    }
  }
}

TEST(ReadAhead, AnErrorComesOutBehindWhatWasMadeBeforeIt) {
  ReadAhead<int64_t> items(10, [](int64_t k) -> Result<int64_t> {
    if (k == 3) return error("item {} is missing", k);
    return k;
  });
  for (int64_t k = 0; k < 3; ++k)
    EXPECT_EQ(items.next().value(), k);
  const Result<int64_t> failed = items.next();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().text(), "item 3 is missing");
}

TEST(ReadAhead, AnExceptionIsAnError) {
  ReadAhead<int64_t> items(
      2, [](int64_t) -> Result<int64_t> { throw std::runtime_error("out of paper"); });
  const Result<int64_t> failed = items.next();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().text(), "out of paper");
}

TEST(ReadAhead, CanBeLeftAtAnyPoint) {
  for (int64_t taken = 0; taken < 20; ++taken) {
    std::atomic<int64_t> made = 0;
    {
      ReadAhead<std::string> items(20, [&](int64_t k) -> Result<std::string> {
        ++made;
        return std::string(100, static_cast<char>('a' + k));
      });
      for (int64_t k = 0; k < taken; ++k)
        ASSERT_EQ(items.next().value()[0], static_cast<char>('a' + k));
    }
    EXPECT_LE(made, taken + 3);
  }
}

} // namespace
} // namespace octet
