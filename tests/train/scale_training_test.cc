// SPDX-License-Identifier: Apache-2.0
// What becomes of scales in quantization-aware training beside LSQ's gradient: published starts,
// clips trained by PACT, scales and statistics that stay after a share of the steps.
#include <cmath>
#include <filesystem>

#include "core/progress.h"
#include "support/paths.h"
#include "train/executor/torch_executor.h"
#include "train/trainer/trainer.h"
#include "training_support.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/quantize.h"

namespace octet {
namespace {

using test::must_train;
using test::Sectors;

double constant_of(const Graph& graph, const char* name) {
  return graph.constant(*graph.find_value(name))->at(0);
}

/// x, Relu, 4 bits of u8 at s = 0.5: the clip is at 7.5.
Graph clipped_relu() {
  return parse_graph("graph g opset(\"\"=19)\ninput x: f32[2, 200]\nconst s: f32[] = [0.5]\n"
                     "const z: u8[] = [0]\nconst lo: u8[] = [0]\nconst hi: u8[] = [15]\n"
                     "r = Relu(x)\nq = QuantizeLinear(r, s, z)\nc = Clip(q, lo, hi)\n"
                     "y = DequantizeLinear(c, s, z)\noutput y: f32[*]\n")
      .value();
}

TEST(TrainedClip, HasThePublishedGradient) {
  std::vector<float> x, g;
  for (int i = 0; i < 400; ++i) {
    x.push_back(static_cast<float>(i - 200) * 0.1F + 0.03F);
    g.push_back(static_cast<float>(i % 5) - 1.5F);
  }
  x[7] = 7.5F; // at the clip
  GradientRequest request;
  request.inputs = {Tensor::of<float>({2, 200}, x)};
  request.output_gradients = {Tensor::of<float>({2, 200}, g)};
  request.wrt = {"x"};
  request.activation_scales = ActivationScales::kClipped;
  const Graph graph = clipped_relu();
  request.wrt = {"x", "s"};
  const Result<std::vector<Tensor>> got = train::graph_gradients(graph, request);
  ASSERT_TRUE(got.ok()) << got.error().text();
  double above = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] >= 7.5F) above += g[i];
    const bool passes = x[i] > 0 && x[i] < 7.5F;
    ASSERT_EQ((*got)[0].at(static_cast<int64_t>(i)), passes ? g[i] : 0.0F) << x[i];
  }
  // Of the clip `above`; s is a fifteenth of it, and a step of s by a fifteenth moves the clip by 1.
  EXPECT_NEAR((*got)[1].at(0), above / 15, 1e-5 * std::abs(above));
}

/// The gradient of the clip against the function that PACT differentiates, y = min(max(x, 0), a),
/// by central differences.
TEST(TrainedClip, IsTheDerivativeOfTheClippedFunction) {
  const auto value = [](double clip) {
    double sum = 0;
    for (int i = 0; i < 400; ++i)
      sum += (i % 5 - 1.5) * std::min(std::max(0.0, (i - 200) * 0.1 + 0.03), clip);
    return sum;
  };
  std::vector<float> x, g;
  for (int i = 0; i < 400; ++i) {
    x.push_back(static_cast<float>(i - 200) * 0.1F + 0.03F);
    g.push_back(static_cast<float>(i % 5) - 1.5F);
  }
  GradientRequest request;
  request.inputs = {Tensor::of<float>({2, 200}, x)};
  request.output_gradients = {Tensor::of<float>({2, 200}, g)};
  request.wrt = {"s"};
  request.activation_scales = ActivationScales::kClipped;
  const Tensor ds = train::graph_gradients(clipped_relu(), request).value()[0];
  EXPECT_NEAR(15 * ds.at(0), (value(7.5 + 1e-3) - value(7.5 - 1e-3)) / 2e-3, 1e-3);
}

TEST(TrainedClip, LeavesOtherActivationsAsTheyAre) {
  TrainOptions options = test::small_options();
  options.activation_scales = ActivationScales::kClipped;
  options.optimizer.clip_decay = 0.01;
  const Graph before = test::small_quantized_network();
  const TrainedModel model = must_train(before, Sectors(200), options);
  EXPECT_EQ(constant_of(model.graph, "sx"), constant_of(before, "sx"));
  EXPECT_NE(constant_of(model.graph, "sh"), constant_of(before, "sh"));
  ASSERT_EQ(model.report.groups.back().rule, "trained clips");
  EXPECT_EQ(model.report.groups.back().parameters, std::vector<std::string>{"sh"});
  EXPECT_EQ(model.report.groups.back().weight_decay, 0.01);
}

/// Decay alone pulls a clip that nothing reaches towards 0.
TEST(TrainedClip, Decays) {
  TrainOptions options = test::small_options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .lr = 0.1, .momentum = 0, .clip_decay = 0.5};
  options.schedule.kind = ScheduleKind::kConstant;
  options.epochs = 1;
  options.activation_scales = ActivationScales::kClipped;
  options.max_steps = 3;
  Graph before = test::small_quantized_network();
  before.set_constant(*before.find_value("sh"), Tensor::of<float>({}, {10}));
  const TrainedModel model = must_train(before, Sectors(200), options);
  EXPECT_NEAR(constant_of(model.graph, "sh"), 10 * std::pow(1 - 0.1 * 0.5, 3), 1e-4);
}

/// A step that takes more than there is leaves the smallest scale, and is told.
TEST(TrainedClip, IsToldWhenItFallsToNothing) {
  TrainOptions options = test::small_options();
  options.optimizer = {.kind = OptimizerKind::kSgd, .lr = 0.1, .momentum = 0, .clip_decay = 0.5};
  options.schedule.kind = ScheduleKind::kConstant;
  options.epochs = 1;
  options.batch_size = 200;
  options.activation_scales = ActivationScales::kClipped;
  Graph before = test::small_quantized_network();
  before.set_constant(*before.find_value("sh"), Tensor::of<float>({}, {10}));
  const auto found = [&] {
    const TrainReport report = must_train(before, Sectors(200), options).report;
    for (const TrainFinding& f : report.findings)
      if (f.kind == TrainFinding::Kind::kScales) return f.message;
    return std::string();
  };
  EXPECT_EQ(found(), "");
  options.optimizer.clip_decay = 20;
  const std::string message = found();
  EXPECT_NE(message.find("1 of 1 of \"sh\""), std::string::npos) << message;
  EXPECT_NE(message.find("rate (0.1)"), std::string::npos) << message;
}

/// One step at a rate of next to nothing leaves scales where they start.
TEST(LearnedScales, StartAsPublished) {
  TrainOptions options = test::small_options();
  options.weight_scales = WeightScales::kLearned;
  options.activation_scales = ActivationScales::kLearned;
  options.scale_start = ScaleStart::kPublished;
  options.max_steps = 1;
  options.batch_size = 200;
  options.optimizer.lr = 1e-9;
  const Sectors data(200);
  const Graph before = test::small_quantized_network();
  const TrainedModel model = must_train(before, data, options);
  const auto published = [](const Tensor& t) {
    double sum = 0;
    for (int64_t i = 0; i < t.count(); ++i)
      sum += std::abs(t.at(i));
    return 2 * sum / static_cast<double>(t.count()) / std::sqrt(127.0);
  };
  const Tensor x = test::whole(data).inputs[0].second;
  EXPECT_NEAR(constant_of(model.graph, "sx"), published(x), 1e-5);
  EXPECT_NEAR(constant_of(model.graph, "s1"), published(*before.constant(*before.find_value("w1"))),
              1e-5);
  EXPECT_NEAR(constant_of(model.graph, "s2"), published(*before.constant(*before.find_value("w2"))),
              1e-5);
  // That of the second activation follows from codes of the first, at its new scales.
  Graph first = before;
  for (const char* name : {"sx", "s1"})
    first.set_constant(*first.find_value(name),
                       *model.graph.constant(*model.graph.find_value(name)));
  first.set_outputs({*first.find_value("r")});
  const Tensor hidden =
      make_reference_executor(first).value()->run(std::vector<Tensor>{x}).value()[0];
  EXPECT_NEAR(constant_of(model.graph, "sh"), published(hidden), 1e-4);
}

/// Scales that follow weights are those that a plan would take of them: of fewer than 8 bits the
/// lowest code counts, max(max / 7, -min / 8) of 4 bits.
TEST(FollowedScales, AreThoseOfAPlan) {
  const Graph graph = test::small_network(0);
  const Sectors data(200);
  for (const int bits : {2, 3, 4, 7, 8}) {
    for (const bool per_channel : {true, false}) {
      SCOPED_TRACE(std::to_string(bits) + (per_channel ? " channels" : " tensor"));
      const QuantizationPlan plan =
          plan_quantization(
              graph, data,
              {.calibrator = MinMax{}, .weight_bits = bits, .per_channel = per_channel})
              .value();
      TrainOptions options = test::small_options();
      options.max_steps = 3;
      const TrainedModel model =
          must_train(quantize(graph, plan, WeightStorage::kFloat).value(), data, options);
      int weights = 0;
      for (const NodeId id : model.graph.nodes()) {
        const Node& node = model.graph.node(id);
        const Tensor* w = node.is("QuantizeLinear") ? model.graph.constant(node.input(0)) : nullptr;
        if (w == nullptr) continue;
        ++weights;
        const Tensor& scale = *model.graph.constant(node.input(1));
        const int64_t axis = node.attr_int("axis", 1);
        const double top = std::exp2(bits - 1) - 1, bottom = bits < 8 ? top + 1 : top;
        ASSERT_EQ(scale.count(), per_channel ? w->dim(axis) : 1);
        for (int64_t c = 0; c < scale.count(); ++c) {
          double step = 0;
          for (int64_t i = 0; i < w->count(); ++i) {
            const int64_t channel = axis == 0 ? i / w->dim(1) : i % w->dim(1);
            if (per_channel && channel != c) continue;
            step = std::max({step, w->at(i) / top, -w->at(i) / bottom});
          }
          EXPECT_EQ(static_cast<float>(scale.at(c)), static_cast<float>(step)) << node.name;
        }
      }
      EXPECT_EQ(weights, 2);
    }
  }
}

/// The scales of a run with `max_steps`, frozen after a share of them.
std::vector<double> scales_after(TrainOptions options, double share, int64_t steps) {
  options.freeze_scales_after = share;
  options.max_steps = steps;
  options.schedule.kind = ScheduleKind::kConstant;
  const TrainedModel model = must_train(test::small_quantized_network(), Sectors(200), options);
  std::vector<double> out;
  for (const char* name : {"sx", "sh", "s1", "s2"})
    out.push_back(constant_of(model.graph, name));
  return out;
}

TEST(FrozenScales, StayWhileWeightsMoveOn) {
  TrainOptions learned = test::small_options();
  learned.weight_scales = WeightScales::kLearned;
  learned.activation_scales = ActivationScales::kLearned;
  const std::vector<double> half = scales_after(learned, 1, 10);
  EXPECT_EQ(scales_after(learned, 0.5, 20), half);
  EXPECT_NE(scales_after(learned, 1, 20), half);

  // Those that follow weights are taken from them for the last time before the last free step.
  const std::vector<double> followed = scales_after(test::small_options(), 0.5, 20);
  EXPECT_NE(followed, scales_after(test::small_options(), 1, 20));
  TrainOptions options = test::small_options();
  options.schedule.kind = ScheduleKind::kConstant;
  options.max_steps = 9;
  const Graph nine = must_train(test::small_quantized_network(), Sectors(200), options).graph;
  EXPECT_EQ(followed[2], constant_of(nine, "s1"));
  EXPECT_EQ(followed[3], constant_of(nine, "s2"));
}

TEST(FrozenScales, AreResumedAsTheyWere) {
  const std::filesystem::path folder = std::filesystem::path(test::build_dir()) / "test_scales";
  std::filesystem::create_directories(folder);
  for (const bool learned : {false, true}) {
    const auto hash = [&](const char* file, int64_t stop) {
      TrainOptions options = test::small_options();
      if (learned) {
        options.weight_scales = WeightScales::kLearned;
        options.scale_start = ScaleStart::kPublished;
        options.activation_scales = ActivationScales::kClipped;
      }
      options.freeze_scales_after = 0.5;
      options.validation_split = 0.2;
      options.checkpoint = folder / file;
      options.resume = true;
      CancelToken token;
      options.cancel = &token;
      options.on_step = [&](const TrainProgress& p) {
        if (p.step == stop) token.cancel();
      };
      return must_train(test::small_quantized_network(), Sectors(200), options)
          .graph.content_hash();
    };
    for (const char* file : {"whole", "parts"})
      std::filesystem::remove(folder / file);
    const uint64_t whole = hash("whole", -1);
    for (const int64_t stop : {7, 19, 21, 30}) {
      std::filesystem::remove(folder / "parts");
      hash("parts", stop);
      EXPECT_EQ(hash("parts", -1), whole) << "stopped after step " << stop;
    }
  }
}

TEST(FrozenStatistics, StayAfterTheirShare) {
  const std::string text =
      "graph g opset(\"\"=17)\ninput x: f32[N, 2]\n" + test::weights("w", "[3, 2]", 6, 1) +
      "const b: f32[3] = [0, 0, 0]\nconst gain: f32[3] = [1, 1, 1]\nconst bias: f32[3] = [0, 0, "
      "0]\n"
      "const mean: f32[3] = [0, 0, 0]\nconst var: f32[3] = [1, 1, 1]\n"
      "h = Gemm(x, w, b) {transB=1}\nn = BatchNormalization(h, gain, bias, mean, var)\n"
      "p = Softmax(n)\noutput p: f32[N, 3]\n";
  const Graph graph = parse_graph(text).value();
  TrainOptions options = test::small_options();
  options.schedule.kind = ScheduleKind::kConstant;
  const auto mean_after = [&](double share, int64_t steps) {
    options.freeze_statistics_after = share;
    options.max_steps = steps;
    const Graph trained = must_train(graph, Sectors(200), options).graph;
    return trained.constant(*trained.find_value("mean"))->to_doubles().value();
  };
  const std::vector<double> half = mean_after(1, 8);
  EXPECT_EQ(mean_after(0.5, 16), half);
  EXPECT_NE(mean_after(1, 16), half);
}

} // namespace
} // namespace octet
