// SPDX-License-Identifier: Apache-2.0
// A process that saves models is killed at random moments: what lies at the path is always one of
// the models, whole.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "octet/onnx.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// A model of some megabytes of noise, so that writing takes a while.
Graph large_model(uint32_t seed) {
  std::mt19937 random(seed);
  Graph g;
  g.opsets[""] = 17;
  ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{1, 512}));
  for (int layer = 0; layer < 4; ++layer) {
    Tensor w = Tensor::zeros(DType::kFloat32, {512, 512}).value();
    for (float& v : w.mutable_data<float>())
      v = static_cast<float>(random() % 1000);
    const ValueId weight = g.add_constant("w" + std::to_string(layer), w);
    x = g.emit("MatMul", {x, weight}, {}, "layer" + std::to_string(layer));
  }
  g.mark_output(x);
  return g;
}

/// Saves one and the other model until it is killed.
[[noreturn]] void
save_forever(const Graph models[2], const std::string& path, const SaveOptions& options) {
  for (int i = 0;; ++i)
    if (!save_onnx(models[i % 2], path, options).ok()) _exit(1);
}

class Kill : public ::testing::TestWithParam<SaveOptions::External> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "octet-kill-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_P(Kill, LeavesAWholeModel) {
  const Graph models[2] = {large_model(1), large_model(2)};
  uint64_t hashes[2] = {};
  SaveOptions options;
  options.overwrite = true;
  options.external = GetParam();
  const std::string path = (folder_ / "model.onnx").string();
  for (size_t i = 0; i < 2; ++i) { // as read, since reading adds what the file says
    ASSERT_TRUE(save_onnx(models[i], path, options).ok());
    hashes[i] = load_onnx(path).value().content_hash();
  }
  ASSERT_NE(hashes[0], hashes[1]);
  for (const auto& entry : fs::directory_iterator(folder_))
    fs::remove(entry.path());

  std::mt19937 random(20);
  int found = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_forever(models, path, options);
    std::this_thread::sleep_for(std::chrono::microseconds(200 + random() % 30000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "saving failed in round " << round;
    if (!fs::exists(path)) continue; // killed before the first model was whole
    ++found;
    const Result<Graph> graph = load_onnx(path);
    ASSERT_TRUE(graph.ok()) << "round " << round << ": " << graph.error().text();
    const uint64_t hash = graph->content_hash();
    EXPECT_TRUE(hash == hashes[0] || hash == hashes[1]) << "round " << round;
  }
  EXPECT_TRUE(save_onnx(models[0], path, options).ok()) << "what was left is in nobody's way";
  EXPECT_EQ(load_onnx(path).value().content_hash(), hashes[0]);
  RecordProperty("rounds_with_a_model", found);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Kill, ::testing::Values(SaveOptions::External::kNever, SaveOptions::External::kAlways));

} // namespace
} // namespace octet
