// SPDX-License-Identifier: Apache-2.0
// Training on CUDA beside training on the CPU: one step of every way of training gives the same
// numbers within bounds, and a run moves from one to the other and back. Skipped where there is no
// device; OCTET_TEST_DEVICE=cpu compares the CPU with itself instead.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/progress.h"
#include "train/runtime.h"
#include "training_support.h"
#include "training_ways.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

bool compares_the_cpu() {
  const char* device = std::getenv("OCTET_TEST_DEVICE");
  return device != nullptr && std::string(device) == "cpu";
}

Device other_device() {
  return compares_the_cpu() ? Device::kCpu : Device::kCuda;
}

bool has_other_device() {
  return compares_the_cpu() || train::cuda_is_there();
}

class Cuda : public testing::TestWithParam<test::TrainingWay> {};

TEST_P(Cuda, TakesTheStepOfTheCpu) {
  if (!has_other_device()) GTEST_SKIP() << "no CUDA device";
  const test::TrainingWay& way = GetParam();
  const Graph graph = way.graph();
  const std::unique_ptr<Dataset> data = way.data();
  TrainOptions options = test::small_options();
  way.set(options);
  options.device = Device::kCpu;
  options.optimizer.kind = OptimizerKind::kSgd; // a step is the gradient
  options.optimizer.lr = 0.05;
  options.schedule.kind = ScheduleKind::kConstant;
  options.max_steps = 1;
  const TrainedModel here = test::must_train(graph, *data, options);
  options.device = other_device();
  const TrainedModel there = test::must_train(graph, *data, options);
  const double loss = here.report.history[0].train_loss;
  EXPECT_NEAR(there.report.history[0].train_loss, loss, 2e-3 * std::abs(loss));
  // Convolutions of cuDNN may round products to TF32; of rounded codes a few fall on the other side.
  constexpr double kBound = 5e-3;
  constexpr double kShareBeyond = 2e-3;
  for (const std::string& name : here.report.parameters) {
    const ValueId id = *graph.find_value(name);
    const Tensor &before = graph.value(id).constant, &a = here.graph.value(id).constant,
                 &b = there.graph.value(id).constant;
    double largest = 0;
    for (int64_t i = 0; i < a.count(); ++i)
      largest = std::max(largest, std::abs(a.at(i) - before.at(i)));
    int64_t beyond = 0;
    for (int64_t i = 0; i < a.count(); ++i)
      beyond += std::abs(a.at(i) - b.at(i)) <= kBound * largest + 1e-7 ? 0 : 1;
    EXPECT_LE(static_cast<double>(beyond), kShareBeyond * static_cast<double>(a.count()))
        << name << ": " << beyond << " of " << a.count()
        << " elements differ by more than 0.005 of the largest change, " << largest;
  }
}
INSTANTIATE_TEST_SUITE_P(Ways, Cuda, testing::ValuesIn(test::training_ways()), [](const auto& c) {
  return c.param.name;
});

TEST(Cuda, ARunMovesToTheDeviceAndBack) {
  if (!has_other_device()) GTEST_SKIP() << "no CUDA device";
  const Graph graph = test::small_network();
  const test::Sectors data(640);
  TrainOptions options = test::small_options();
  options.device = Device::kCpu;
  options.epochs = 6;
  const TrainedModel whole = test::must_train(graph, data, options);
  options.checkpoint = testing::TempDir() + "octet-moving-run.checkpoint";
  std::filesystem::remove(options.checkpoint);
  options.resume = true;
  TrainReport last;
  for (const int64_t until : {2, 4, 6}) {
    CancelToken stop;
    options.cancel = &stop;
    options.device = until == 4 ? other_device() : Device::kCpu;
    options.on_step = [&](const TrainProgress& p) {
      if (p.epoch == until && p.epoch_step == p.epoch_steps && until < 6) stop.cancel();
    };
    last = test::must_train(graph, data, options).report;
    EXPECT_EQ(last.resumed_from, (until - 2) * (last.steps / until)) << until;
  }
  ASSERT_EQ(last.history.size(), 6U);
  EXPECT_NEAR(last.history[5].train_loss, whole.report.history[5].train_loss, 0.02);
  std::filesystem::remove(options.checkpoint);
}

} // namespace
} // namespace octet
