// SPDX-License-Identifier: Apache-2.0
// What is said of runs that go wrong, and not of those that do not.
#include <algorithm>

#include "core/philox.h"
#include "train/trainer/diagnosis.h"
#include "training_support.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

using test::must_train;
using test::Sectors;
using test::small_network;
using test::small_options;
using Kind = TrainFinding::Kind;

const TrainFinding* find(const TrainReport& report, Kind kind) {
  for (const TrainFinding& f : report.findings)
    if (f.kind == kind) return &f;
  return nullptr;
}

EvaluationRecord evaluation(int64_t step, double loss, double accuracy, int64_t epoch = 1) {
  return {.step = step, .epoch = epoch, .loss = loss, .accuracy = accuracy};
}

TEST(GetsWorse, WithinAnEpoch) {
  const train::RunFacts facts{.classes = 2, .max_lr = 1e-3, .steps = 100};
  std::vector<EvaluationRecord> run = {evaluation(25, 0.40, 0.85), evaluation(50, 0.45, 0.83)};
  EXPECT_FALSE(train::gets_worse(run, facts)); // one may be unlucky
  run.push_back(evaluation(75, 0.52, 0.80));
  const auto found = train::gets_worse(run, facts);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, Kind::kWorse);
  EXPECT_NE(found->message.find("0.4000 at step 25 (epoch 1) and is 0.5200 at step 75"),
            std::string::npos)
      << found->message;
  EXPECT_NE(found->message.find("--lr 0.0002"), std::string::npos);
  run.push_back(evaluation(100, 0.38, 0.86)); // the best of all
  EXPECT_FALSE(train::gets_worse(run, facts));
  // A loss that rises while more are right is confidence.
  const std::vector<EvaluationRecord> sure = {
      evaluation(25, 0.40, 0.85), evaluation(50, 0.45, 0.86), evaluation(75, 0.52, 0.87)};
  EXPECT_FALSE(train::gets_worse(sure, facts));
}

TEST(Jumps, AreToldFromNoise) {
  const train::RunFacts facts{.classes = 2, .max_lr = 0.1, .steps = 100};
  const auto at = [&](double now, double lowest, double first) {
    return train::jumps(std::vector<double>(8, now), {lowest, 20}, first, 1, 60, facts);
  };
  EXPECT_FALSE(at(0.25, 0.2, 0.7));
  EXPECT_FALSE(at(0.05, 0.01, 0.7)); // many times a loss that is hardly any
  ASSERT_TRUE(at(0.6, 0.2, 0.7));
  EXPECT_EQ(at(0.6, 0.2, 0.7)->kind, Kind::kRateTooHigh);
  EXPECT_NE(at(0.6, 0.2, 0.7)->message.find("try --lr 0.02"), std::string::npos);
  ASSERT_TRUE(at(1.5, 0.65, 0.7)); // rose from where it began
  EXPECT_FALSE(train::jumps({0.9, 0.9}, {0.2, 20}, 0.7, 1, 60, facts));
  // Batches of short texts and of long ones: the lowest of a thousand steps was luck.
  const std::vector<double> uneven = {0.30, 0.62, 0.46, 0.33, 0.55, 0.48, 0.39, 0.60};
  EXPECT_FALSE(train::jumps(uneven, {0.21, 1205}, 0.7, 1, 1251, facts));
  EXPECT_FALSE(at(0.28, 0.11, 0.7)); // still far better than guessing
  // With a teacher nothing but the labels says what a loss is; the first batch was an easy one.
  const train::RunFacts taught{.max_lr = 5e-5, .steps = 9, .ignorance = 0.693};
  const std::vector<double> usual = {0.09, 0.13, 0.08, 0.11, 0.12, 0.10, 0.14, 0.11};
  EXPECT_FALSE(train::jumps(usual, {0.04, 8}, 0.043, 1, 9, taught));
  EXPECT_TRUE(train::jumps(std::vector<double>(8, 1.2), {0.04, 8}, 0.043, 1, 9, taught));
}

TEST(Labels, ThatSayNothingOfOtherExamples) {
  std::vector<EpochRecord> history(3);
  for (size_t i = 0; i < history.size(); ++i)
    history[i] = {.epoch = static_cast<int64_t>(i + 1),
                  .train_loss = 0.5 - 0.1 * static_cast<double>(i),
                  .train_accuracy = 0.95,
                  .validation_loss = 1.5,
                  .validation_accuracy = 0.34};
  const train::RunFacts facts{.classes = 3, .max_lr = 1e-3, .steps = 500};
  auto found = train::diagnose(history, facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Kind::kLabels);
  EXPECT_NE(found[0].message.find("another order"), std::string::npos);
  history.back().validation_accuracy = 0.7;
  EXPECT_TRUE(train::diagnose(history, facts).empty());
}

TEST(Labels, ThatAreFarFromTheOutputs) {
  train::RunFacts facts{
      .chance = 2500, .max_lr = 1e-3, .steps = 10, .label_mean = 322, .label_deviation = 50};
  const std::vector<EpochRecord> far = {{.epoch = 1, .train_loss = 105000}};
  auto found = train::diagnose(far, facts);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("learn (label - 322) / 50 instead"), std::string::npos)
      << found[0].message;
  // A model that knows them already, labels about as large as outputs, a second epoch.
  EXPECT_TRUE(
      train::diagnose(std::vector<EpochRecord>{{.epoch = 1, .train_loss = 900}}, facts).empty());
  EXPECT_TRUE(train::diagnose(std::vector<EpochRecord>{far[0], far[0]}, facts).empty());
  facts = {.chance = 0.01, .max_lr = 1e-3, .steps = 10, .label_mean = 0.5, .label_deviation = 0.1};
  EXPECT_TRUE(train::diagnose(far, facts).empty());
}

/// Relu behind a bias that keeps it closed, whatever comes in.
Graph dead_network(const char* bias) {
  return parse_graph(std::string("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n") +
                     test::weights("w1", "[4, 2]", 8, 1) + "const b1: f32[4] = " + bias + "\n" +
                     test::weights("w2", "[3, 4]", 12, 3) +
                     "h = Gemm(x, w1, b1) {transB=1}\nr = Relu(h) \"closed\"\n"
                     "l = Gemm(r, w2) {transB=1}\noutput l: f32[N, 3]\n")
      .value();
}

TEST(Stalled, NamesTheReluThatIsDead) {
  const Sectors data(400);
  TrainOptions options = small_options();
  options.epochs = 10;
  const TrainedModel dead = must_train(dead_network("[-90, -90, -90, -90]"), data, options);
  const TrainFinding* found = find(dead.report, Kind::kStalled);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->message.find("closed"), std::string::npos) << found->message;
  EXPECT_NE(found->message.find("gives 0 for every example"), std::string::npos) << found->message;
  const TrainedModel sound = must_train(dead_network("[0.1, 0.1, 0.1, 0.1]"), data, options);
  EXPECT_EQ(find(sound.report, Kind::kStalled), nullptr);
}

TEST(Stalled, SaysHowFarTheRateReaches) {
  const Sectors data(400);
  TrainOptions options = small_options();
  options.epochs = 10;
  options.optimizer.lr = 1e-8;
  const TrainedModel slow = must_train(small_network(0), data, options);
  const TrainFinding* found = find(slow.report, Kind::kStalled);
  if (found != nullptr) { // the network starts at, or above, the loss of guessing
    EXPECT_NE(found->message.find("a higher --lr"), std::string::npos) << found->message;
  }
  const train::RunFacts facts{
      .classes = 3, .max_lr = 1e-8, .steps = 500, .stall = {.trained_share = 0.01, .reach = 1e-5}};
  const std::vector<EpochRecord> stuck = {{.epoch = 1, .train_loss = 1.1}};
  const std::string said = train::diagnose(stuck, facts).at(0).message;
  EXPECT_NE(said.find("move weights by 0.001 %"), std::string::npos) << said;
  EXPECT_NE(said.find("only 1 % of the parameters are trained (--freeze)"), std::string::npos)
      << said;
}

/// Two numbers of each point: their sum and product.
class Numbers final : public Dataset {
 public:
  explicit Numbers(int64_t count) : points_(count) {}
  std::string description() const override { return "numbers"; }
  int64_t size() const override { return points_.size(); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return points_.features();
  }
  const std::vector<std::string>& classes() const override { return none_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    Batch batch = OCTET_TRY(points_.batch(indices));
    const Tensor& x = batch.inputs[0].second;
    Tensor y = OCTET_TRY(Tensor::zeros(DType::kFloat32, x.shape()));
    for (int64_t i = 0; i < x.dim(0); ++i) {
      y.mutable_data<float>()[static_cast<size_t>(2 * i)] =
          static_cast<float>(x.at(2 * i) + x.at(2 * i + 1));
      y.mutable_data<float>()[static_cast<size_t>(2 * i + 1)] =
          static_cast<float>(x.at(2 * i) * x.at(2 * i + 1));
    }
    batch.labels = Tensor();
    batch.targets.emplace_back(kNumberLabels, std::move(y));
    return batch;
  }

 private:
  Sectors points_;
  std::vector<std::string> none_;
};

TEST(MeanSquareOfNumbers, IsWhatTheReferenceComputes) {
  const Numbers data(300), unseen(100);
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n" +
                  test::weights("w1", "[2, 32]", 64, 1) + test::weights("b1", "[32]", 32, 2) +
                  test::weights("w2", "[32, 2]", 64, 3) +
                  "h = Gemm(x, w1, b1)\nr = Relu(h)\nl = MatMul(r, w2)\n"
                  "output l: f32[N, 2]\n")
          .value();
  TrainOptions options = small_options();
  options.loss = LossKind::kMeanSquare;
  options.epochs = 30;
  const TrainedModel model = must_train(graph, data, options, &unseen);
  const Batch batch = test::whole(unseen);
  const Tensor said = test::reference_output(model.graph, batch);
  double square = 0, absolute = 0;
  for (int64_t i = 0; i < said.count(); ++i) {
    const double gap = said.at(i) - batch.targets[0].second.at(i);
    square += gap * gap / static_cast<double>(said.count());
    absolute += std::abs(gap) / static_cast<double>(said.count());
  }
  const auto best =
      std::find_if(model.report.evaluations.begin(), model.report.evaluations.end(),
                   [&](const EvaluationRecord& e) { return e.step == model.report.best_step; });
  ASSERT_NE(best, model.report.evaluations.end());
  EXPECT_NEAR(best->loss, square, 1e-5);
  EXPECT_EQ(best->terms[0].metric, TermMetric::kAbsoluteError);
  EXPECT_NEAR(best->terms[0].absolute_error, absolute, 1e-5);
  EXPECT_LT(square, 0.05);
}

} // namespace
} // namespace octet
