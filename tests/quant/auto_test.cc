// SPDX-License-Identifier: Apache-2.0
// The calibrator `auto` beside each of those that it chooses among, on networks made so that one or
// another of them falls, measured by the reference on data that no plan has seen.
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "quant/costly.h"
#include "quant/held_back.h"
#include "quant/support.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace octet {
namespace {

constexpr int64_t kFeatures = 16;

struct Outliers {
  float value = 0;
  uint32_t one_in = 1; ///< so many examples
};
constexpr Outliers kNone{};
constexpr Outliers kRare{400, 1000};
constexpr Outliers kOften{40, 12};

/// Numbers between -1 and 1, and feature 0 of some examples.
Tensor examples(int64_t count, uint32_t seed, const Outliers& outliers) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> x(static_cast<size_t>(count * kFeatures));
  for (float& v : x)
    v = draw(random);
  for (size_t row = 0; outliers.value != 0 && row < static_cast<size_t>(count); ++row)
    if (random() % outliers.one_in == 0) x[row * kFeatures] = outliers.value;
  return Tensor::of<float>({count, kFeatures}, std::span<const float>(x));
}

/// 4,096 examples in batches of `batch`.
CalibrationSource rows_in_batches(const Outliers& outliers, int64_t batch = 256) {
  constexpr int64_t kExamples = 4096;
  const Tensor all = examples(kExamples, 7, outliers);
  auto next = std::make_shared<int64_t>(0);
  return [=]() -> Result<std::optional<std::vector<Tensor>>> {
    if (*next >= kExamples) return std::optional<std::vector<Tensor>>();
    const int64_t n = std::min(batch, kExamples - *next);
    const auto part = all.data<float>().subspan(static_cast<size_t>(*next * kFeatures),
                                                static_cast<size_t>(n * kFeatures));
    *next += n;
    return std::optional(std::vector<Tensor>{Tensor::of<float>({n, kFeatures}, part)});
  };
}

Graph begin_graph(ValueId& x) {
  Graph g;
  g.opsets[""] = 17;
  x = g.add_input("x", {DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), kFeatures}, {}});
  return g;
}

/// Two products with a hidden layer. Outliers of feature 0 are hidden unit 0 alone and blow up both
/// ranges; the last product leaves them out, or makes most of the outputs of them.
Graph two_products(bool outliers_matter, int64_t hidden_units = kFeatures) {
  ValueId x;
  Graph g = begin_graph(x);
  const auto units = static_cast<size_t>(hidden_units);
  const float small = 1.2F / std::sqrt(static_cast<float>(hidden_units));
  const Tensor in = test::random_tensor({kFeatures, hidden_units}, 3, -0.3F, 0.3F);
  const Tensor out = test::random_tensor({hidden_units, kFeatures}, 4, -small, small);
  std::vector<float> w1(in.data<float>().begin(), in.data<float>().end());
  std::vector<float> w2(out.data<float>().begin(), out.data<float>().end());
  for (size_t unit = 0; unit < units; ++unit)
    w1[unit] = unit == 0 ? 1 : 0;
  for (size_t i = 0; i < size_t{kFeatures}; ++i) {
    if (i > 0) w1[i * units] = 0;
    w2[i] = outliers_matter ? 1.0F : 0.0F;
  }
  const ValueId first = g.add_constant(
      "w1", Tensor::of<float>({kFeatures, hidden_units}, std::span<const float>(w1)));
  const ValueId second = g.add_constant(
      "w2", Tensor::of<float>({hidden_units, kFeatures}, std::span<const float>(w2)));
  const ValueId hidden = g.emit("Relu", {g.emit("MatMul", {x, first}, {})}, {});
  g.mark_output(g.emit("MatMul", {hidden, second}, {}, "y"));
  return g;
}

/// x A + x B with B = -A but for small differences: codes of the two large products leave nothing of
/// the sum, which all that follows is made of.
Graph cancelling_sum() {
  ValueId x;
  Graph g = begin_graph(x);
  std::mt19937 random(5);
  std::vector<float> a(size_t{kFeatures * kFeatures}), b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = i < size_t{kFeatures} ? 127 : static_cast<float>(random() % 241) - 120;
    b[i] = i < size_t{kFeatures} ? -127 : static_cast<float>(random() % 3) - 1 - a[i];
  }
  const auto weights = [&](const char* name, const std::vector<float>& w) {
    return g.add_constant(name,
                          Tensor::of<float>({kFeatures, kFeatures}, std::span<const float>(w)));
  };
  const ValueId one = g.emit("MatMul", {x, weights("a", a)}, {}, "one");
  const ValueId other = g.emit("MatMul", {x, weights("b", b)}, {}, "other");
  const ValueId sum = g.emit("Add", {one, other}, {}, "sum");
  const Tensor last = test::random_tensor({kFeatures, kFeatures}, 9);
  g.mark_output(g.emit("MatMul", {sum, g.add_constant("c", last)}, {}, "y"));
  return g;
}

QuantizationPlan
plan_of(const Graph& graph, const Calibrator& calibrator, const Outliers& outliers) {
  return plan_quantization(graph, rows_in_batches(outliers), {.calibrator = calibrator}, 4096)
      .value();
}

/// Of the outputs on data of its own.
double quality(const Graph& graph, const QuantizationPlan& plan, const Outliers& outliers) {
  const Tensor x = examples(4096, 99, outliers);
  return test::sqnr(test::run_reference(graph, x),
                    test::run_reference(quantize(graph, plan).value(), x));
}

struct Compared {
  double automatic, best, worst, min_max;
};

Compared compare(const Graph& graph, const Outliers& outliers) {
  Compared out{quality(graph, plan_of(graph, Auto{}, outliers), outliers), -1e9, 1e9, 0};
  for (const Calibrator& calibrator :
       {Calibrator(MinMax{}), Calibrator(Percentile{}), Calibrator(Entropy{}), Calibrator(Mse{})}) {
    const double one = quality(graph, plan_of(graph, calibrator, outliers), outliers);
    out.best = std::max(out.best, one);
    out.worst = std::min(out.worst, one);
    if (calibrator == Calibrator(MinMax{})) out.min_max = one;
  }
  return out;
}

TEST(AutoCalibrator, IsAsGoodAsTheBestWhereTheExtremesCollapse) {
  const Graph graph = two_products(false);
  const Compared c = compare(graph, kRare);
  EXPECT_GT(c.best, c.min_max + 10) << "the network is to fall with min-max";
  EXPECT_GE(c.automatic, c.best - 0.5);
  const QuantizationPlan plan = plan_of(graph, Auto{}, kRare);
  EXPECT_NE(plan.tensor("x")->algorithm, "min-max");
}

TEST(AutoCalibrator, IsAsGoodAsTheBestWhereClippingHurts) {
  const Graph graph = two_products(true, 1024);
  const Compared c = compare(graph, kOften);
  EXPECT_LT(c.worst, c.best - 5) << "some calibrator is to clip what the outputs are made of";
  EXPECT_GE(c.automatic, c.best - 0.5);
}

TEST(AutoCalibrator, LeavesInFloatWhatCodesDestroy) {
  const Graph graph = cancelling_sum();
  const Compared c = compare(graph, kNone);
  EXPECT_LT(c.best, 20) << "ranges alone are not to help";
  EXPECT_GT(c.automatic, c.best + 10);
  const QuantizationPlan plan = plan_of(graph, Auto{}, kNone);
  EXPECT_EQ(plan.node("sum")->rule, Placed::kCostsAccuracy);
  EXPECT_FALSE(plan.node("sum")->quantized);
  EXPECT_TRUE(plan.node("one")->quantized) << "the products stay";
  EXPECT_TRUE(plan.node("y")->quantized);
}

/// A convolution makes two results whose sizes are as 1 to `ratio`; nothing reads them in codes. A
/// convolution of their magnitudes stands behind it, or `last`: none.
Graph results_of_unlike_size(float ratio, bool clamped, bool last = false) {
  ValueId x;
  Graph g = begin_graph(x);
  const auto constant = [&](const char* name, Shape shape, std::vector<float> values) {
    return g.add_constant(name,
                          Tensor::of<float>(std::move(shape), std::span<const float>(values)));
  };
  std::vector<float> same(size_t{kFeatures * kFeatures}), heads(size_t{2 * kFeatures});
  for (size_t i = 0; i < size_t{kFeatures}; ++i)
    same[i * kFeatures + i] = 1;
  heads[0] = 1;
  heads[kFeatures + 1] = ratio;
  const ValueId axes = g.add_constant("axes", Tensor::of<int64_t>({2}, std::vector<int64_t>{2, 3}));
  const ValueId image = g.emit("Unsqueeze", {x, axes}, {}, "image");
  const ValueId body =
      g.emit("Conv", {image, constant("same", {kFeatures, kFeatures, 1, 1}, same)}, {}, "body");
  ValueId head = g.emit("Conv", {body, constant("heads", {2, kFeatures, 1, 1}, heads)}, {}, "head");
  if (clamped) head = g.emit("Relu", {head}, {}, "clamp");
  for (const int64_t channel : {0, 1}) {
    const auto index = [&](const char* what, int64_t value) {
      return g.add_constant(fmt::format("{}{}", what, channel),
                            Tensor::of<int64_t>({1}, std::vector<int64_t>{value}));
    };
    g.mark_output(g.emit(
        "Slice", {head, index("begin", channel), index("end", channel + 1), index("axis", 1)}, {}));
  }
  if (!last)
    g.mark_output(g.emit("Conv", {g.emit("Abs", {head}), constant("sum", {1, 2, 1, 1}, {1, 1})}, {},
                         "behind"));
  return g;
}

TEST(AutoCalibrator, LeavesOutputsInFloatThatNothingReadsInCodes) {
  for (const bool clamped : {false, true}) {
    const Graph graph = results_of_unlike_size(1000, clamped);
    const Compared c = compare(graph, kNone);
    EXPECT_LT(c.best, 20) << "ranges alone are not to help";
    EXPECT_GT(c.automatic, 30);
    const QuantizationPlan plan = plan_of(graph, Auto{}, kNone);
    EXPECT_TRUE(plan.node("head")->quantized) << "octet sums codes and hands on float";
    EXPECT_FALSE(plan.node("head")->output);
    EXPECT_NE(plan.node("head")->why.find("stays in float"), std::string::npos);
    EXPECT_TRUE(plan.node("body")->output);
    if (clamped) {
      EXPECT_FALSE(plan.node("clamp")->quantized);
    }
    // ONNX Runtime computes a convolution from codes to codes or in float.
    const QuantizationPlan other =
        plan_quantization(graph, rows_in_batches(kNone),
                          {.target = "onnxruntime", .calibrator = Auto{}}, 4096)
            .value();
    EXPECT_EQ(other.node("head")->rule, Placed::kCostsAccuracy);
    EXPECT_TRUE(other.node("body")->quantized);
    EXPECT_GT(*other.sqnr(), 30);
    // In codes where that costs nothing.
    const QuantizationPlan alike = plan_of(results_of_unlike_size(1, clamped), Auto{}, kNone);
    EXPECT_TRUE(alike.node(clamped ? "clamp" : "head")->output);
  }
}

TEST(AutoCalibrator, OutputsThatNoProductIsComputedOfAreFloat) {
  for (const bool clamped : {false, true}) {
    const QuantizationPlan plan =
        plan_of(results_of_unlike_size(1, clamped, true), MinMax{}, kNone);
    EXPECT_TRUE(plan.node("head")->quantized);
    EXPECT_FALSE(plan.node("head")->output);
    EXPECT_TRUE(plan.node("body")->output);
    EXPECT_EQ(plan.tensor("head"), nullptr);
  }
  // More of them leave the caches, where codes are faster.
  Graph large;
  large.opsets[""] = 17;
  const ValueId x = large.add_input("x", {DType::kFloat32, std::vector<Dim>{2, 1, 512, 129}, {}});
  const std::vector<float> ones(4, 1);
  const ValueId w = large.add_constant(
      "w", Tensor::of<float>({2, 1, 1, 1}, std::span<const float>(ones).first(2)));
  large.mark_output(large.emit("Conv", {x, w}, {}, "head"));
  const Tensor batch = test::random_tensor({2, 1, 512, 129}, 1);
  const auto given = std::make_shared<bool>(false);
  const QuantizationPlan plan =
      plan_quantization(large,
                        [=]() -> Result<std::optional<std::vector<Tensor>>> {
                          if (std::exchange(*given, true))
                            return std::optional<std::vector<Tensor>>();
                          return std::optional(std::vector<Tensor>{batch});
                        },
                        {.calibrator = MinMax{}})
          .value();
  EXPECT_TRUE(plan.node("head")->output);
}

/// Five products in a row. All but `worst` round next to nothing away; what that one makes is lost
/// beside a constant that the next layer takes out again.
Graph one_layer_collapses(int worst) {
  ValueId x;
  Graph g = begin_graph(x);
  constexpr size_t kSquare = size_t{kFeatures * kFeatures};
  for (int layer = 0; layer < 5; ++layer) {
    const std::string name = fmt::format("layer{}", layer);
    std::vector<float> w(kSquare), after(size_t{kFeatures}), before(size_t{kFeatures});
    for (size_t i = 0; i < size_t{kFeatures}; ++i) {
      w[i * kFeatures + i] = 1;
      after[i] = layer == worst ? 2000.0F : 0.0F;
      before[i] = layer == worst + 1 ? -2000.0F : 0.0F;
    }
    const auto constant = [&](const char* what, Shape shape, const std::vector<float>& values) {
      return g.add_constant(name + what,
                            Tensor::of<float>(std::move(shape), std::span<const float>(values)));
    };
    for (size_t i = 0; i < size_t{kFeatures}; ++i)
      after[i] += before[i];
    x = g.emit("Gemm",
               {x, constant(".w", {kFeatures, kFeatures}, w), constant(".b", {kFeatures}, after)},
               {}, name);
  }
  g.mark_output(x);
  return g;
}

TEST(AutoCalibrator, LeavesALayerInFloatWhereTheOutputsCollapse) {
  for (const int worst : {0, 2, 3}) {
    const Graph graph = one_layer_collapses(worst);
    EXPECT_LT(quality(graph, plan_of(graph, MinMax{}, kNone), kNone), 10) << "it is to collapse";
    const QuantizationPlan plan = plan_of(graph, Auto{}, kNone);
    EXPECT_GT(quality(graph, plan, kNone), 30);
    EXPECT_GT(*plan.sqnr(), 30);
    EXPECT_TRUE(plan.costly.empty()) << "nothing is left to warn of";
    // The codes that lose it are those that the layer behind reads.
    for (int layer = 0; layer < 5; ++layer) {
      const NodePlan& node = *plan.node(fmt::format("layer{}", layer));
      EXPECT_EQ(node.quantized, layer != worst + 1) << layer;
      EXPECT_EQ(node.rule == Placed::kCostsAccuracy, layer == worst + 1) << layer;
    }
    EXPECT_EQ(plan.trials.back().what, fmt::format("{}layer{}", kLayersInFloat, worst + 1));
  }
}

TEST(AutoCalibrator, NamesTheLayersThatCostMost) {
  // Who asks for few bits gets them.
  const QuantizeOptions few{.calibrator = Auto{}, .weight_bits = 7};
  for (const int worst : {0, 2, 3}) {
    const Graph graph = one_layer_collapses(worst);
    const QuantizationPlan plan =
        plan_quantization(graph, rows_in_batches(kNone), few, 4096).value();
    ASSERT_TRUE(plan.sqnr().has_value());
    EXPECT_LT(*plan.sqnr(), 10) << "the network is to collapse";
    ASSERT_FALSE(plan.costly.empty());
    EXPECT_EQ(plan.costly[0].node, fmt::format("layer{}", worst + 1));
    EXPECT_LT(plan.costly[0].sqnr, 10);
    for (size_t i = 1; i < plan.costly.size(); ++i)
      EXPECT_GE(plan.costly[i].sqnr, plan.costly[i - 1].sqnr);
    const QuantizationPlan again = QuantizationPlan::from_json(plan.to_json()).value();
    EXPECT_EQ(again.to_json(), plan.to_json());
    ASSERT_EQ(again.costly.size(), plan.costly.size());
    EXPECT_EQ(again.costly[0].node, plan.costly[0].node);
    // What the warning says to do does it.
    QuantizeOptions without = few;
    without.exclude = {plan.costly[0].node};
    const QuantizationPlan better =
        plan_quantization(graph, rows_in_batches(kNone), without, 4096).value();
    EXPECT_GT(*better.sqnr(), 30);
    EXPECT_TRUE(better.costly.empty());
  }
}

TEST(FindCostly, MeasuresHalvesAndFindsTheWorst) {
  std::vector<std::string> nodes;
  nodes.reserve(100);
  for (int i = 0; i < 100; ++i)
    nodes.push_back(fmt::format("n{}", i));
  int runs = 0;
  const ErrorOf error_of = [&](std::span<const std::string> alone) {
    ++runs;
    std::optional<double> error = 0;
    for (const std::string& node : alone)
      *error += node == "n71" ? 0.5 : node == "n3" ? 0.25 : node == "n70" ? 0.125 : 1e-4;
    // A pair that is nothing without its neighbours.
    if (alone.size() < 13 && alone.front() == "n0") error = std::nullopt;
    return Result<std::optional<double>>(error);
  };
  const auto costly = find_costly(nodes, 3, error_of).value();
  ASSERT_EQ(costly.size(), 3U);
  EXPECT_EQ(costly[0].node, "n71");
  EXPECT_EQ(costly[1].node, "n3");
  EXPECT_EQ(costly[2].node, "n70");
  EXPECT_LT(runs, 40);
  EXPECT_EQ(find_costly({}, 3, error_of).value().size(), 0U);
  EXPECT_EQ(find_costly(std::vector<std::string>{"n3"}, 3, error_of).value()[0].sqnr,
            decibels(0.25));
}

TEST(AutoCalibrator, SaysWhatItMeasured) {
  const QuantizationPlan plan = plan_of(two_products(false), Auto{}, kRare);
  EXPECT_EQ(plan.calibrator, "auto");
  EXPECT_EQ(plan.held_back, 32);
  EXPECT_EQ(plan.samples, 4096 - 32) << "those held back are not observed";
  ASSERT_GE(plan.trials.size(), 4U);
  EXPECT_EQ(plan.trials[0].what, "min-max");
  EXPECT_EQ(plan.trials[3].what, "mse");
  for (const TensorPlan& tensor : plan.tensors)
    EXPECT_NE(tensor.algorithm, "auto");
  EXPECT_NE(plan.text().find("held back"), std::string::npos);
  const QuantizationPlan again = QuantizationPlan::from_json(plan.to_json()).value();
  EXPECT_EQ(again.to_json(), plan.to_json());
  EXPECT_EQ(again.trials.size(), plan.trials.size());
}

TEST(AutoCalibrator, CountsTheExamplesHeldBackOnceItHasChosen) {
  for (const auto& [graph, outliers] :
       {std::pair(two_products(false), kRare), std::pair(two_products(true, 1024), kOften)}) {
    const QuantizationPlan plan = plan_of(graph, Auto{}, outliers);
    int compared = 0;
    for (const TensorPlan& tensor : plan.tensors) {
      if (graph.constant(*graph.find_value(tensor.value)) != nullptr) continue;
      const Calibrator chosen = parse_calibrator(tensor.algorithm).value();
      EXPECT_EQ(tensor.ranges, plan_of(graph, chosen, outliers).tensor(tensor.value)->ranges)
          << tensor.value << " by " << tensor.algorithm;
      ++compared;
    }
    EXPECT_EQ(compared, 2) << "x and the hidden layer";
  }
}

TEST(AutoCalibrator, DoesNotDependOnHowTheDataIsCut) {
  const Graph graph = two_products(false);
  const auto plan = [&](int64_t batch) {
    return plan_quantization(graph, rows_in_batches(kRare, batch), {.calibrator = Auto{}}, 4096)
        .value()
        .to_json();
  };
  const std::string want = plan(256);
  for (const int64_t batch : {1, 7, 4096})
    EXPECT_EQ(plan(batch), want) << batch;
}

TEST(AutoCalibrator, LayersMayNameTheirOwn) {
  const Graph graph = two_products(false);
  const QuantizationPlan plan =
      plan_quantization(graph, rows_in_batches(kRare),
                        {.calibrator = Auto{}, .layers = {{.pattern = "y", .calibrator = Mse{}}}},
                        4096)
          .value();
  for (const TensorPlan& tensor : plan.tensors) {
    if (tensor.value == "x" || tensor.axis) continue;
    EXPECT_EQ(tensor.algorithm, "mse") << tensor.value;
  }
}

TEST(HeldBack, OneExampleIsObservedToo) {
  const Graph graph = two_products(true);
  auto once = std::make_shared<bool>(false);
  const QuantizationPlan plan =
      plan_quantization(graph,
                        [once]() -> Result<std::optional<std::vector<Tensor>>> {
                          if (std::exchange(*once, true))
                            return std::optional<std::vector<Tensor>>();
                          return std::optional(std::vector<Tensor>{examples(1, 1, kNone)});
                        },
                        {.calibrator = Auto{}})
          .value();
  EXPECT_EQ(plan.samples, 1);
  EXPECT_EQ(plan.held_back, 0);
  EXPECT_NE(plan.text().find("observed too"), std::string::npos);
}

TEST(HeldBack, OfFewExamplesMoreAreHeldBack) {
  const Graph graph = two_products(true);
  const std::vector<std::pair<int64_t, int64_t>> kHeldOf = {
      {0, 8},   {2, 1},   {3, 1},    {16, 4},   {32, 8},   {63, 15},
      {64, 16}, {80, 20}, {255, 32}, {256, 32}, {4096, 32}};
  for (const auto& [samples, want] : kHeldOf) {
    HeldBack held;
    const CalibrationSource source = hold_back(graph, rows_in_batches(kNone), samples, held);
    while (source().value())
      ;
    EXPECT_EQ(held.examples, want) << samples;
  }
}

TEST(HeldBack, BatchesOfAFixedSizeStayWhole) {
  Graph graph = two_products(true);
  graph.set_type(graph.inputs()[0],
                 {DType::kFloat32, std::vector<Dim>{Dim(4), Dim(kFeatures)}, {}});
  HeldBack held;
  const CalibrationSource source = hold_back(graph, rows_in_batches(kNone, 4), 80, held);
  int64_t passed = 0;
  for (auto batch = source().value(); batch; batch = source().value()) {
    EXPECT_EQ((*batch)[0].dim(0), 4);
    passed += (*batch)[0].dim(0);
  }
  EXPECT_EQ(held.examples, 20);
  EXPECT_EQ(passed, 4096 - 20);
  EXPECT_FALSE(held.observed);
}

TEST(HeldBack, TheQuietestAndTheLoudestOfTheRestStandBeside) {
  const Graph graph = two_products(true);
  const auto loudness = [](std::span<const float> row) {
    double sum = 0;
    for (const float x : row)
      sum += static_cast<double>(x) * static_cast<double>(x);
    return sum;
  };
  for (const int64_t size : {256, 16}) {
    HeldBack held;
    const CalibrationSource source = hold_back(graph, rows_in_batches(kRare, size), 64, held);
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (auto batch = source().value(); batch; batch = source().value())
      for (int64_t row = 0; row < (*batch)[0].dim(0); ++row) {
        const double size_of_row = loudness((*batch)[0].data<float>().subspan(
            static_cast<size_t>(row * kFeatures), size_t{kFeatures}));
        least = std::min(least, size_of_row);
        most = std::max(most, size_of_row);
      }
    EXPECT_EQ(held.examples, 16);
    std::vector<double> beside;
    int64_t rows = 0;
    for (const HeldBack::Batch& batch : held.batches)
      if (batch.observed)
        beside.push_back(loudness(batch.inputs[0].data<float>()));
      else
        rows += batch.inputs[0].dim(0);
    EXPECT_EQ(rows, 16);
    EXPECT_EQ(beside, (std::vector<double>{least, most})) << size;
  }
}

TEST(OutputError, IsNoiseOverPowerOfEachOutput) {
  OutputError error;
  const std::vector<Tensor> want = {Tensor::of<float>({2}, {3, 4}),
                                    Tensor::of<int64_t>({4}, {1, 2, 3, 4})};
  const std::vector<Tensor> got = {Tensor::of<float>({2}, {3, 3}),
                                   Tensor::of<int64_t>({4}, {1, 2, 0, 4})};
  error.add(want, got, nullptr);
  EXPECT_DOUBLE_EQ(error.mean(), (1.0 / 25 + 1.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(decibels(0.01), 20);
  EXPECT_EQ(decibels(0), 200);
  const Tensor mask = Tensor::of<int64_t>({2}, {1, 0});
  OutputError masked;
  masked.add(std::vector<Tensor>{want[0]}, std::vector<Tensor>{got[0]}, &mask);
  EXPECT_EQ(masked.mean(), 0);
  OutputError broken;
  broken.add(std::vector<Tensor>{want[0]}, std::vector<Tensor>{Tensor::of<float>({2}, {3, NAN})},
             nullptr);
  EXPECT_TRUE(std::isinf(broken.mean()));
}

} // namespace
} // namespace octet
