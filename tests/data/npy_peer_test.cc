// SPDX-License-Identifier: Apache-2.0
// octet's half of npy_peer.py, which runs it: reads what NumPy wrote and writes it again.
#include <cstdlib>
#include <filesystem>

#include "data/npy.h"
#include "data/npz.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

TEST(NpyPeer, DISABLED_WritesAgainWhatNumpyWrote) {
  const char* variable = std::getenv("OCTET_PEER_FOLDER");
  ASSERT_NE(variable, nullptr) << "run tests/data/npy_peer.py";
  const fs::path folder(variable);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string out = (folder / "out" / entry.path().filename()).string();
    if (entry.path().extension() == ".npy") {
      const Result<Tensor> tensor = read_npy(entry.path().string());
      ASSERT_TRUE(tensor.ok()) << tensor.error().text();
      ASSERT_TRUE(write_npy(out, *tensor, Overwrite::kNo).ok());
      ++files;
    } else if (entry.path().extension() == ".npz") {
      const Result<NamedTensors> tensors = read_npz(entry.path().string());
      ASSERT_TRUE(tensors.ok()) << tensors.error().text();
      ASSERT_TRUE(write_npz(out, *tensors, Overwrite::kNo).ok());
      ++files;
    }
  }
  EXPECT_GT(files, 100);
}

} // namespace
} // namespace octet
