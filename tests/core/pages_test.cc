// SPDX-License-Identifier: Apache-2.0
// Tensors that are kept in files instead of memory are the same tensors.
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "core/pages.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

Tensor numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::of<float>({count}, std::span<const float>(values));
}

TEST(MadeTensors, AreTheSameInAFile) {
  MadeTensors made(size_t{1} << 20);
  for (const int64_t count : {1, 1000, 250000, 3000001, 7}) {
    const Tensor tensor = numbers(count);
    const Result<Tensor> kept = made.keep(tensor);
    ASSERT_TRUE(kept.ok()) << kept.error().text();
    EXPECT_TRUE(kept->identical(tensor)) << count;
    EXPECT_EQ(kept->bytes().data() == tensor.bytes().data(), count <= 250000 && count != 7)
        << count;
    kept->page_out();
    EXPECT_TRUE(kept->identical(tensor)) << count;
  }
}

TEST(MadeTensors, NameTheFolderThatCannotBeWritten) {
  const char* before = std::getenv("TMPDIR");
  const std::string old = before == nullptr ? "" : before;
  setenv("TMPDIR", "/proc", 1);
  const Result<Tensor> kept = MadeTensors(0).keep(numbers(4));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", old.c_str(), 1);
  ASSERT_FALSE(kept.ok());
  EXPECT_NE(kept.error().text().find("/proc"), std::string::npos);
}

} // namespace
} // namespace octet
