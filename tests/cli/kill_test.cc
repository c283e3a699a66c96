// SPDX-License-Identifier: Apache-2.0
// octet quantize killed at random moments of its run: at the output path lies nothing, or the file
// that an undisturbed run writes. One SIGTERM ends a command that waits, and one that looks for it
// after what it has begun.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/paths.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "octet/onnx.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

Graph float_model() {
  std::mt19937 random(7);
  Graph g;
  g.opsets[""] = 17;
  ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{1, 768}));
  for (int layer = 0; layer < 4; ++layer) {
    Tensor w = Tensor::zeros(DType::kFloat32, {768, 768}).value();
    for (float& v : w.mutable_data<float>())
      v = static_cast<float>(random() % 2001) / 1000 - 1;
    const ValueId weight = g.add_constant("w" + std::to_string(layer), w);
    x = g.emit("MatMul", {x, weight}, {}, "layer" + std::to_string(layer));
  }
  g.mark_output(x);
  return g;
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// `octet ARGUMENTS` with its output in `out`, or nowhere.
pid_t start(std::vector<std::string> arguments, int out = -1) {
  std::string program = std::string(test::build_dir()) + "/bin/octet";
  std::vector<char*> argv = {program.data()};
  argv.reserve(arguments.size() + 2);
  for (std::string& argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const int quiet = open("/dev/null", O_WRONLY);
  dup2(out >= 0 ? out : quiet, STDOUT_FILENO);
  dup2(quiet, STDERR_FILENO);
  execv(program.c_str(), argv.data());
  _exit(127);
}

pid_t start_quantize(const fs::path& model, const fs::path& output) {
  return start(
      {"quantize", model, "--mode", "weight-only", "--target", "onnxruntime", "-o", output});
}

/// Whether the process has a handler for the signal, as Linux tells it.
bool handles(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string key; status >> key;) {
    if (key != "SigCgt:") continue;
    uint64_t mask = 0;
    status >> std::hex >> mask;
    return (mask >> (signal - 1) & 1) != 0;
  }
  return false;
}

/// What the process ended with; nullopt, and it is killed, when it still runs after `most`.
std::optional<int> end_of(pid_t process, std::chrono::seconds most) {
  int status = 0;
  const Clock::time_point begin = Clock::now();
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() - begin > most) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status;
}

class OneSignal : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "octet-signal-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(OneSignal, EndsACommandThatWaits) {
  const fs::path fifo = folder_ / "model.onnx";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const int signal : {SIGTERM, SIGINT}) {
    const pid_t child = start({"check", fifo, "--target", "tensorrt-10"});
    ASSERT_GT(child, 0);
    const Clock::time_point begin = Clock::now();
    while (!handles(child, signal) && Clock::now() - begin < std::chrono::seconds(60))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    // Now it waits for somebody to write, or soon will.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(child, signal);
    const std::optional<int> status = end_of(child, std::chrono::seconds(30));
    ASSERT_TRUE(status.has_value()) << "signal " << signal << " did not end it";
    EXPECT_TRUE(WIFEXITED(*status)) << *status;
    EXPECT_EQ(WEXITSTATUS(*status), 130);
  }
}

TEST_F(OneSignal, EndsACommandThatLooksForItAfterWholeLines) {
  std::ofstream(folder_ / "vocab.txt") << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n";
  constexpr int kLines = 200000;
  const std::string line = "a b a b a b a b";
  {
    std::ofstream text(folder_ / "text.txt");
    for (int i = 0; i < kLines; ++i)
      text << line << '\n';
  }
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child =
      start({"tokenize", folder_ / "text.txt", "--vocab", folder_ / "vocab.txt"}, ends[1]);
  ASSERT_GT(child, 0);
  close(ends[1]);
  std::string text(1, ' ');
  ASSERT_EQ(read(ends[0], text.data(), 1), 1); // it prints, and cannot go on by itself
  kill(child, SIGTERM);
  std::array<char, 4096> block = {};
  for (ssize_t n = 0; (n = read(ends[0], block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<size_t>(n));
  close(ends[0]);
  const std::optional<int> status = end_of(child, std::chrono::seconds(30));
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 130) << *status;
  EXPECT_EQ(text.back(), '\n');
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_EQ(text.size() % static_cast<size_t>(lines), 0U) << "a line that is not whole";
  EXPECT_LT(lines, kLines);
}

TEST(KillQuantize, LeavesNothingOrTheWholeFile) {
  std::string pattern = (fs::temp_directory_path() / "octet-kill-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern, model = folder / "float.onnx";
  ASSERT_TRUE(save_onnx(float_model(), model.string()).ok());

  const Clock::time_point begin = Clock::now();
  const pid_t undisturbed = start_quantize(model, folder / "want.onnx");
  int status = 0;
  ASSERT_EQ(waitpid(undisturbed, &status, 0), undisturbed);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const auto duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  const std::string want = content(folder / "want.onnx");
  ASSERT_GT(want.size(), 4U * 768 * 768);

  std::mt19937_64 random(20);
  for (int round = 0; round < 20; ++round) {
    const fs::path output = folder / ("round" + std::to_string(round) + ".onnx");
    const pid_t child = start_quantize(model, output);
    ASSERT_GT(child, 0);
    // Most of the time at the end, where the file is written.
    const uint64_t span = static_cast<uint64_t>(duration.count()) / (round % 4 == 0 ? 1 : 3) + 1;
    const auto wait = static_cast<int64_t>(random() % span);
    std::this_thread::sleep_for(round % 4 == 0 ? std::chrono::microseconds(wait)
                                               : duration - std::chrono::microseconds(wait));
    kill(child, SIGKILL); // it may be done already
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (fs::exists(output))
      EXPECT_EQ(content(output) == want, true) << "round " << round << ": a file that is not whole";
    else
      EXPECT_TRUE(WIFSIGNALED(status)) << "round " << round << ": no file, though it ended";
  }
  fs::remove_all(folder);
}

} // namespace
} // namespace octet
