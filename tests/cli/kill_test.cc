// SPDX-License-Identifier: Apache-2.0
// octet quantize killed at random moments of its run: at the output path lies nothing, or the file
// that an undisturbed run writes.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "support/paths.h"
#include <fcntl.h>
#include <gtest/gtest.h>
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

pid_t start_quantize(const fs::path& model, const fs::path& output) {
  const std::string program = std::string(test::build_dir()) + "/bin/octet";
  const pid_t child = fork();
  if (child != 0) return child;
  const int quiet = open("/dev/null", O_WRONLY);
  dup2(quiet, STDOUT_FILENO);
  dup2(quiet, STDERR_FILENO);
  execl(program.c_str(), "octet", "quantize", model.c_str(), "--mode", "weight-only", "--target",
        "onnxruntime", "-o", output.c_str(), static_cast<char*>(nullptr));
  _exit(127);
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
