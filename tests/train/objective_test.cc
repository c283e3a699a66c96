// SPDX-License-Identifier: Apache-2.0
// Several losses, batches of like lengths, accumulation, validation by steps, patience, a teacher,
// mixed precision: each against the reference executor or against an equivalent run.
#include <algorithm>
#include <cmath>

#include "core/progress.h"
#include "sequences.h"
#include "train/trainer/trainer.h"
#include "training_support.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

using test::must_train;
using test::sequence_network;
using test::sequence_options;
using test::Sequences;

std::vector<int64_t> all_of(const Dataset& data) {
  std::vector<int64_t> all(static_cast<size_t>(data.size()));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int64_t>(i);
  return all;
}

/// Mean cross-entropy and accuracy of logits [rows, classes] over labels that are not -100.
std::pair<double, double> cross_entropy(const Tensor& logits, const Tensor& labels) {
  const int64_t classes = logits.shape().back();
  double loss = 0;
  int64_t correct = 0, counted = 0;
  for (int64_t r = 0; r < labels.count(); ++r) {
    const auto label = static_cast<int64_t>(labels.at(r));
    if (label == -100) continue;
    double sum = 0;
    int64_t best = 0;
    for (int64_t c = 0; c < classes; ++c) {
      sum += std::exp(logits.at(r * classes + c));
      if (logits.at(r * classes + c) > logits.at(r * classes + best)) best = c;
    }
    loss += std::log(sum) - logits.at(r * classes + label);
    correct += best == label ? 1 : 0;
    ++counted;
  }
  return {loss / static_cast<double>(counted),
          static_cast<double>(correct) / static_cast<double>(counted)};
}

std::vector<double> losses_of(const Graph& graph, const Dataset& data, TrainOptions options) {
  std::vector<double> losses;
  options.on_scalar = [&](std::string_view tag, int64_t, double value) {
    if (tag == "train/step_loss") losses.push_back(value);
  };
  must_train(graph, data, options);
  return losses;
}

void expect_same(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], tolerance * std::abs(b[i])) << "step " << i + 1;
}

TEST(SeveralLosses, AreLearnedTogetherAndMeasuredAsTheReferenceMeasures) {
  const Sequences data(400), unseen(150, 2);
  TrainOptions options = sequence_options();
  options.epochs = 12;
  const TrainedModel model = must_train(sequence_network(), data, options, &unseen);
  const Batch batch = unseen.batch(all_of(unseen)).value();
  const std::vector<Tensor> out = make_reference_executor(model.graph)
                                      .value()
                                      ->run(std::vector<Tensor>{batch.inputs[0].second})
                                      .value();
  const auto [sign_loss, sign_accuracy] = cross_entropy(out[0], batch.targets[0].second);
  const auto [sum_loss, sum_accuracy] = cross_entropy(out[1], batch.labels);
  const auto best =
      std::find_if(model.report.evaluations.begin(), model.report.evaluations.end(),
                   [&](const EvaluationRecord& e) { return e.step == model.report.best_step; });
  ASSERT_NE(best, model.report.evaluations.end());
  ASSERT_EQ(best->terms.size(), 2u);
  EXPECT_NEAR(best->terms[0].loss, sign_loss, 1e-5);
  EXPECT_NEAR(best->terms[1].loss, sum_loss, 1e-5);
  EXPECT_DOUBLE_EQ(best->terms[0].accuracy, sign_accuracy);
  EXPECT_DOUBLE_EQ(best->terms[1].accuracy, sum_accuracy);
  EXPECT_NEAR(best->loss, sign_loss + 0.5 * sum_loss, 1e-5);
  EXPECT_GT(sign_accuracy, 0.9);
  EXPECT_GT(sum_accuracy, 0.8);
}

/// The mean square loss of logits [rows, 2] over labels that are not `ignored`, and how many of
/// those are told.
std::pair<double, double> mean_square(const Tensor& logits, const Tensor& labels, int64_t ignored) {
  double loss = 0, correct = 0, counted = 0;
  for (int64_t r = 0; r < labels.count(); ++r) {
    const auto label = static_cast<int64_t>(labels.at(r));
    if (label == ignored) continue;
    for (int64_t c = 0; c < 2; ++c)
      loss += std::pow(logits.at(2 * r + c) - (c == label ? 1 : 0), 2) / 2;
    correct += (logits.at(2 * r + 1) > logits.at(2 * r) ? 1 : 0) == label ? 1 : 0;
    ++counted;
  }
  return {loss / counted, correct / counted};
}

TEST(MeanSquare, LeavesOutIgnoredLabels) {
  const Sequences data(64), unseen(50, 2);
  for (const int64_t ignored : {-100, 0}) { // of no class, and of one
    TrainOptions options = sequence_options();
    const bool padded = ignored < 0;
    options.losses = {{.output = padded ? "sign_logits" : "sum_logits",
                       .target = padded ? "signs" : "",
                       .kind = LossKind::kMeanSquare,
                       .ignore_index = ignored}};
    options.max_steps = 3;
    options.evaluate_steps = 3;
    const TrainedModel model = must_train(sequence_network(), data, options, &unseen);
    const Batch batch = unseen.batch(all_of(unseen)).value();
    const auto out = make_reference_executor(model.graph)
                         .value()
                         ->run(std::vector<Tensor>{batch.inputs[0].second})
                         .value();
    const auto [loss, accuracy] =
        mean_square(out[padded ? 0 : 1], padded ? batch.targets[0].second : batch.labels, ignored);
    const EvaluationRecord& e = model.report.evaluations.back();
    EXPECT_NEAR(e.loss, loss, 1e-5) << "ignored: " << ignored;
    EXPECT_DOUBLE_EQ(e.terms[0].accuracy, accuracy) << "ignored: " << ignored;
  }
}

TEST(SeveralLosses, NameWhatIsMissing) {
  const Sequences data(20);
  TrainOptions options = sequence_options();
  options.losses[0].output = "nothing";
  Result<TrainedModel> bad = train::train_graph(sequence_network(), data, nullptr, options);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("no output \"nothing\"; it has sign_logits, sum_logits"),
            std::string::npos)
      << bad.error().text();
  options = sequence_options();
  options.losses[0].target = "nothing";
  bad = train::train_graph(sequence_network(), data, nullptr, options);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("no target \"nothing\""), std::string::npos);
}

TEST(Accumulation, OfTwoBatchesEqualsOneOfTwiceTheSize) {
  const Sequences data(100); // the last step is not full
  TrainOptions whole = sequence_options(), parts = whole;
  whole.batch_size = 16;
  parts.batch_size = 8;
  parts.accumulate = 2;
  expect_same(losses_of(sequence_network(), data, parts),
              losses_of(sequence_network(), data, whole), 1e-4);
}

TEST(Groups, KeepBiasesFromDecay) {
  const Sequences data(32);
  TrainOptions options = sequence_options();
  options.max_steps = 1;
  options.optimizer.no_decay = {"w3"};
  const TrainReport report = must_train(sequence_network(), data, options).report;
  ASSERT_EQ(report.groups.size(), 3u);
  EXPECT_EQ(report.groups[0].parameters, (std::vector<std::string>{"w1", "w2"}));
  EXPECT_EQ(report.groups[0].weight_decay, 0.01);
  EXPECT_EQ(report.groups[1].parameters, (std::vector<std::string>{"b2", "b3"}));
  EXPECT_EQ(report.groups[1].weight_decay, 0);
  EXPECT_EQ(report.groups[2].parameters, (std::vector<std::string>{"w3"}));
  EXPECT_EQ(report.steps, 1);
  options.optimizer.no_decay = {"w9"};
  const Result<TrainedModel> bad = train::train_graph(sequence_network(), data, nullptr, options);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("\"w9\" matches nothing that is trained"), std::string::npos);
}

TEST(MaxSteps, EndsWithinAnEpochOrAfterSeveral) {
  const Sequences data(100); // 7 steps an epoch
  TrainOptions options = sequence_options();
  for (const int64_t steps : {3, 7, 17}) {
    options.max_steps = steps;
    const TrainReport report = must_train(sequence_network(), data, options).report;
    EXPECT_EQ(report.steps, steps);
    EXPECT_EQ(report.history.size(), static_cast<size_t>((steps + 6) / 7));
  }
}

TEST(Patience, EndsARunThatDoesNotGetBetter) {
  const Sequences data(100), unseen(50, 2);
  TrainOptions options = sequence_options();
  options.optimizer.lr = 1e-12; // nothing changes
  options.optimizer.weight_decay = 0;
  options.evaluate_steps = 2;
  options.patience = 3;
  const TrainReport report = must_train(sequence_network(), data, options, &unseen).report;
  EXPECT_TRUE(report.stopped_early);
  EXPECT_LE(report.steps, 10);
  EXPECT_TRUE(report.evaluations.front().best);
}

TEST(Resume, OfARunWithAllOfItGivesTheSameModel) {
  const Sequences data(120), unseen(40, 2);
  TrainOptions options = sequence_options();
  options.batch_size = 8;
  options.accumulate = 2;
  options.evaluate_steps = 3;
  options.patience = 50;
  options.checkpoint_steps = 2;
  options.resume = true;
  const std::string path = testing::TempDir() + "octet_objective_checkpoint";
  const auto hash = [&](const TrainOptions& o) {
    return must_train(sequence_network(), data, o, &unseen).graph.content_hash();
  };
  const auto fresh = [&] {
    std::remove(path.c_str());
    options.checkpoint = path;
  };
  fresh();
  const uint64_t undisturbed = hash(options);
  for (const int64_t stop : {1, 3, 8, 13}) {
    fresh();
    CancelToken token;
    TrainOptions stopped = options;
    stopped.cancel = &token;
    stopped.on_step = [&](const TrainProgress& p) {
      if (p.step == stop) token.cancel();
    };
    hash(stopped);
    EXPECT_EQ(hash(options), undisturbed) << "stopped after step " << stop;
  }
  std::remove(path.c_str());
}

TEST(Teacher, ThatIsTheStudentAddsNothing) {
  const Sequences data(64);
  const Graph graph = sequence_network();
  TrainOptions alone = sequence_options(), taught = alone;
  alone.max_steps = taught.max_steps = 1;
  taught.teacher.graph = &graph;
  taught.teacher.weight = 0.25;
  taught.teacher.hidden_weight = 3;
  taught.teacher.hidden = {"r"};
  EXPECT_NEAR(losses_of(graph, data, taught)[0], 0.75 * losses_of(graph, data, alone)[0], 1e-6);
  taught.teacher.hidden = {"nothing*"};
  EXPECT_FALSE(train::train_graph(graph, data, nullptr, taught).ok());
}

TEST(Teacher, MakesTheStudentAgreeWithoutLabels) {
  const test::Sectors data(400), unseen(200, 2);
  TrainOptions options = test::small_options();
  options.epochs = 15;
  const TrainedModel teacher = must_train(test::small_network(0), data, options);
  options.teacher.graph = &teacher.graph;
  options.teacher.weight = 1; // labels count for nothing
  options.teacher.temperature = 2;
  const TrainedModel student = must_train(test::small_network(0.05), data, options);
  const Batch batch = unseen.batch(all_of(unseen)).value();
  const std::vector<Tensor> inputs{batch.inputs[0].second};
  const Tensor a = make_reference_executor(teacher.graph).value()->run(inputs).value()[0];
  const Tensor b = make_reference_executor(student.graph).value()->run(inputs).value()[0];
  int64_t agree = 0;
  for (int64_t r = 0; r < 200; ++r) {
    const auto best = [r](const Tensor& t) {
      int64_t k = 0;
      for (int64_t c = 1; c < 3; ++c)
        if (t.at(3 * r + c) > t.at(3 * r + k)) k = c;
      return k;
    };
    agree += best(a) == best(b) ? 1 : 0;
  }
  EXPECT_GT(agree, 190);
}

TEST(Precision, Bfloat16LearnsOnTheCpuAndFloat16NeedsADevice) {
  const Sequences data(400);
  TrainOptions options = sequence_options();
  options.epochs = 12;
  options.precision = Precision::kBfloat16;
  const TrainReport report = must_train(sequence_network(), data, options).report;
  EXPECT_GT(report.history.back().terms[0].accuracy, 0.9);
  options.precision = Precision::kFloat16;
  const Result<TrainedModel> bad = train::train_graph(sequence_network(), data, nullptr, options);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().text(), "train: f16 needs a CUDA device; on the CPU use f32 or bf16");
}

// LibTorch's own autocast leaves at::convolution out on the CPU.
TEST(Precision, ConvolutionsAreOfBfloat16LikeTheProductsBeforeThem) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n" +
                  test::weights("w", "[2, 6]", 12, 1) + test::weights("k", "[4, 1, 3]", 12, 2) +
                  test::weights("b", "[4]", 4, 3) + test::weights("t", "[4, 1, 2]", 8, 4) +
                  test::weights("v", "[5, 3]", 15, 5) +
                  "const rows: i64[3] = [0, 1, 6]\nh = MatMul(x, w)\ni = Reshape(h, rows)\n"
                  "c = Conv(i, k, b)\nr = Relu(c)\nu = ConvTranspose(r, t)\nf = Flatten(u)\n"
                  "y = MatMul(f, v)\noutput y: f32[N, 3]\n")
          .value();
  TrainOptions options = test::small_options();
  options.epochs = 8;
  const auto loss = [&](Precision precision) {
    options.precision = precision;
    return must_train(graph, test::Sectors(300), options).report.history.back().train_loss;
  };
  const double exact = loss(Precision::kFloat32), rounded = loss(Precision::kBfloat16);
  EXPECT_LT(exact, 0.8);
  EXPECT_NEAR(rounded, exact, 0.1);
  EXPECT_NE(rounded, exact);
}

} // namespace
} // namespace octet
