// SPDX-License-Identifier: Apache-2.0
// Errors of tensors against the arithmetic of the test, two runs beside each other, plans that are
// read off files, and layers that were spoiled.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "quant/prepare.h"
#include "quant/see/beside.h"
#include "quant/see/file_plan.h"
#include "quant/see/look.h"
#include "quant/see/remedies.h"
#include "quant/see/replanned.h"
#include "quant/support.h"
#include <gtest/gtest.h>

#include "octet/session.h"

namespace octet {
namespace {

const ExecutorFactory kNative = [](const Graph& graph) { return make_native_executor(graph); };

double to_grid(double x, double scale, double zero, double lo, double hi) {
  const double code = std::clamp(std::nearbyint(x / scale) + zero, lo, hi);
  return (code - zero) * scale;
}

TEST(TensorView, SaysWhatTheArithmeticOfTheTestSays) {
  const Tensor x = test::random_tensor({6, 5, 4, 3}, 1, -2, 3);
  constexpr double kScale = 0.0078125, kZero = 90; // codes of -0.703 to 1.289: some saturate
  const auto grid = qdq::Grid::per_tensor_of(DType::kUint8, kScale, kZero, DType::kFloat32);
  std::vector<uint8_t> codes;
  double power = 0, noise = 0, alone = 0, largest = 0;
  int64_t beyond = 0;
  for (int64_t i = 0; i < x.count(); ++i) {
    const int code = static_cast<int>((i * 37) % 256); // what the other model made of it
    codes.push_back(static_cast<uint8_t>(code));
    const double other = (code - kZero) * kScale;
    power += x.at(i) * x.at(i);
    noise += (x.at(i) - other) * (x.at(i) - other);
    largest = std::max(largest, std::fabs(x.at(i) - other));
    const double own = to_grid(x.at(i), kScale, kZero, 0, 255);
    alone += (x.at(i) - own) * (x.at(i) - own);
    const double code_of = std::nearbyint(x.at(i) / kScale) + kZero;
    beyond += code_of < 0 || code_of > 255 ? 1 : 0;
  }
  const Tensor other = Tensor::of<uint8_t>({6, 5, 4, 3}, std::span<const uint8_t>(codes));
  TensorView view("x", grid, {0, 255}, 1);
  ASSERT_TRUE(view.add(x, other).ok());
  EXPECT_NEAR(view.sqnr_db(), 10 * std::log10(power / noise), 1e-4);
  EXPECT_NEAR(*view.sqnr_alone_db(), 10 * std::log10(power / alone), 1e-4);
  EXPECT_NEAR(view.max_error(), largest, 1e-5);
  EXPECT_EQ(view.saturated(), static_cast<double>(beyond) / static_cast<double>(x.count()));
  EXPECT_GT(beyond, 0);
  EXPECT_EQ(view.elements(), x.count());
  EXPECT_EQ(view.bits(), 8);
  EXPECT_NEAR(*view.grid_used(), 1, 1e-9);
  ASSERT_EQ(view.channels().size(), 5U);
  for (int64_t c = 0; c < 5; ++c) {
    double most = 0;
    for (int64_t i = 0; i < x.count(); ++i)
      if (i / 12 % 5 == c) most = std::max(most, std::fabs(x.at(i)));
    EXPECT_EQ(view.channels()[static_cast<size_t>(c)], most);
  }
}

TEST(TensorView, BatchesDoNotShow) {
  const Tensor x = test::random_tensor({6, 7}, 2), y = test::random_tensor({6, 7}, 3);
  TensorView all("x", std::nullopt, {0, 0}, -1), parts("x", std::nullopt, {0, 0}, -1);
  ASSERT_TRUE(all.add(x, y).ok());
  for (size_t begin : {0U, 1U, 4U}) {
    const size_t end = begin == 0 ? 1 : begin == 1 ? 4 : 6;
    const auto rows = [&](const Tensor& t) {
      return Tensor::of<float>({static_cast<int64_t>(end - begin), 7},
                               t.data<float>().subspan(begin * 7, (end - begin) * 7));
    };
    ASSERT_TRUE(parts.add(rows(x), rows(y)).ok());
  }
  EXPECT_EQ(all.sqnr_db(), parts.sqnr_db());
  EXPECT_EQ(all.cosine(), parts.cosine());
  EXPECT_EQ(all.channels(), parts.channels());
  EXPECT_EQ(all.sqnr_alone_db(), std::nullopt);
}

TEST(TensorView, LeavesOutWhatIsMaskedAndWhatIsNoNumber) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 900, -inf, 4, 5});
  const Tensor y = Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 0, 0, 4, 6});
  const Tensor mask = Tensor::of<int64_t>({2, 3}, std::vector<int64_t>{1, 1, 0, 1, 1, 1});
  TensorView view("x", std::nullopt, {0, 0}, -1);
  ASSERT_TRUE(view.add(x, y, &mask).ok());
  EXPECT_EQ(view.elements(), 4);
  EXPECT_EQ(view.left_out(), 2);
  EXPECT_NEAR(view.sqnr_db(), 10 * std::log10((1 + 4 + 16 + 25) / 1.0), 1e-9);
  EXPECT_EQ(view.highest(), 5);
  EXPECT_FALSE(view.add(x, test::random_tensor({3, 2}, 1)).ok());
}

TEST(TensorView, ScalesOfChannelsAreTheirOwn) {
  const Tensor w = test::random_tensor({3, 4}, 5, -1, 1);
  qdq::Grid grid = qdq::Grid::int8(0.01, DType::kFloat32);
  const std::vector<float> scales = {0.01F, 0.02F, 0.05F, 0.1F};
  grid.scale = Tensor::of<float>({4}, std::span<const float>(scales));
  grid.zero = Tensor::zeros(DType::kInt8, {4}).value();
  grid.axis = grid.axis_written = 1;
  std::vector<int8_t> codes;
  double power = 0, noise = 0;
  for (int64_t i = 0; i < w.count(); ++i) {
    const double s = static_cast<double>(scales[static_cast<size_t>(i % 4)]);
    codes.push_back(static_cast<int8_t>(std::clamp(std::nearbyint(w.at(i) / s), -127.0, 127.0)));
    power += w.at(i) * w.at(i);
    noise += std::pow(w.at(i) - codes.back() * s, 2);
  }
  TensorView view("w", grid, {-127, 127}, 1);
  ASSERT_TRUE(view.add(w, Tensor::of<int8_t>({3, 4}, std::span<const int8_t>(codes))).ok());
  EXPECT_NEAR(view.sqnr_db(), 10 * std::log10(power / noise), 1e-3);
  EXPECT_NEAR(*view.sqnr_alone_db(), view.sqnr_db(), 1e-3);
}

/// a and b are made in another order in each graph.
Graph two_ways(bool first) {
  const std::string a = "a = Relu(x)\n", b = "b = Neg(x)\n";
  return parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 3]\n" + (first ? a + b : b + a) +
                     "c = Add(a, b)\noutput c: f32[N, 3]\n")
      .value();
}

TEST(RunBeside, HandsOverEachPairOnce) {
  for (const bool crossed : {false, true}) {
    const Graph one = two_ways(true), two = two_ways(!crossed);
    std::vector<std::pair<ValueId, ValueId>> pairs;
    for (const char* name : {"x", "a", "b", "c", "a"})
      pairs.emplace_back(*one.find_value(name), *two.find_value(name));
    for (const ExecutorFactory& make : {ExecutorFactory{}, kNative}) {
      RunBeside runs = RunBeside::create(one, two, pairs, make).value();
      const Tensor x = test::random_tensor({4, 3}, 8);
      for (int again = 0; again < 50; ++again) {
        std::multiset<size_t> seen;
        ASSERT_TRUE(runs.run(std::vector<Tensor>{x},
                             [&](size_t pair, const Tensor& a, const Tensor& b) {
                               seen.insert(pair);
                               EXPECT_TRUE(a.identical(b));
                               EXPECT_EQ(a.at(0), pair == 0   ? x.at(0)
                                                  : pair == 2 ? -x.at(0)
                                                  : pair == 3 ? std::max(x.at(0), 0.0) - x.at(0)
                                                              : std::max(x.at(0), 0.0));
                               return ok_status();
                             })
                        .ok());
        EXPECT_EQ(seen, (std::multiset<size_t>{0, 1, 2, 3, 4}));
      }
    }
  }
}

TEST(RunBeside, AnErrorEndsBothRuns) {
  const Graph one = two_ways(true), two = two_ways(false);
  std::vector<std::pair<ValueId, ValueId>> pairs;
  for (const char* name : {"a", "b", "c"})
    pairs.emplace_back(*one.find_value(name), *two.find_value(name));
  RunBeside runs = RunBeside::create(one, two, pairs, kNative).value();
  const std::vector<Tensor> x{test::random_tensor({4, 3}, 8)};
  const Status failed = runs.run(x, [&](size_t pair, const Tensor&, const Tensor&) -> Status {
    return pair == 1 ? Status(error("no")) : ok_status();
  });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "no");
  CancelToken cancel;
  cancel.cancel();
  const Status stopped = runs.run(
      x, [](size_t, const Tensor&, const Tensor&) { return ok_status(); }, &cancel);
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
}

struct Case {
  std::string target;
  QuantizeOptions options;
};

std::vector<Case> forms() {
  std::vector<Case> out;
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10", "tensorrt-11"})
    out.push_back({target, {.target = target}});
  out.push_back({"octet per tensor", {.per_channel = false}});
  out.push_back({"octet 4 bits", {.weight_bits = 4, .activation_bits = 6}});
  out.push_back({"octet symmetric", {.symmetric = true}});
  out.push_back({"octet weight-only", {.mode = QuantMode::kWeightOnly}});
  out.push_back({"octet without conv2", {.exclude = {"conv2"}}});
  return out;
}

HeldBack some_examples(int64_t count, uint32_t seed = 900) {
  HeldBack out;
  for (int64_t i = 0; i < count; i += 8)
    out.batches.push_back(
        {{test::random_tensor({8, 1, 28, 28}, seed + static_cast<uint32_t>(i), -0.8F, 2)}, {}});
  out.examples = count;
  return out;
}

TEST(PlanOfFile, MakesTheFileAgain) {
  const Graph graph = test::cnn();
  const Graph prepared = prepare_for_quantization(graph).value();
  for (const Case& form : forms()) {
    SCOPED_TRACE(form.target);
    const QuantizationPlan plan =
        plan_quantization(
            graph, form.options.mode == QuantMode::kStatic ? test::cnn_data() : CalibrationSource{},
            form.options)
            .value();
    const Graph file = quantize(graph, plan).value();
    const auto pairs = pair_models(prepared, file);
    ASSERT_TRUE(pairs.ok()) << pairs.error().text();
    EXPECT_TRUE(pairs->unmatched.empty());
    for (const TensorPlan& tensor : plan.tensors) {
      const auto named = [&](const auto& pair) { return pair.value == tensor.value; };
      EXPECT_TRUE(std::any_of(pairs->values.begin(), pairs->values.end(), named) ||
                  std::any_of(pairs->weights.begin(), pairs->weights.end(), named))
          << tensor.value;
    }
    const auto placement = find_placement(form.options.target).value();
    const QuantizationPlan found = plan_of_file(prepared, *pairs, *placement);
    PlanTrials trials(prepared, *placement, {}, "");
    const Tensor x = test::random_tensor({8, 1, 28, 28}, 77, -0.8F, 2);
    const auto again = trials.applied(found);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_TRUE(test::run_reference(*again, x).identical(test::run_reference(file, x)));
  }
}

TEST(PairModels, RefusesWhatIsNotTheSameNetwork) {
  const Graph prepared = prepare_for_quantization(test::cnn()).value();
  const Graph other = test::with_weights(
      "graph g opset(\"\"=17)\ninput x: f32[N, 1, 28, 28]\nconst w: f32[784, 10] = ?\n"
      "f = Flatten(x)\ny = MatMul(f, w)\noutput y: f32[N, 10]\n");
  const auto plan = plan_quantization(other, test::random_source({8, 1, 28, 28}, 2), {}).value();
  const auto pairs = pair_models(prepared, quantize(other, plan).value());
  ASSERT_FALSE(pairs.ok());
  EXPECT_NE(pairs.error().text().find("not the same network"), std::string::npos)
      << pairs.error().text();
}

TEST(PairModels, AnOutputInFloatIsNotWhatItsReadersMakeOfIt) {
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[N, 8]
t = Erf(x)
const w: f32[8, 4] = ?
y = MatMul(t, w)
output t: f32[N, 8]
output y: f32[N, 4]
)");
  const Graph prepared = prepare_for_quantization(graph).value();
  const auto plan = plan_quantization(graph, test::random_source({4, 8}, 2), {}).value();
  const Graph file = quantize(graph, plan).value();
  const ModelPairs pairs = pair_models(prepared, file).value();
  std::vector<const ValuePair*> of_t;
  for (const ValuePair& pair : pairs.values)
    if (pair.value == "t") of_t.push_back(&pair);
  ASSERT_EQ(of_t.size(), 2U);
  EXPECT_TRUE(of_t[0]->grid && !of_t[0]->output);
  EXPECT_TRUE(!of_t[1]->grid && of_t[1]->output == size_t{0});
  EXPECT_EQ(of_t[1]->in_quantized, file.outputs()[0]);
}

/// What is found with a plan that was made worse.
struct Found {
  std::vector<std::pair<double, std::string>> ranking; ///< error alone, node
  Prescription first;
};

Found look_for(const Graph& graph,
               const QuantizationPlan& spoiled,
               const CalibrationSource& training) {
  const Graph prepared = prepare_for_quantization(graph).value();
  const auto placement = find_placement(spoiled.target).value();
  PlanTrials trials(prepared, *placement, kNative, "");
  HeldBack alone = some_examples(16);
  EXPECT_TRUE(trials.run_float(alone).ok());
  Found out;
  std::vector<QuantizedLayer> layers = layers_of(prepared, spoiled);
  std::map<std::string, QuantizedLayer> by_name;
  for (const QuantizedLayer& layer : layers) {
    const auto error = trials.error_of(with_layer_alone(prepared, spoiled, layer), alone);
    EXPECT_TRUE(error.ok()) << error.error().text();
    out.ranking.emplace_back(*error, layer.node);
    by_name[layer.node] = layer;
  }
  std::sort(out.ranking.rbegin(), out.ranking.rend());
  QuantizeOptions options;
  options.calibrator = Auto{};
  options.executor = kNative;
  std::vector<ObserveRequest> requests;
  for (const TensorPlan& tensor : spoiled.tensors)
    if (const auto id = prepared.find_value(tensor.value); id && prepared.constant(*id) == nullptr)
      requests.push_back({*id, tensor.scheme});
  HeldBack held;
  const Calibration seen = calibrate(prepared, requests, training, options, 24, &held).value();
  RemedySource source{trials, {}, {}, options, 24};
  for (const auto& [id, observation] : seen.values)
    source.ranges[prepared.value(id).name] = observation.choices;
  const double error = trials.error_of(spoiled, held).value();
  const QuantizedLayer& worst = by_name.at(out.ranking.front().second);
  out.first =
      prescribe(trials, remedies_for(source, spoiled, worst).value(), spoiled, error, held).value();
  return out;
}

TEST(Remedies, ASpoiledLayerIsNamedFirstWithWhatMendsIt) {
  const Graph graph = test::cnn();
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"}) {
    SCOPED_TRACE(target);
    const QuantizationPlan good =
        plan_quantization(graph, test::cnn_data(), {.target = target}).value();
    const Graph prepared = prepare_for_quantization(graph).value();
    const auto product =
        std::find_if(good.nodes.rbegin(), good.nodes.rend(),
                     [](const NodePlan& node) { return node.weight && node.op == "Conv"; });
    const Node& node = prepared.node(*prepared.find_node(product->node));

    QuantizationPlan wide = good; // codes of the weight for sixteen times its range
    for (TensorPlan& tensor : wide.tensors)
      if (tensor.value == prepared.value(node.input(1)).name)
        for (Range& range : tensor.ranges)
          range = {16 * range.lo, 16 * range.hi};
    Found found = look_for(graph, wide, test::cnn_data());
    EXPECT_EQ(found.ranking.front().second, product->node);
    ASSERT_TRUE(found.first.best);
    EXPECT_EQ(found.first.best->remedy.name, "weight-calibrator");
    EXPECT_GT(found.first.best->gain_db, 3);

    QuantizationPlan few = good;
    for (TensorPlan& tensor : few.tensors)
      if (tensor.value == prepared.value(node.input(1)).name) tensor.scheme.bits = 2;
    found = look_for(graph, few, test::cnn_data());
    EXPECT_EQ(found.ranking.front().second, product->node);
    ASSERT_TRUE(found.first.best);
    EXPECT_EQ(found.first.best->remedy.name, "more-bits");

    QuantizationPlan clipped = good; // the activation that the layer reads or makes
    const std::string value = product->inputs.empty() ? "" : prepared.value(node.input(0)).name;
    for (TensorPlan& tensor : clipped.tensors)
      if (tensor.value == value || tensor.algorithm == "same as " + value)
        tensor.ranges = {{tensor.ranges[0].lo / 16, tensor.ranges[0].hi / 16}};
    set_range(clipped, value, {0, good.tensor(value)->ranges[0].hi / 16}, "spoiled");
    found = look_for(graph, clipped, test::cnn_data());
    ASSERT_TRUE(found.first.best);
    EXPECT_GT(found.first.best->gain_db, 3);
  }
}

/// What a layer without weights makes is quantized by who reads it: the cure is there.
TEST(Remedies, AreChangesThatAPlanTakesInEveryFormat) {
  const Graph graph = test::cnn();
  const Graph prepared = prepare_for_quantization(graph).value();
  const auto placement = find_placement("octet").value();
  const PlanTrials trials(prepared, *placement, kNative, "");
  for (const std::string_view format :
       {"int2", "int4/16", "uint4", "fp8-e4m3fn/32", "fp8-e5m2", "mxfp8-e4m3", "mxfp4", "nvfp4"})
    for (const std::string_view activations : {"float", "int8", "int4"}) {
      SCOPED_TRACE(fmt::format("{} {}", format, activations));
      QuantizeOptions options;
      options.weights = parse_number_format(format).value();
      options.activations = parse_number_format(activations).value();
      const QuantizationPlan plan = plan_quantization(graph, test::cnn_data(), options).value();
      bool wider = false;
      for (const QuantizedLayer& layer : layers_of(prepared, plan)) {
        const auto remedies = remedies_for({trials, {}, {}, {}, 16}, plan, layer);
        ASSERT_TRUE(remedies.ok()) << remedies.error().text();
        for (const Remedy& remedy : *remedies) {
          const auto applied = trials.applied(remedy.change(plan).value());
          EXPECT_TRUE(applied.ok()) << remedy.words << ": " << applied.error().text();
          wider = wider || remedy.name == "more-bits";
        }
      }
      EXPECT_EQ(wider, format.find("int") != std::string_view::npos || activations == "int4");
    }
}

TEST(Remedies, ReadersStayInFloatWhereTheMakerAloneGainsNothing) {
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[N, 1, 28, 28]
const shape: i64[2] = [-1, 784]
const w: f32[784, 8] = ?
f = Reshape(x, shape) "flat"
a = MatMul(f, w) "first"
e = Erf(a) "before"
m = Erf(e) "curve"
const v: f32[8, 8] = ?
y = MatMul(m, v) "second"
output y: f32[N, 8]
)");
  QuantizationPlan spoiled = plan_quantization(graph, test::cnn_data()).value();
  ASSERT_NE(spoiled.tensor("m"), nullptr);
  set_range(spoiled, "m", {0, spoiled.tensor("m")->ranges[0].hi * 1000}, "spoiled");
  const Graph prepared = prepare_for_quantization(graph).value();
  const auto placement = find_placement(spoiled.target).value();
  // In the plan that is read off a file the codes are those of whoever makes the value.
  const Graph file = quantize(graph, spoiled).value();
  const QuantizationPlan plan =
      plan_of_file(prepared, pair_models(prepared, file).value(), *placement);
  PlanTrials trials(prepared, *placement, kNative, "");
  HeldBack held = some_examples(16);
  ASSERT_TRUE(trials.run_float(held).ok());
  const double error = trials.error_of(plan, held).value();
  const std::vector<QuantizedLayer> layers = layers_of(prepared, plan);
  const auto maker = std::find_if(layers.begin(), layers.end(), [](const QuantizedLayer& layer) {
    return layer.node == "curve";
  });
  ASSERT_NE(maker, layers.end());
  const RemedySource source{trials, {}, {}, {}, 16};
  const Prescription found =
      prescribe(trials, remedies_for(source, plan, *maker).value(), plan, error, held).value();
  ASSERT_TRUE(found.best);
  EXPECT_EQ(found.best->remedy.name, kReadersInFloat);
  EXPECT_NE(found.best->remedy.words.find("\"second\""), std::string::npos);
  EXPECT_GT(found.best->gain_db, 10);
}

TEST(Layers, EachTensorIsOneLayersUnlessItsReadersQuantizeIt) {
  const Graph graph = test::cnn();
  const Graph prepared = prepare_for_quantization(graph).value();
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"}) {
    SCOPED_TRACE(target);
    const QuantizationPlan plan =
        plan_quantization(graph, test::cnn_data(), {.target = target}).value();
    std::set<std::string> all;
    for (const QuantizedLayer& layer : layers_of(prepared, plan)) {
      for (const std::string& value : layer.activations)
        EXPECT_TRUE(all.insert(value).second) << value;
      for (const std::string& value : layer.weights)
        EXPECT_TRUE(all.insert(value).second) << value;
    }
    for (const TensorPlan& tensor : plan.tensors)
      EXPECT_TRUE(all.contains(tensor.value)) << tensor.value;
  }
}

TEST(Layers, AloneAndInFloatAreWhatTheySay) {
  const Graph graph = test::cnn();
  const Graph prepared = prepare_for_quantization(graph).value();
  const QuantizationPlan plan = plan_quantization(graph, test::cnn_data(), {}).value();
  const auto placement = find_placement("octet").value();
  PlanTrials trials(prepared, *placement, {}, "");
  const std::vector<QuantizedLayer> layers = layers_of(prepared, plan);
  ASSERT_GE(layers.size(), 3U);
  QuantizationPlan none = plan;
  for (const QuantizedLayer& layer : layers) {
    const Graph alone = trials.applied(with_layer_alone(prepared, plan, layer)).value();
    size_t quantizers = 0;
    for (const NodeId id : alone.nodes())
      quantizers += alone.node(id).is("QuantizeLinear") ? 1 : 0;
    EXPECT_EQ(quantizers, layer.activations.size()) << layer.node;
    none = with_layer_in_float(prepared, none, layer);
  }
  for (const NodePlan& node : none.nodes)
    EXPECT_FALSE(node.weight) << node.node;
}

/// A layer's steps go with its codes, and those that were fitted behind them no longer ask for them.
TEST(Layers, TakeTheirStepsWithThem) {
  const Graph graph = test::cnn();
  const Graph prepared = prepare_for_quantization(graph).value();
  const auto data = open_dataset("generated", Split::kTrain).value();
  const QuantizationPlan plan =
      plan_quantization(graph, *data, {.weight_bits = 4, .steps = {"correct-bias"}, .samples = 32})
          .value();
  ASSERT_GE(plan.steps.size(), 3U);
  for (const QuantizedLayer& layer : layers_of(prepared, plan)) {
    SCOPED_TRACE(layer.node);
    for (const QuantizationPlan& changed :
         {with_layer_in_float(prepared, plan, layer), with_layer_alone(prepared, plan, layer)}) {
      EXPECT_LT(changed.steps.size(), plan.steps.size() + (layer.weights.empty() ? 1 : 0));
      const auto written = quantize(graph, changed);
      EXPECT_TRUE(written.ok()) << written.error().text();
    }
  }
}

} // namespace
} // namespace octet
