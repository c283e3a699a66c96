// SPDX-License-Identifier: Apache-2.0
// Bounded inflate and IDX files: right ones are read, wrong ones give one line that says why.
#include <string>

#include "data/folder.h"
#include "data/gzip.h"
#include "data/idx.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::contains;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Result<std::string> gunzip(const std::string& text, size_t limit = 1 << 24) {
  return inflate_all(bytes_of(text), Deflate::kGzip, "test.gz", limit);
}

std::string sample(size_t size) {
  std::string text;
  while (text.size() < size)
    text += std::to_string(text.size() * 2654435761U);
  return text.substr(0, size);
}

TEST(Gzip, RoundTripsAtEverySize) {
  for (const size_t size : {0, 1, 100, 65535, 65536, 65537, 1000000}) {
    const std::string text = sample(size);
    const std::string packed = gzip_compress(bytes_of(text));
    EXPECT_EQ(detect_gzip(bytes_of(packed)), Deflate::kGzip);
    EXPECT_EQ(gunzip(packed).value(), text);
  }
}

TEST(Gzip, ReadsMembersInARowAndTrailingZeros) {
  const std::string a = gzip_compress(bytes_of("hello "));
  const std::string b = gzip_compress(bytes_of("world"));
  EXPECT_EQ(gunzip(a + b).value(), "hello world");
  EXPECT_EQ(gunzip(a + b + std::string(7, '\0')).value(), "hello world");
  EXPECT_FALSE(gunzip(a + "junk").ok());
}

TEST(Gzip, EveryTruncationIsAnError) {
  const std::string packed = gzip_compress(bytes_of(sample(3000)));
  for (size_t length = 0; length < packed.size(); ++length) {
    const Result<std::string> result = gunzip(packed.substr(0, length));
    ASSERT_FALSE(result.ok()) << length;
    EXPECT_TRUE(contains(result.error().text(), "test.gz is truncated")) << result.error().text();
  }
}

TEST(Gzip, DamageIsAnError) {
  std::string packed = gzip_compress(bytes_of(sample(3000)));
  packed[packed.size() - 5] ^= 1; // the checksum
  EXPECT_TRUE(contains(gunzip(packed).error().text(), "test.gz is damaged"));
}

TEST(Gzip, ABombStopsAtTheLimit) {
  const std::string packed = gzip_compress(bytes_of(std::string(8000000, 'a')));
  EXPECT_LT(packed.size(), 20000U);
  const Error error = gunzip(packed, 100000).error();
  EXPECT_TRUE(contains(error.text(), "more than 100000 bytes")) << error.text();
  EXPECT_EQ(gunzip(packed, 8000000).value().size(), 8000000U);
}

TEST(Gzip, FilesAreReadPlainOrPacked) {
  const test::Folder folder;
  const std::string text = sample(200000);
  const std::string plain = folder.write("a.txt", text);
  const std::string packed = folder.write("a.txt.gz", gzip_compress(bytes_of(text)));
  EXPECT_EQ(DataFile::open(plain, 1 << 20).value().read_all().value(), text);
  EXPECT_EQ(DataFile::open(packed, 1 << 20).value().read_all().value(), text);
  EXPECT_FALSE(DataFile::open(plain, 1000).value().read_all().ok());
  EXPECT_EQ(DataFile::open(folder.path("none"), 1).error().code(), ErrorCode::kNotFound);
}

std::string idx(unsigned type, const std::vector<uint32_t>& dims, const std::string& payload) {
  std::string out = {0, 0, static_cast<char>(type), static_cast<char>(dims.size())};
  for (const uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8)
      out += static_cast<char>(dim >> shift);
  }
  return out + payload;
}

Result<Tensor> parse(const std::string& text) {
  return parse_idx(bytes_of(text), "some.idx");
}

TEST(Idx, ReadsEveryType) {
  const Tensor x = parse(idx(0x08, {2, 3}, "\x01\x02\x03\x04\x05\xff")).value();
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.at(5), 255);
  EXPECT_EQ(parse(idx(0x09, {1}, "\xff")).value().at(0), -1);
  EXPECT_EQ(parse(idx(0x0B, {1}, "\x01\x02")).value().at(0), 258);
  EXPECT_EQ(parse(idx(0x0C, {1}, "\xff\xff\xff\xfe")).value().at(0), -2);
  EXPECT_EQ(parse(idx(0x0D, {1}, std::string("\x3f\xc0\0\0", 4))).value().at(0), 1.5);
  EXPECT_EQ(parse(idx(0x0E, {1}, std::string("\xbf\xf8\0\0\0\0\0\0", 8))).value().at(0), -1.5);
  EXPECT_EQ(parse(idx(0x08, {0, 3}, "")).value().count(), 0);
}

TEST(Idx, ErrorsNameTheFileAndBothValues) {
  struct Case {
    std::string content, expected;
  };
  const std::string good = idx(0x08, {2, 2}, "abcd");
  for (const Case& c :
       std::vector<Case>{{"", "0 bytes"},
                         {"PK\x03\x04", "begins with 504b0304"},
                         {std::string("\0\0\x07\x01", 4), "begins with 00000701"},
                         {good.substr(0, 8), "8 bytes, its header alone takes 12"},
                         {good.substr(0, 14), "[2, 2] of type u8, 4 bytes, but 2 follow"},
                         {good + "x", "4 bytes, but 5 follow"},
                         {idx(0x0E, {0xffffffff, 0xffffffff, 0xffffffff}, ""), "2^62"},
                         {idx(0x08, {0xffff, 0xffff}, ""), "truncated"}}) {
    const Result<Tensor> result = parse(c.content);
    ASSERT_FALSE(result.ok()) << c.expected;
    const std::string text = result.error().text();
    EXPECT_TRUE(contains(text, "some.idx")) << text;
    EXPECT_TRUE(contains(text, c.expected)) << text;
    EXPECT_FALSE(contains(text, "\n")) << text;
  }
}

} // namespace
} // namespace octet
