// SPDX-License-Identifier: Apache-2.0
// Downloads against a server on this machine: whole, resumed, wrong, cut off, cancelled.
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "core/atomic_file.h"
#include "data/fetch.h"
#include "data/folder.h"
#include "data/sha256.h"
#include "support/paths.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::contains;

/// tests/support/range_server.py on a free port, for as long as the test runs.
class Server {
 public:
  explicit Server(const std::string& folder, const std::string& log) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
      close(ends[0]);
      const std::string script = std::string(test::source_dir()) + "/tests/support/range_server.py";
      execlp("python3", "python3", script.c_str(), folder.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::string line;
    char c = 0;
    while (read(ends[0], &c, 1) == 1 && c != '\n')
      line += c;
    close(ends[0]);
    EXPECT_FALSE(line.empty()) << "the server did not start";
    port_ = std::atoi(line.c_str());
  }
  ~Server() {
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  std::string url(const std::string& mode) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + mode + "/";
  }

 private:
  pid_t child_ = -1;
  int port_ = 0;
};

class FetchTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; content_.size() < 300000; ++i)
      content_ += std::to_string(i);
    source_.write("data.bin", content_);
    dataset_.name = "test";
    const auto bytes = std::as_bytes(std::span(content_));
    dataset_.files = {{"data.bin", static_cast<int64_t>(content_.size()), sha256(bytes).value()}};
  }
  Status fetch(const std::vector<std::string>& modes, const Callbacks& callbacks = {}) {
    dataset_.mirrors.clear();
    for (const std::string& mode : modes)
      dataset_.mirrors.push_back(server_.url(mode));
    return fetch_dataset(dataset_, target_.path("sub"), callbacks);
  }
  void expect_whole() {
    const Result<std::string> got = read_file(target_.path("sub/data.bin"), 1 << 20);
    ASSERT_TRUE(got.ok()) << got.error().text();
    EXPECT_TRUE(*got == content_);
    EXPECT_FALSE(fs::exists(part()));
  }
  void expect_fetched(const std::vector<std::string>& modes) {
    const Status status = fetch(modes);
    ASSERT_TRUE(status.ok()) << status.error().text();
  }
  std::string part() const { return target_.path("sub/.data.bin.part"); }
  void leave_part(const std::string& content) {
    fs::create_directories(target_.path("sub"));
    target_.write("sub/.data.bin.part", content);
  }
  /// What the server sent: lines of mode, first byte, count.
  std::string log() const { return read_file(source_.path("log"), 1 << 20).value(); }

  std::string content_;
  test::Folder source_, target_;
  RemoteDataset dataset_;
  Server server_{source_.path(), source_.path("log")};
};

TEST_F(FetchTest, Sha256KnownAnswers) {
  // FIPS 180-2, appendix B.1, and the empty message.
  EXPECT_EQ(sha256(std::as_bytes(std::span("abc", 3))).value(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256({}).value(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_F(FetchTest, FetchesOnceAndReportsProgress) {
  Callbacks callbacks;
  int64_t last = 0;
  callbacks.progress = [&](const Progress& progress) {
    EXPECT_GE(progress.done, last);
    last = progress.done;
    EXPECT_EQ(progress.total, static_cast<int64_t>(content_.size()));
  };
  const Status status = fetch({"ranges"}, callbacks);
  ASSERT_TRUE(status.ok()) << status.error().text();
  expect_whole();
  EXPECT_EQ(last, static_cast<int64_t>(content_.size()));
  const std::string before = log();
  expect_fetched({"ranges"});
  EXPECT_EQ(log(), before); // nothing was asked for again
}

TEST_F(FetchTest, ReplacesAFileThatIsWrong) {
  fs::create_directories(target_.path("sub"));
  target_.write("sub/data.bin", std::string(content_.size(), 'x'));
  expect_fetched({"ranges"});
  expect_whole();
}

TEST_F(FetchTest, ResumesWhereItStopped) {
  leave_part(content_.substr(0, 100000));
  expect_fetched({"ranges"});
  expect_whole();
  EXPECT_TRUE(contains(log(), "ranges 100000 ")) << log();
}

TEST_F(FetchTest, ResumesAfterTheConnectionIsCut) {
  ASSERT_FALSE(fetch({"cut"}).ok());
  EXPECT_TRUE(fs::exists(part()));
  expect_fetched({"ranges"});
  expect_whole();
  EXPECT_TRUE(contains(log(), "ranges 150000 ") || contains(log(), "ranges 15")) << log();
}

TEST_F(FetchTest, StartsOverWhenTheServerKnowsNoRanges) {
  leave_part("something else altogether");
  expect_fetched({"plain"});
  expect_whole();
}

TEST_F(FetchTest, AShorterFileIsAnotherFile) {
  source_.write("data.bin", content_.substr(0, 1000));
  const Status status = fetch({"ranges"});
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(contains(status.error().text(), "another file")) << status.error().text();
  source_.write("data.bin", content_);
  expect_fetched({"ranges"}); // nothing of the other one is gone on with
  expect_whole();
}

TEST_F(FetchTest, AnAddressMayNameTheFile) {
  dataset_.mirrors = {server_.url("ranges") + "data.bin"};
  const Status status = fetch_dataset(dataset_, target_.path("sub"));
  ASSERT_TRUE(status.ok()) << status.error().text();
  expect_whole();
}

TEST_F(FetchTest, APartThatWasWrongIsFetchedAgain) {
  leave_part(std::string(1000, 'x'));
  ASSERT_FALSE(fetch({"ranges"}).ok()); // the sum of both is wrong, and is dropped
  expect_fetched({"ranges"});
  expect_whole();
  leave_part(std::string(content_.size() + 5, 'x'));
  fs::remove(target_.path("sub/data.bin"));
  expect_fetched({"ranges"});
  expect_whole();
}

TEST_F(FetchTest, TriesTheNextMirrorAndSaysWhy) {
  std::string warnings;
  Callbacks callbacks;
  callbacks.log = [&](LogLevel, std::string_view message) {
    warnings += std::string(message) + "\n";
  };
  ASSERT_TRUE(fetch({"gone", "wrong", "long", "ranges"}, callbacks).ok());
  expect_whole();
  EXPECT_TRUE(contains(warnings, "404")) << warnings;
  EXPECT_TRUE(contains(warnings, "SHA-256")) << warnings;
  EXPECT_TRUE(contains(warnings, "larger than")) << warnings;
}

TEST_F(FetchTest, WrongContentNeverAppears) {
  std::string warnings;
  Callbacks callbacks;
  callbacks.log = [&](LogLevel, std::string_view message) { warnings += message; };
  const Status status = fetch({"wrong", "gone"}, callbacks);
  ASSERT_FALSE(status.ok());
  const std::string text = status.error().text();
  EXPECT_TRUE(contains(warnings, "SHA-256")) << warnings;
  EXPECT_FALSE(contains(warnings, "/gone/")) << warnings; // the last reason is the error's to say
  EXPECT_TRUE(contains(text, "data.bin")) << text;
  EXPECT_TRUE(contains(text, dataset_.files[0].sha256)) << text;
  EXPECT_TRUE(contains(text, "404") && contains(text, "/gone/")) << text;
  EXPECT_FALSE(fs::exists(target_.path("sub/data.bin")));
}

TEST_F(FetchTest, StopsWhenCancelledAndKeepsWhatItHas) {
  CancelToken token;
  Callbacks callbacks;
  callbacks.cancel = &token;
  callbacks.progress = [&](const Progress&) { token.cancel(); };
  const Status status = fetch({"ranges"}, callbacks);
  if (!status.ok()) {
    EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  }
  expect_fetched({"ranges"});
  expect_whole();
}

TEST_F(FetchTest, ChecksByGitsIdWhereThatIsKnown) {
  // git hash-object of "hello\n"
  content_ = "hello\n";
  source_.write("data.bin", content_);
  dataset_.files = {{"data.bin", 6, "", "ce013625030ba8dba906f756967f9e9ca394464a"}};
  expect_fetched({"ranges"});
  expect_whole();
  dataset_.files[0].git_id.front() = 'd';
  EXPECT_TRUE(contains(fetch({"ranges"}).error().text(), "git id ce013625"));
}

TEST_F(FetchTest, RefusesToRunTwiceInOneFolder) {
  leave_part("");
  const int fd = open(part().c_str(), O_RDWR);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  EXPECT_TRUE(contains(fetch({"ranges"}).error().text(), "another download"));
  close(fd);
}

TEST(Fetch, NamesTheDatasetsThatItKnows) {
  const Result<std::string> status = fetch_dataset("fashion-mnits", "/tmp");
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(contains(status.error().text(), "did you mean \"fashion-mnist\""));
  EXPECT_EQ(remote_datasets()[0].files.size(), 4U);
  std::vector<std::string> names;
  for (const RemoteDataset& one : remote_datasets()) {
    names.push_back(one.name);
    for (const RemoteFile& file : one.files) {
      EXPECT_GT(file.size_bytes, 0);
      EXPECT_EQ(file.sha256.size(), 64U);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"fashion-mnist", "mnist", "imdb", "sst2"}));
  EXPECT_EQ(dataset_spec(remote_datasets()[2], "/d"), "imdb:/d/aclImdb");
  EXPECT_TRUE(contains(dataset_cache_folder("fashion-mnist").value(), "octet/data/fashion-mnist"));
}

} // namespace
} // namespace octet
