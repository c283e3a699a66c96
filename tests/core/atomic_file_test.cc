// SPDX-License-Identifier: Apache-2.0
// Files appear whole or not at all, also when the writer is killed; nothing is overwritten unasked.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "core/atomic_file.h"
#include "core/progress.h"
#include "core/string_util.h"
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("octet_atomic_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string content(const std::string& name) const {
    return read_file(path(name), 1 << 20).value();
  }

 private:
  fs::path folder_;
};

TEST_F(AtomicFileTest, WritesAndRefusesToOverwrite) {
  ASSERT_TRUE(write_file(path("a"), "one", Overwrite::kNo).ok());
  const Status again = write_file(path("a"), "two", Overwrite::kNo);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().text().find(path("a")), std::string::npos);
  EXPECT_EQ(content("a"), "one");
  ASSERT_TRUE(write_file(path("a"), "three", Overwrite::kYes).ok());
  EXPECT_EQ(content("a"), "three");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, RefusesAFileThatAppearedMeanwhile) {
  AtomicFile file = AtomicFile::create(path("a"), Overwrite::kNo).value();
  ASSERT_TRUE(file.write("mine").ok());
  ASSERT_TRUE(write_file(path("a"), "theirs", Overwrite::kNo).ok());
  EXPECT_FALSE(file.commit().ok());
  EXPECT_EQ(content("a"), "theirs");
}

TEST_F(AtomicFileTest, LeavesNothingWithoutCommit) {
  {
    AtomicFile file = AtomicFile::create(path("a"), Overwrite::kNo).value();
    ASSERT_TRUE(file.write(std::string(200000, 'x')).ok());
    EXPECT_FALSE(fs::exists(path("a")));
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(AtomicFileTest, LargeContentArrivesWhole) {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += std::to_string(i);
  ASSERT_TRUE(write_file(path("a"), text, Overwrite::kNo).ok());
  EXPECT_EQ(content("a"), text);
  EXPECT_FALSE(read_file(path("a"), 1000).ok());
}

TEST_F(AtomicFileTest, FollowsLinksAndNamesWhatIsWrong) {
  ASSERT_TRUE(write_file(path("real"), "one", Overwrite::kNo).ok());
  fs::create_symlink(path("real"), path("link"));
  ASSERT_TRUE(write_file(path("link"), "two", Overwrite::kYes).ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("real"), "two");
  EXPECT_EQ(write_file(path("none/a"), "", Overwrite::kNo).error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(write_file(path("."), "", Overwrite::kYes).ok());
  EXPECT_FALSE(write_file("", "", Overwrite::kYes).ok());
  EXPECT_TRUE(write_file("/dev/null", "gone", Overwrite::kNo).ok());
  EXPECT_EQ(read_file(path("none"), 10).error().code(), ErrorCode::kNotFound);
}

TEST_F(AtomicFileTest, AKilledWriterLeavesTheOldFileOrTheNewOne) {
  const std::string one(300000, '1');
  const std::string two(300000, '2');
  ASSERT_TRUE(write_file(path("a"), one, Overwrite::kNo).ok());
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0;; ++i)
        static_cast<void>(write_file(path("a"), i % 2 == 0 ? two : one, Overwrite::kYes).ok());
    }
    usleep(static_cast<useconds_t>(500 + 700 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    const std::string found = content("a");
    EXPECT_TRUE(found == one || found == two) << found.size();
  }
}

TEST_F(AtomicFileTest, ASignalHandlerRemovesOnlyWhatIsNotCommitted) {
  ASSERT_TRUE(write_file(path("whole"), "one", Overwrite::kNo).ok());
  for (int round = 0; round < 2; ++round) {
    std::vector<AtomicFile> files;
    for (int i = 0; i < 8; ++i) {
      files.push_back(AtomicFile::create(path("f" + std::to_string(i)), Overwrite::kYes).value());
      ASSERT_TRUE(files.back().write("text").ok());
    }
    ASSERT_TRUE(files[3].commit().ok());
    ASSERT_EQ(this->files(), 9U);
    remove_temporary_files();
    EXPECT_EQ(this->files(), 2U);
    EXPECT_EQ(content("f3"), "text");
    EXPECT_FALSE(files[0].commit().ok());
    fs::remove(path("f3"));
  }
  EXPECT_EQ(content("whole"), "one");
}

TEST_F(AtomicFileTest, AWriterThatASignalEndsLeavesNoTemporaryFile) {
  const std::string one(300000, '1');
  const std::string two(300000, '2');
  ASSERT_TRUE(write_file(path("a"), one, Overwrite::kNo).ok());
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGTERM, [](int) {
        remove_temporary_files();
        _exit(0);
      });
      for (int i = 0;; ++i)
        static_cast<void>(write_file(path("a"), i % 2 == 0 ? two : one, Overwrite::kYes).ok());
    }
    usleep(static_cast<useconds_t>(500 + 700 * round));
    kill(child, SIGTERM);
    int status = 0;
    waitpid(child, &status, 0);
    const std::string found = content("a");
    EXPECT_TRUE(found == one || found == two) << found.size();
    EXPECT_EQ(files(), 1U) << "round " << round;
  }
}

TEST(Cancel, TurnsIntoAnError) {
  CancelToken token;
  Callbacks callbacks;
  callbacks.cancel = &token;
  EXPECT_TRUE(callbacks.check_cancelled().ok());
  token.cancel();
  EXPECT_EQ(callbacks.check_cancelled().error().code(), ErrorCode::kCancelled);
}

TEST(StringUtil, NearestMatch) {
  const std::vector<std::string> names = {"quantize", "explain", "eval"};
  EXPECT_EQ(nearest_match("quantise", names), "quantize");
  EXPECT_EQ(nearest_match("EVLA", names), "eval");
  EXPECT_EQ(nearest_match("zzz", names), std::nullopt);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(suggestion("zzz", names), "; known are quantize, explain, eval");
  EXPECT_EQ(suggestion("explian", names), "; did you mean \"explain\"?");
  EXPECT_EQ(join_some(names), "quantize, explain, eval");
  EXPECT_EQ(join_some(names, 2), "quantize, explain and 1 more");
  EXPECT_LT(suggestion("zzz", std::vector<std::string>(100000, std::string(1000, 'x'))).size(),
            5000U);
  EXPECT_EQ(split("a,,b", ',').size(), 3U);
  EXPECT_EQ(trim(" \ta b\n"), "a b");
  EXPECT_EQ(counted(0, "example"), "0 examples");
  EXPECT_EQ(counted(1, "example"), "1 example");
}

} // namespace
} // namespace octet
