// SPDX-License-Identifier: Apache-2.0
// What the trainer promises: it learns, a seed fixes every bit, tied weights stay tied, quantized
// graphs are trained as they are exported, trouble is named.
#include <algorithm>
#include <cmath>

#include "core/progress.h"
#include "ops/parameters.h"
#include "train/executor/torch_executor.h"
#include "train/trainer/diagnosis.h"
#include "train/trainer/trainer.h"
#include "training_support.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

using test::must_train;
using test::reference_output;
using test::Sectors;
using test::small_network;
using test::small_options;
using test::whole;

double accuracy(const Graph& graph, const Sectors& data) {
  const Batch batch = whole(data);
  const Tensor p = reference_output(graph, batch);
  int correct = 0;
  for (int64_t i = 0; i < data.size(); ++i) {
    int64_t best = 0;
    for (int64_t c = 1; c < 3; ++c)
      if (p.at(3 * i + c) > p.at(3 * i + best)) best = c;
    correct += best == batch.labels.at(i) ? 1 : 0;
  }
  return correct / static_cast<double>(data.size());
}

TEST(Trainer, LearnsAndReportsWhatTheReferenceMeasures) {
  const Sectors data(600), unseen(300, 2);
  TrainOptions options = small_options();
  options.epochs = 20;
  const TrainedModel model = must_train(small_network(), data, options, &unseen);
  EXPECT_GT(accuracy(model.graph, unseen), 0.95);
  ASSERT_EQ(model.report.history.size(), 20u);
  const EpochRecord& best = model.report.history[static_cast<size_t>(model.report.best_epoch - 1)];
  EXPECT_DOUBLE_EQ(best.validation_accuracy, accuracy(model.graph, unseen));
  EXPECT_EQ(model.report.parameters, (std::vector<std::string>{"w1", "b1", "w2", "b2"}));
}

TEST(Trainer, ReachesTheSamePlaceWithEveryOptimizer) {
  const Sectors data(600);
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    TrainOptions options = small_options();
    options.optimizer = {
        .kind = kind, .lr = kind == OptimizerKind::kSgd ? 0.2 : 0.02, .clip_norm = 1};
    options.schedule.kind = ScheduleKind::kCosine;
    options.epochs = 15;
    EXPECT_GT(accuracy(must_train(small_network(), data, options).graph, data), 0.95)
        << static_cast<int>(kind);
  }
}

TEST(Trainer, LearnsWithoutMomentum) {
  const Sectors data(600);
  TrainOptions options = small_options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .lr = 0.5, .momentum = 0};
  options.schedule.kind = ScheduleKind::kConstant;
  options.epochs = 20;
  EXPECT_GT(accuracy(must_train(small_network(), data, options).graph, data), 0.9);
}

TEST(Trainer, IsAFunctionOfItsSeed) {
  const Sectors data(100);
  TrainOptions options = small_options();
  const uint64_t first = must_train(small_network(), data, options).graph.content_hash();
  EXPECT_EQ(must_train(small_network(), data, options).graph.content_hash(), first);
  options.seed = 10;
  EXPECT_NE(must_train(small_network(), data, options).graph.content_hash(), first);
}

TEST(Trainer, KeepsNamesIdsAndEverythingButParameters) {
  const Sectors data(64);
  const Graph before = small_network();
  const Graph after = must_train(before, data, small_options()).graph;
  ASSERT_EQ(after.value_bound(), before.value_bound());
  for (int32_t i = 0; i < before.value_bound(); ++i) {
    const Value &a = before.value(ValueId{i}), &b = after.value(ValueId{i});
    EXPECT_EQ(a.name, b.name);
    if (!a.is_constant()) continue;
    const bool trained = a.name[0] == 'w' || a.name[0] == 'b';
    EXPECT_EQ(a.constant.identical(b.constant), !trained) << a.name;
  }
}

TEST(Trainer, FreezesByPattern) {
  const Sectors data(64);
  TrainOptions options = small_options();
  options.freeze = {"*1"};
  const TrainedModel model = must_train(small_network(), data, options);
  EXPECT_EQ(model.report.parameters, (std::vector<std::string>{"w2", "b2"}));
  options.freeze = {"nothing*"};
  const Result<TrainedModel> bad = train::train_graph(small_network(), data, nullptr, options);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("\"nothing*\" matches no float constant"), std::string::npos);
}

TEST(Trainer, KeepsTiedWeightsTied) {
  // y = x W W^T: the gradient of W has two parts, against finite differences of the reference.
  const Graph graph =
      parse_graph(
          "graph g opset(\"\"=17)\ninput x: f64[2, 3]\nconst w: f64[3, 2] = [1, 2, 3, 4, 5, 6]\n"
          "h = MatMul(x, w)\nt = Transpose(w) {perm=[1, 0]}\ny = MatMul(h, t)\noutput y: f64[*]\n")
          .value();
  EXPECT_EQ(trainable_parameters(graph).value().size(), 1u);
  GradientRequest request;
  request.inputs = {Tensor::of<double>({2, 3}, {0.5, -1, 2, 1, 0, 3})};
  request.output_gradients = {Tensor::of<double>({2, 3}, {1, -1, 0.5, 2, 1, -0.5})};
  request.wrt = {"w"};
  const Tensor gradient = train::graph_gradients(graph, request).value()[0];
  const auto loss = [&](int64_t index, double change) {
    Graph moved = graph;
    const ValueId w = *moved.find_value("w");
    Tensor values = moved.value(w).constant.clone();
    values.mutable_data<double>()[static_cast<size_t>(index)] += change;
    moved.set_constant(w, values);
    const Tensor y = make_reference_executor(moved).value()->run(request.inputs).value()[0];
    double sum = 0;
    for (int64_t i = 0; i < y.count(); ++i)
      sum += y.at(i) * request.output_gradients[0].at(i);
    return sum;
  };
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_NEAR(gradient.at(i), (loss(i, 1e-5) - loss(i, -1e-5)) / 2e-5, 1e-5);
}

TEST(Trainer, TrainsAQuantizedGraphAsItIsExported) {
  const Sectors data(600);
  TrainOptions options = small_options();
  options.epochs = 15;
  const Graph before = test::small_quantized_network();
  const TrainedModel model = must_train(before, data, options);
  // Every trained parameter is one of the quantized graph.
  EXPECT_EQ(model.report.parameters, (std::vector<std::string>{"w1", "b1", "w2", "b2"}));
  for (const std::string& name : model.report.parameters)
    EXPECT_TRUE(before.find_value(name).has_value()) << name;
  // The exported Q/DQ graph, run by the reference, is as good as training said.
  EXPECT_GT(accuracy(model.graph, data), 0.93);
  // Weight scales follow the largest magnitude.
  const Tensor w = *model.graph.constant(*model.graph.find_value("w1"));
  double largest = 0;
  for (int64_t i = 0; i < w.count(); ++i)
    largest = std::max(largest, std::abs(w.at(i)));
  EXPECT_FLOAT_EQ(static_cast<float>(model.graph.constant(*model.graph.find_value("s1"))->at(0)),
                  static_cast<float>(largest) / 127.0F);
  EXPECT_EQ(model.graph.constant(*model.graph.find_value("sx"))->at(0),
            before.constant(*before.find_value("sx"))->at(0));
}

TEST(Trainer, LearnsScales) {
  const Sectors data(300);
  TrainOptions options = small_options();
  options.weight_scales = WeightScales::kLearned;
  options.activation_scales = ActivationScales::kLearned;
  const TrainedModel model = must_train(test::small_quantized_network(), data, options);
  for (const char* name : {"sx", "sh", "s1", "s2"}) {
    EXPECT_NE(std::find(model.report.parameters.begin(), model.report.parameters.end(), name),
              model.report.parameters.end())
        << name;
    EXPECT_GT(model.graph.constant(*model.graph.find_value(name))->at(0), 0.0);
  }
}

TEST(Trainer, UpdatesRunningStatisticsAsOnnxWritesIt) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\nconst g: f32[2] = "
                                  "[1, 1]\nconst b: f32[2] = [0, 0]\n"
                                  "const m: f32[2] = [0.5, -0.5]\nconst v: f32[2] = [2, 3]\nconst "
                                  "w: f32[3, 2] = [1, 0, 0, 1, 1, 1]\n"
                                  "n = BatchNormalization(x, g, b, m, v) {momentum=0.75}\nl = "
                                  "Gemm(n, w) {transB=1}\noutput l: f32[N, 3]\n")
                          .value();
  const Sectors data(32);
  TrainOptions options = small_options();
  options.epochs = 1;
  options.batch_size = 32;
  const Graph after = must_train(graph, data, options).graph;
  const Tensor x = whole(data).inputs[0].second;
  double mean = 0, square = 0;
  for (int64_t i = 0; i < 32; ++i)
    mean += x.at(2 * i) / 32;
  for (int64_t i = 0; i < 32; ++i)
    square += (x.at(2 * i) - mean) * (x.at(2 * i) - mean) / 32;
  EXPECT_NEAR(after.constant(*after.find_value("m"))->at(0), 0.5 * 0.75 + mean * 0.25, 1e-5);
  EXPECT_NEAR(after.constant(*after.find_value("v"))->at(0), 2 * 0.75 + square * 0.25, 1e-4);
  options.freeze_statistics = true;
  EXPECT_EQ(must_train(graph, data, options).graph.constant(*graph.find_value("m"))->at(0), 0.5);
}

TEST(Trainer, SaysWhatIsWrong) {
  Sectors data(200);
  TrainOptions options = small_options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .lr = 1000};
  options.schedule.kind = ScheduleKind::kConstant;
  data.scale = 1e15F;
  const Result<TrainedModel> diverged = train::train_graph(small_network(), data, nullptr, options);
  ASSERT_FALSE(diverged.ok());
  EXPECT_EQ(diverged.error().code(), ErrorCode::kRefused);
  EXPECT_NE(diverged.error().text().find("usual causes"), std::string::npos)
      << diverged.error().text();

  data.scale = 0;
  options.optimizer.lr = 1e-9;
  EXPECT_TRUE(must_train(small_network(), data, options).report.findings.empty()); // after 52 steps
  options.epochs = 16;
  const TrainedModel stalled = must_train(small_network(), data, options);
  ASSERT_EQ(stalled.report.findings.size(), 1u);
  EXPECT_EQ(stalled.report.findings[0].kind, TrainFinding::Kind::kStalled);

  options.epochs = 0;
  const Result<TrainedModel> bad = train::train_graph(small_network(), data, nullptr, options);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().text(), "train: epochs is 0; it lies in 1 .. 1000000");
}

TEST(Trainer, SaysWhenLabelsAreNoClassesOfTheModel) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n"
                                  "const v: f32[2, 2] = [1, 2, 3, 4]\n"
                                  "l = Gemm(x, v) {transB=1}\noutput l: f32[N, 2]\n")
                          .value();
  TrainOptions options = small_options();
  const Result<TrainedModel> named = train::train_graph(graph, Sectors(32), nullptr, options);
  ASSERT_FALSE(named.ok());
  EXPECT_NE(named.error().text().find("\"l\" tells 2 "), std::string::npos) << named.error().text();
  options.losses = {{.output = "l", .target = {}}};
  const Result<TrainedModel> met = train::train_graph(graph, Sectors(32), nullptr, options);
  ASSERT_FALSE(met.ok());
  EXPECT_NE(met.error().text().find("label 2 is out of range"), std::string::npos)
      << met.error().text();
}

TEST(Diagnosis, SpeaksOfImagesAndKeptModelsOnlyWhereTheyAre) {
  std::vector<EpochRecord> stuck(1), rising(5);
  stuck[0].train_loss = std::log(2.0);
  for (size_t i = 0; i < rising.size(); ++i) {
    rising[i].train_loss = 0.5 - 0.1 * static_cast<double>(i);
    rising[i].validation_loss = 0.5 + 0.1 * static_cast<double>(i);
  }
  train::RunFacts facts{.classes = 2, .max_lr = 1e-4, .steps = 10};
  EXPECT_TRUE(train::diagnose(stuck, facts).empty());
  facts.steps = 500;
  EXPECT_EQ(train::diagnose(stuck, facts).at(0).message.find("-1 .. 1"), std::string::npos);
  EXPECT_EQ(train::diagnose(rising, facts).at(0).message.find("is kept"), std::string::npos);
  facts.keeps_best = facts.float_inputs = true;
  EXPECT_NE(train::diagnose(stuck, facts).at(0).message.find("-1 .. 1"), std::string::npos);
  EXPECT_NE(train::diagnose(rising, facts).at(0).message.find("is kept"), std::string::npos);
}

TEST(Trainer, NamesParametersThatNoGradientReaches) {
  const Graph graph =
      parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\nconst w: f32[2, 2] = [1, 2, 3, 4]\n"
                  "const v: f32[3, 2] = [1, 2, 3, 4, 5, 6]\nh = MatMul(x, w)\nc = Cast(h) "
                  "{to=6}\nf = Cast(c) {to=1}\n"
                  "l = Gemm(f, v) {transB=1}\noutput l: f32[N, 3]\n")
          .value();
  const Sectors data(32);
  const TrainedModel model = must_train(graph, data, small_options());
  ASSERT_FALSE(model.report.findings.empty());
  EXPECT_EQ(model.report.findings[0].kind, TrainFinding::Kind::kNoGradient);
  EXPECT_NE(model.report.findings[0].message.find("\"w\""), std::string::npos);
}

TEST(Trainer, SaysBeforeItTrainsWhatAFixedBatchDoesNotFit) {
  const Graph graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[4, 2]\n"
                                  "const w: f32[2, 3] = [1, 2, 3, 4, 5, 6]\nh = MatMul(x, w)\n"
                                  "y = Softmax(h) {axis=1}\noutput y: f32[4, 3]\n")
                          .value();
  TrainOptions options = small_options(); // batches of 16
  const auto refusal = [&](int64_t count) {
    const auto trained = train::train_graph(graph, Sectors(count), nullptr, options);
    return trained.ok() ? std::string() : trained.error().text();
  };
  EXPECT_EQ(refusal(4), ""); // all that there are
  EXPECT_EQ(refusal(12), "train: the model takes batches of 4 alone; give --batch 4, or a model "
                         "with a free first dimension");
  options.batch_size = 4;
  EXPECT_EQ(refusal(12), "");
  EXPECT_EQ(refusal(10), "train: the model takes batches of 4 alone, and the 10 examples to train "
                         "on are no multiple of it; leave 2 out, or take a model with a free first "
                         "dimension");
  options.validation_split = 0.25;
  EXPECT_EQ(refusal(16), "");
  EXPECT_NE(refusal(21).find("5 examples to validate on"), std::string::npos);
  options.validation_split = 0;
  options.max_steps = 2;
  EXPECT_EQ(refusal(10), "");
}

} // namespace
} // namespace octet
