// SPDX-License-Identifier: Apache-2.0
// Archives of friends and others: what is unpacked, and what is refused. The tar files are written
// here, byte by byte.
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/atomic_file.h"
#include "data/archive.h"
#include "data/folder.h"
#include "data/gzip.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::contains;

constexpr ArchiveLimits kRoom{.files = 10, .bytes = 100'000};

/// One member of a POSIX tar file. Type: '0' a file, '5' a folder, '1' and '2' links.
std::string tar_member(const std::string& name, const std::string& content, char type = '0') {
  std::array<char, 512> head{};
  const auto put = [&](size_t at, const std::string& text) {
    std::memcpy(head.data() + at, text.data(), text.size());
  };
  const auto octal = [](size_t value, int digits) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%0*zo", digits, value);
    return std::string(text.data());
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, octal(content.size(), 11));
  put(136, "00000000000");
  put(148, "        ");
  head[156] = type;
  if (type == '1' || type == '2') put(157, "/etc/passwd");
  put(257, std::string("ustar\0"
                       "00",
                       8));
  size_t sum = 0;
  for (const char c : head)
    sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + '\0');
  std::string out(head.data(), head.size());
  out += content;
  out.resize((out.size() + 511) / 512 * 512, '\0');
  return out;
}

std::string archive_of(const std::string& members) {
  const std::string whole = members + std::string(1024, '\0');
  return gzip_compress(std::as_bytes(std::span(whole)));
}

class Unpacked {
 public:
  explicit Unpacked(const std::string& members, const ArchiveLimits& limits = kRoom)
      : status(unpack_folder(
            folder.write("a.tar.gz", archive_of(members)), folder.path(), "top", limits)) {}
  std::string text(const std::string& name) const {
    return read_file(folder.path(name), 1 << 20).value();
  }
  std::string failure() const {
    EXPECT_FALSE(fs::exists(folder.path("top")));
    EXPECT_FALSE(fs::exists(folder.path(".top.part")));
    return status.ok() ? "it was unpacked" : status.error().text();
  }

  test::Folder folder;
  Status status;
};

TEST(Archive, UnpacksAFolderOfIt) {
  const Unpacked done(tar_member("top/", "", '5') + tar_member("top/a.txt", "words") +
                      tar_member("top/in/b.txt", std::string(3000, 'b')) +
                      tar_member("beside.txt", "no"));
  ASSERT_TRUE(done.status.ok()) << done.status.error().text();
  EXPECT_EQ(done.text("top/a.txt"), "words");
  EXPECT_EQ(done.text("top/in/b.txt"), std::string(3000, 'b'));
  EXPECT_FALSE(fs::exists(done.folder.path("beside.txt")));
  EXPECT_FALSE(fs::exists(done.folder.path(".top.part")));
}

TEST(Archive, RefusesWhatLeadsOut) {
  const std::string good = tar_member("top/a.txt", "words");
  EXPECT_TRUE(contains(Unpacked(good + tar_member("../x", "x")).failure(), "leads out"));
  EXPECT_TRUE(contains(Unpacked(good + tar_member("top/../../x", "x")).failure(), "leads out"));
  EXPECT_TRUE(contains(Unpacked(good + tar_member("/tmp/x", "x")).failure(), "no path"));
  EXPECT_TRUE(contains(Unpacked(good + tar_member("top/l", "", '2')).failure(), "link"));
  EXPECT_TRUE(contains(Unpacked(good + tar_member("top/h", "", '1')).failure(), "link"));
  EXPECT_TRUE(contains(Unpacked(good + tar_member("top/pipe", "", '6')).failure(), "no file"));
  EXPECT_TRUE(contains(Unpacked(good + tar_member("top/./a.txt", "x")).failure(), "twice"));
}

TEST(Archive, RefusesMoreThanIsExpected) {
  const std::string zeros(50'000, '\0');
  const std::string three =
      tar_member("top/a", zeros) + tar_member("top/b", zeros) + tar_member("top/c", zeros);
  EXPECT_TRUE(contains(Unpacked(three).failure(), "more than the 100000 bytes"));
  EXPECT_TRUE(
      contains(Unpacked(three, {.files = 2, .bytes = 1 << 20}).failure(), "more than the 2 files"));
  EXPECT_TRUE(Unpacked(three, {.files = 3, .bytes = 150'000}).status.ok());
}

TEST(Archive, RefusesWhatIsDamagedOrAnother) {
  test::Folder folder;
  std::string bytes = archive_of(tar_member("top/a.txt", std::string(5000, 'a')));
  bytes.resize(bytes.size() / 2);
  EXPECT_FALSE(unpack_folder(folder.write("cut.tar.gz", bytes), folder.path(), "top", kRoom).ok());
  EXPECT_FALSE(
      unpack_folder(folder.write("text.zip", "no archive"), folder.path(), "top", kRoom).ok());
  EXPECT_TRUE(contains(Unpacked(tar_member("other/a", "x")).failure(), "holds no folder top"));
}

} // namespace
} // namespace octet
