// SPDX-License-Identifier: Apache-2.0
// The file of tokens: what is written is read, whatever is changed in it is noticed.
#include <cstring>

#include "text/token_store.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

constexpr TokenKey kKey = {1, 2};

std::string stored(const std::vector<std::vector<std::vector<int32_t>>>& units,
                   int64_t vocabulary) {
  std::string out;
  TokenStoreWriter writer(
      [&](std::string_view part) {
        out += part;
        return ok_status();
      },
      kKey, vocabulary);
  for (const auto& unit : units) {
    for (const auto& piece : unit)
      EXPECT_TRUE(writer.add_piece(piece).ok());
    writer.end_unit();
  }
  EXPECT_TRUE(writer.finish().ok());
  return out;
}

Result<TokenStore> parsed(const std::string& bytes, int64_t vocabulary, TokenKey key = kKey) {
  const auto buffer = Buffer::allocate(bytes.size());
  std::memcpy(buffer->writable(), bytes.data(), bytes.size());
  return TokenStore::parse(buffer, "cache.tokens", key, vocabulary);
}

TEST(TokenStore, RoundTripsNarrowAndWideIds) {
  for (const int64_t vocabulary : {65536, 65537}) {
    std::vector<int32_t> longest(100000);
    for (size_t i = 0; i < longest.size(); ++i)
      longest[i] = static_cast<int32_t>((i * 7919) % static_cast<size_t>(vocabulary));
    const auto last = static_cast<int32_t>(vocabulary - 1);
    const std::vector<std::vector<std::vector<int32_t>>> units = {
        {{1, 2, 3}, {}}, {}, {longest}, {{last}}};
    const std::string bytes = stored(units, vocabulary);
    EXPECT_EQ(bytes.size() % 8, 0U);
    const TokenStore store = parsed(bytes, vocabulary).value();
    ASSERT_EQ(store.units(), 4);
    EXPECT_EQ(store.pieces(), 4);
    EXPECT_EQ(store.ids(), 100004);
    for (int64_t u = 0; u < store.units(); ++u) {
      const auto& unit = units[static_cast<size_t>(u)];
      ASSERT_EQ(store.first_piece(u + 1) - store.first_piece(u), std::ssize(unit));
      for (size_t p = 0; p < unit.size(); ++p) {
        std::vector<int32_t> ids = {-7};
        store.append(store.first_piece(u) + static_cast<int64_t>(p), ids);
        ids.erase(ids.begin());
        EXPECT_EQ(ids, unit[p]);
        EXPECT_EQ(store.length(store.first_piece(u) + static_cast<int64_t>(p)),
                  std::ssize(unit[p]));
      }
    }
  }
  EXPECT_EQ(parsed(stored({}, 10), 10).value().units(), 0);
}

TEST(TokenStore, NoticesEveryChangedByteAndEveryLength) {
  const std::string bytes = stored({{{1, 2, 3}, {4}}, {{5, 6}}}, 10);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    const auto store = parsed(changed, 10);
    ASSERT_FALSE(store.ok()) << "byte " << i;
    EXPECT_NE(store.error().text().find("the token cache cache.tokens is damaged"),
              std::string::npos);
    EXPECT_NE(store.error().text().find("delete the file"), std::string::npos);
    EXPECT_FALSE(parsed(bytes.substr(0, i), 10).ok()) << "length " << i;
  }
  EXPECT_FALSE(parsed(bytes + bytes, 10).ok());
  EXPECT_TRUE(parsed(bytes, 7).ok());
  EXPECT_NE(parsed(bytes, 6).error().text().find("it holds id 6, the vocabulary has 6 tokens"),
            std::string::npos);
  EXPECT_NE(parsed(bytes, 10, {1, 3}).error().text().find("another text or tokenizer"),
            std::string::npos);
}

/// Offsets are checked even where the checksum is right.
TEST(TokenStore, ChecksOffsets) {
  const std::string bytes = stored({{{1, 2, 3}, {4}}, {{5, 6}}}, 10);
  int refused = 0;
  for (size_t at = 16; at + 16 < bytes.size(); at += 8) {
    std::string changed = bytes;
    const uint64_t huge = ~uint64_t{0} / 8;
    std::memcpy(changed.data() + at, &huge, sizeof huge);
    const uint64_t sum =
        token_store_checksum(std::string_view(changed).substr(0, changed.size() - 16));
    std::memcpy(changed.data() + changed.size() - 16, &sum, sizeof sum);
    refused += !parsed(changed, 10).ok();
  }
  // Ids, four and three offsets, counts, width and key: every word.
  EXPECT_EQ(refused, static_cast<int>((bytes.size() - 32) / 8));
}

} // namespace
} // namespace octet
