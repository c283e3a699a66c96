// SPDX-License-Identifier: Apache-2.0
// A checkpoint is written tensor by tensor: the state is in memory once.
#include <cstring>
#include <filesystem>

#include "core/atomic_file.h"
#include "core/hash.h"
#include "support/memory.h"
#include "support/paths.h"
#include "train/trainer/checkpoint.h"
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

namespace octet::train {
namespace {

constexpr int kTensors = 16;
constexpr int64_t kElements = int64_t{1} << 20;

NamedTensors state() {
  NamedTensors out;
  for (int i = 0; i < kTensors; ++i)
    out.emplace_back("t" + std::to_string(i), at::arange(i, kElements + i, at::kFloat));
  out.emplace_back("steps", at::arange(0, 7, at::kLong)); // its bytes end on no stripe of the hash
  out.emplace_back("odd", at::arange(0, 13, at::kByte));
  return out;
}

std::string path() {
  return std::filesystem::path(test::build_dir()) / "checkpoint_memory";
}

TEST(CheckpointMemory, SavingHoldsOneTensorAtATime) {
  const NamedTensors tensors = state();
  const int64_t growth = test::peak_growth(
      [&] { return save_checkpoint(path(), RunIdentity{}, RunCounters{}, tensors).ok(); });
  ASSERT_GE(growth, 0);
  EXPECT_LT(growth, kTensors * kElements * 4 / 2) << "half of the state";
}

TEST(CheckpointMemory, TheFileIsWhatItWas) {
  const NamedTensors tensors = state();
  RunCounters counters;
  counters.step = 5;
  ASSERT_TRUE(save_checkpoint(path(), RunIdentity{}, counters, tensors).ok());
  const std::string file = read_file(path(), size_t{1} << 30).value();
  uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  const std::string_view data = std::string_view(file).substr(8 + header);
  ASSERT_EQ(data.size(), static_cast<size_t>(kTensors * kElements * 4 + 7 * 8 + 13));
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_bytes(data)));
  EXPECT_NE(file.find(std::string("\"hash\":\"") + hash), std::string::npos);
  NamedTensors read;
  for (const auto& [name, tensor] : tensors)
    read.emplace_back(name, at::zeros_like(tensor));
  const auto loaded = load_checkpoint(path(), RunIdentity{}, read);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(loaded->step, 5);
  for (size_t i = 0; i < read.size(); ++i)
    EXPECT_TRUE(read[i].second.equal(tensors[i].second)) << read[i].first;
}

} // namespace
} // namespace octet::train
