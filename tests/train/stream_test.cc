// SPDX-License-Identifier: Apache-2.0
// The torch executor hands outputs over when they are made, with the bits of those that it keeps.
#include "support/memory.h"
#include "train/executor/torch_executor.h"
#include <gtest/gtest.h>

#include "octet/executor.h"

namespace octet {
namespace {

constexpr int kLayers = 40;
constexpr int64_t kRows = 256, kColumns = 256;

/// x ─ Tanh ─ Relu ─ Tanh ─ ...: every value is an output, the input, a constant and one value
/// twice.
Graph chain() {
  Graph g;
  g.opsets[""] = 17;
  const ValueId x =
      g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), Dim(kColumns)}, {}});
  std::vector<ValueId> outputs = {x, g.add_constant("c", Tensor::of<float>({2}, {1, 2}))};
  ValueId last = x;
  for (int i = 0; i < kLayers; ++i) {
    last = g.emit(i % 2 == 0 ? "Tanh" : "Relu", {last}, {});
    outputs.push_back(last);
  }
  outputs.push_back(outputs[5]);
  g.set_outputs(outputs);
  return g;
}

std::vector<Tensor> input() {
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 101) / 50 - 1;
  return {Tensor::of<float>({kRows, kColumns}, std::span<const float>(values))};
}

TEST(TorchStream, OutputsAreThoseOfARunAndOneIsHeldAtATime) {
  const auto executor = train::make_torch_executor(chain(), {.device = Device::kCpu}).value();
  const std::vector<Tensor> want = executor->run(input()).value();
  const std::vector<Tensor> x = input();
  for (int run = 0; run < 2; ++run) {
    std::vector<int> seen(want.size(), 0);
    const int64_t before = test::live_bytes();
    int64_t most = 0;
    const Status ran = executor->stream(x, [&](size_t output, const Tensor& value) -> Status {
      ++seen.at(output);
      EXPECT_TRUE(value.identical(want[output])) << output;
      most = std::max(most, test::live_bytes() - before);
      return ok_status();
    });
    ASSERT_TRUE(ran.ok()) << ran.error().text();
    EXPECT_EQ(seen, std::vector<int>(want.size(), 1));
    EXPECT_LE(most, 6 * kRows * kColumns * 4);
  }
}

TEST(TorchStream, AnErrorOfTheTapEndsTheRun) {
  const auto executor = train::make_torch_executor(chain(), {.device = Device::kCpu}).value();
  int calls = 0;
  const Status stopped = executor->stream(input(), [&](size_t, const Tensor&) -> Status {
    if (++calls == 4) return Error("enough", ErrorCode::kCancelled);
    return ok_status();
  });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(calls, 4);
  EXPECT_TRUE(executor->run(input()).ok());
}

} // namespace
} // namespace octet
