// SPDX-License-Identifier: Apache-2.0
// Tensor and Buffer: views, alignment, limits of shapes and sizes, sharing, conversion, hashing.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/hash.h"
#include <gtest/gtest.h>

#include "octet/tensor.h"

namespace octet {
namespace {

TEST(Shape, CountsAndRefuses) {
  EXPECT_EQ(element_count(Shape{}).value(), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}).value(), 24);
  EXPECT_EQ(element_count(Shape{int64_t{1} << 62}).value(), int64_t{1} << 62);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(element_count(Shape{huge, huge, 0}).value(), 0);
  EXPECT_FALSE(element_count(Shape{huge}).ok());
  EXPECT_FALSE(element_count(Shape{huge, huge, huge}).ok());
  EXPECT_FALSE(element_count(Shape{int64_t{1} << 32, int64_t{1} << 32}).ok());
  EXPECT_NE(element_count(Shape{2, -1}).error().text().find("[2, -1]"), std::string::npos);
}

TEST(Tensor, ZerosAreZeroAlignedAndBounded) {
  Tensor x = Tensor::zeros(DType::kFloat32, {3, 5}).value();
  EXPECT_TRUE(x.is_aligned(64));
  EXPECT_EQ(x.bytes().size(), 60U);
  for (const float value : x.data<float>())
    EXPECT_EQ(value, 0);
  EXPECT_FALSE(Tensor::zeros(DType::kUint8, {(int64_t{1} << 40) + 1}).ok());
  EXPECT_FALSE(Tensor::zeros(DType::kFloat32, {int64_t{1} << 61}).ok());
  EXPECT_FALSE(Tensor::zeros(DType::kString, {1}).ok());
  EXPECT_FALSE(Tensor::zeros(DType::kUndefined, {1}).ok());
  EXPECT_EQ(Tensor::zeros(DType::kFloat32, {0, 7}).value().bytes().size(), 0U);
  EXPECT_EQ(Tensor::zeros(DType::kInt4, {5}).value().bytes().size(), 3U);
  EXPECT_EQ(Tensor::zeros(DType::kFloat6E2M3, {5}).value().bytes().size(), 4U);
  EXPECT_EQ(Tensor::zeros(DType::kUint2, {5}).value().bytes().size(), 2U);
}

TEST(Tensor, ViewsStayInsideTheirBuffer) {
  const std::shared_ptr<Buffer> buffer = Buffer::allocate(16);
  for (int i = 0; i < 16; ++i)
    buffer->writable()[i] = static_cast<std::byte>(i);
  const Tensor x = Tensor::view(DType::kUint8, {2, 3}, buffer, 10).value();
  EXPECT_EQ(x.at(0), 10);
  EXPECT_EQ(x.at(5), 15);
  EXPECT_FALSE(Tensor::view(DType::kUint8, {7}, buffer, 10).ok());
  EXPECT_FALSE(Tensor::view(DType::kUint8, {1}, buffer, 16).ok());
  EXPECT_TRUE(Tensor::view(DType::kUint8, {0}, buffer, 16).ok());
  EXPECT_FALSE(Tensor::view(DType::kUint8, {0}, buffer, 17).ok());
  const size_t top = std::numeric_limits<size_t>::max();
  EXPECT_FALSE(Tensor::view(DType::kUint8, {2}, buffer, top).ok());
  const Error error = Tensor::view(DType::kFloat32, {9}, buffer, 0).error();
  EXPECT_NE(error.text().find("36 bytes"), std::string::npos) << error.text();
}

TEST(Tensor, UnalignedViewsAreCopiedWhenAskedFor) {
  const std::shared_ptr<Buffer> buffer = Buffer::allocate(16);
  const float value = 1.5F;
  std::memcpy(buffer->writable() + 1, &value, sizeof value);
  const Tensor x = Tensor::view(DType::kFloat32, {1}, buffer, 1).value();
  EXPECT_FALSE(x.is_aligned(4));
  EXPECT_EQ(x.at(0), 1.5);
  EXPECT_EQ(x.aligned().data<float>()[0], 1.5F);
  EXPECT_TRUE(x.identical(x.aligned()));
  EXPECT_DEATH(static_cast<void>(x.data<float>()), "check failed");
}

TEST(Tensor, OnlyASoleOwnerWrites) {
  Tensor x = Tensor::of<float>({2}, {1, 2});
  x.mutable_data<float>()[0] = 5;
  EXPECT_EQ(x.at(0), 5);
  {
    const Tensor shared = x;
    EXPECT_DEATH(x.mutable_data<float>(), "check failed");
  }
  x.mutable_data<float>()[1] = 6;
  Tensor copy = x.clone();
  copy.mutable_data<float>()[1] = 7;
  EXPECT_EQ(x.at(1), 6);
  const Tensor taken = std::move(x);
  EXPECT_TRUE(x.empty()); // NOLINT(bugprone-use-after-move): a moved-from tensor is empty
  EXPECT_DEATH(x.mutable_bytes(), "check failed");
  EXPECT_DEATH(static_cast<void>(x.data<float>()), "check failed");
  EXPECT_DEATH(static_cast<void>(taken.data<int32_t>()), "i32");
  EXPECT_DEATH(Tensor::of<float>({3}, {1, 2}), "check failed");
}

TEST(Tensor, ReshapeAndBitcastShareBytes) {
  const Tensor x = Tensor::of<uint8_t>({2, 3}, {0, 1, 0x38, 0x7e, 0x7f, 0xb8});
  const Tensor y = x.reshaped({3, 2}).value();
  EXPECT_EQ(y.bytes().data(), x.bytes().data());
  EXPECT_FALSE(x.reshaped({7}).ok());
  const Tensor z = x.bitcast(DType::kFloat8E4M3FN).value();
  EXPECT_EQ(z.at(2), 1.0);
  EXPECT_EQ(z.at(3), 448.0);
  EXPECT_EQ(z.at(5), -1.0);
  EXPECT_FALSE(x.bitcast(DType::kFloat16).ok());
}

TEST(Tensor, StringsAreCountedAndConvertToNothing) {
  const Tensor x = Tensor::strings({2}, {"a", "bc"}).value();
  EXPECT_EQ(x.string_values()[1], "bc");
  EXPECT_FALSE(x.to_doubles().ok());
  EXPECT_FALSE(Tensor::strings({3}, {"a"}).ok());
  EXPECT_TRUE(x.identical(x.clone()));
  const Tensor other = Tensor::strings({2}, {"ab", "c"}).value();
  EXPECT_FALSE(x.identical(other));
  EXPECT_NE(x.content_hash(), other.content_hash());
}

TEST(Tensor, IntegersKeepAllTheirBits) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  const int64_t highest = std::numeric_limits<int64_t>::max();
  const Tensor x = Tensor::of<int64_t>({3}, {lowest, highest, (int64_t{1} << 53) + 1});
  EXPECT_EQ(x.to_ints().value(), (std::vector<int64_t>{lowest, highest, (int64_t{1} << 53) + 1}));
  const Tensor y = Tensor::of<uint64_t>({1}, {~uint64_t{0}});
  EXPECT_EQ(y.to_ints().value()[0], highest);
  EXPECT_EQ(y.to_floats().value()[0], 0x1p64F);
}

TEST(Tensor, HashDependsOnTypeShapeAndBytes) {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(x.content_hash(), x.clone().content_hash());
  EXPECT_NE(x.content_hash(), x.reshaped({4}).value().content_hash());
  EXPECT_NE(x.content_hash(), x.bitcast(DType::kInt32).value().content_hash());
  EXPECT_NE(x.content_hash(), Tensor::of<float>({2, 2}, {1, 2, 3, 5}).content_hash());
}

// Published values of XXH64 (xxHash's own test vectors and documentation).
TEST(Hash, IsXXH64) {
  EXPECT_EQ(hash_bytes(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(hash_bytes("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(hash_bytes("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(hash_bytes("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);
}

/// The bytes that xxHash's own sanity checks are made of.
std::vector<std::byte> sanity_bytes(size_t count) {
  std::vector<std::byte> out;
  uint64_t state = 2654435761U;
  for (size_t i = 0; i < count; ++i, state *= 11400714785074694797U)
    out.push_back(static_cast<std::byte>(state >> 56));
  return out;
}

TEST(Hash, OfPiecesIsThatOfTheWhole) {
  // XSUM_XXH64_testdata of xxHash.
  struct Known {
    size_t count;
    uint64_t seed, hash;
  };
  constexpr Known kKnown[] = {{1, 0, 0xE934A84ADB052768U},
                              {4, 0, 0x9136A0DCA57457EEU},
                              {14, 2654435761U, 0xC3BD6BF63DEB6DF0U},
                              {222, 0, 0xB641AE8CB691C174U},
                              {222, 2654435761U, 0x20CB8AB7AE10C14AU}};
  for (const Known& known : kKnown) {
    const std::vector<std::byte> bytes = sanity_bytes(known.count);
    const std::span<const std::byte> all(bytes);
    for (size_t first = 0; first <= bytes.size(); ++first)
      for (const size_t second : {size_t{0}, size_t{1}, size_t{31}, size_t{32}, size_t{33}}) {
        const size_t end = std::min(first + second, bytes.size());
        PieceHash hasher(known.seed);
        hasher.add(all.first(first));
        hasher.add(all.subspan(first, end - first));
        hasher.add(all.subspan(end));
        ASSERT_EQ(hasher.value(), known.hash) << known.count << " cut at " << first << ", " << end;
      }
  }
}

TEST(Buffer, MapsFilesAndRefusesFolders) {
  const std::string path = testing::TempDir() + "octet_buffer_test";
  std::ofstream(path, std::ios::binary) << "hello";
  const std::shared_ptr<Buffer> buffer = Buffer::map(path).value();
  EXPECT_EQ(buffer->bytes().size(), 5U);
  EXPECT_EQ(std::memcmp(buffer->bytes().data(), "hello", 5), 0);
  EXPECT_EQ(buffer->writable(), nullptr);
  std::ofstream(path, std::ios::binary | std::ios::trunc).flush();
  EXPECT_EQ(Buffer::map(path).value()->bytes().size(), 0U);
  std::filesystem::remove(path);
  const Result<std::shared_ptr<Buffer>> missing = Buffer::map(path);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(Buffer::map(testing::TempDir()).ok());
}

/// Memory of mapped files that this process holds, in KiB.
int64_t resident_file_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:")) return std::stoll(line.substr(8));
  return -1;
}

TEST(Tensor, LetsGoOfMappedPagesAndKeepsAllBytes) {
  constexpr size_t kBytes = (size_t{32} << 20) + 12; // the last page is not full
  const std::string path = testing::TempDir() + "octet_page_out_test";
  std::string text(kBytes, '\0');
  for (size_t i = 0; i < kBytes; ++i)
    text[i] = static_cast<char>(i * 2654435761U >> 24);
  std::ofstream(path, std::ios::binary) << text;
  const std::shared_ptr<Buffer> buffer = Buffer::map(path).value();
  std::filesystem::remove(path);
  const Tensor mapped = Tensor::view(DType::kUint8, {kBytes - 5}, buffer, 5).value();
  const auto is_whole = [&](const Tensor& t) {
    return std::memcmp(t.bytes().data(), text.data() + 5, t.bytes().size()) == 0;
  };
  EXPECT_TRUE(is_whole(mapped));
  const int64_t held = resident_file_kib();
  mapped.page_out(mapped.bytes().subspan(1000, size_t{8} << 20));
  EXPECT_LT(resident_file_kib(), held - int64_t{7} * 1024);
  mapped.page_out();
  EXPECT_LT(resident_file_kib(), held - int64_t{31} * 1024);
  EXPECT_TRUE(is_whole(mapped));

  const Tensor owned = mapped.clone();
  owned.page_out();
  EXPECT_TRUE(is_whole(owned));
  const Tensor borrowed =
      Tensor::view(DType::kUint8, {kBytes - 5}, Buffer::borrow({buffer->bytes()}), 5).value();
  borrowed.page_out();
  EXPECT_TRUE(is_whole(borrowed));
  Tensor{}.page_out();
}

} // namespace
} // namespace octet
