// SPDX-License-Identifier: Apache-2.0
// A host that reads the losses of a device every few steps trains what one trains that reads every
// step, tells the same of it in the same order, and stops for the same reason; batches that are
// read ahead fail at the step that they are of.
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "core/format.h"
#include "train/guard.h"
#include "train/runtime.h"
#include "train/trainer/session.h"
#include "train/trainer/trainer.h"
#include "training_support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

struct Told {
  std::vector<std::tuple<std::string, int64_t, double>> scalars;
  std::vector<std::vector<double>> parameters;
  std::vector<double> losses, accuracies;
  std::string error;
};

Told trained(TrainOptions options, int64_t reads_every, double point_scale = 1) {
  train::prepare_runtime(Device::kCpu, 1).value();
  Told told;
  options.device = Device::kCpu;
  options.on_scalar = [&](std::string_view tag, int64_t step, double value) {
    told.scalars.emplace_back(tag, step, value);
  };
  test::Sectors data(300), validation(60, 2);
  data.scale = static_cast<float>(point_scale);
  const Graph graph = test::small_network();
  train::SessionPlace place;
  place.reads_every = reads_every;
  train::TrainSession session(graph, data, &validation, options, std::move(place));
  EXPECT_TRUE(session.prepare(1).ok());
  const Result<TrainedModel> model = train::guarded([&] { return session.run(); });
  if (!model.ok()) {
    told.error = model.error().text();
    return told;
  }
  for (const std::string& name : model->report.parameters)
    told.parameters.push_back(
        model->graph.value(*model->graph.find_value(name)).constant.to_doubles().value());
  for (const EpochRecord& e : model->report.history) {
    told.losses.push_back(e.train_loss);
    told.accuracies.push_back(e.train_accuracy);
  }
  return told;
}

TEST(LateReading, TrainsAndTellsTheSame) {
  TrainOptions options = test::small_options();
  options.accumulate = 2;
  options.evaluate_steps = 5;
  options.optimizer.clip_norm = 0.5;
  const Told each = trained(options, 1);
  EXPECT_EQ(each.error, "");
  ASSERT_EQ(each.losses.size(), 4U);
  for (const int64_t reads_every : {2, 7, 1000}) {
    const Told late = trained(options, reads_every);
    EXPECT_EQ(late.parameters, each.parameters);
    EXPECT_EQ(late.losses, each.losses);
    EXPECT_EQ(late.accuracies, each.accuracies);
    EXPECT_EQ(late.scalars, each.scalars);
  }
}

TEST(LateReading, NamesTheStepWhoseLossWasNoNumber) {
  TrainOptions options = test::small_options();
  options.optimizer.kind = OptimizerKind::kSgd;
  options.optimizer.lr = 1e12;
  options.schedule.kind = ScheduleKind::kConstant;
  const Told each = trained(options, 1, 1e6), late = trained(options, 16, 1e6);
  EXPECT_NE(each.error.find("the loss is "), std::string::npos) << each.error;
  EXPECT_EQ(late.error, each.error);
  EXPECT_EQ(late.scalars, each.scalars);
}

/// Fails, or throws, where one of its examples is asked for.
class Broken final : public Dataset {
 public:
  Broken(int64_t index, bool throws) : index_(index), throws_(throws) {}
  std::string description() const override { return held_.description(); }
  int64_t size() const override { return held_.size(); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return held_.features();
  }
  const std::vector<std::string>& classes() const override { return held_.classes(); }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    for (const int64_t i : indices) {
      if (i != index_) continue;
      if (throws_) throw std::runtime_error("example lost");
      return error("example {} cannot be read", i);
    }
    return held_.batch(indices);
  }

 private:
  test::Sectors held_{160};
  int64_t index_;
  bool throws_;
};

TEST(ReadingAhead, FailsAtTheStepOfTheBatch) {
  for (const bool throws : {false, true}) {
    TrainOptions options = test::small_options();
    int64_t steps = 0;
    options.on_step = [&](const TrainProgress&) { ++steps; };
    const Result<TrainedModel> model =
        train::train_graph(test::small_network(), Broken(77, throws), nullptr, options);
    ASSERT_FALSE(model.ok());
    const std::string text = model.error().text();
    EXPECT_NE(text.find(throws ? "example lost" : "example 77 cannot be read"), std::string::npos)
        << text;
    EXPECT_NE(text.find(fmt::format("step {}", steps + 1)), std::string::npos) << text;
  }
}

} // namespace
} // namespace octet
