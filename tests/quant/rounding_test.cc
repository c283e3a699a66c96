// SPDX-License-Identifier: Apache-2.0
// Codes that are chosen for a layer's output: Gram matrices against convolutions, the choice
// against enumeration and against the update of an inverse matrix, plans against nearest codes.
#include <cmath>
#include <filesystem>
#include <numeric>

#include "core/format.h"
#include "ops/infer.h"
#include "quant/gram/gram.h"
#include "quant/gram/rounding.h"
#include "quant/plan.h"
#include "quant/prepare.h"
#include "quant/support.h"
#include "targets/tables.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace octet {
namespace {

using test::calibration;
using test::layer_output;
using test::planned;
using test::random_tensor;
using test::run_reference;
using test::with_weights;

bool same_sums(const Gram& a, const Gram& b) {
  const auto left = a.state(), right = b.state();
  for (size_t i = 0; i < left.size(); ++i)
    if (!left[i].second.identical(right[i].second)) return false;
  return true;
}

Tensor examples(const Tensor& of, int64_t begin, int64_t end) {
  Shape shape = of.shape();
  const int64_t size = of.count() / shape[0];
  shape[0] = end - begin;
  return Tensor::of<float>(shape, of.data<float>().subspan(static_cast<size_t>(begin * size),
                                                           static_cast<size_t>(shape[0] * size)));
}

/// w^T G w of one output channel over both halves is the sum of squares of what it makes.
void expect_squares_of_outputs(const std::string& layer, const Shape& input, const Shape& weight) {
  SCOPED_TRACE(layer);
  std::string dims;
  for (const int64_t d : weight)
    dims += (dims.empty() ? "" : ", ") + std::to_string(d);
  const Graph graph =
      with_weights("graph g opset(\"\"=17)\ninput x: f32" + to_string(input) + "\nconst w: f32[" +
                   dims + "] = ?\ny = " + layer + " \"layer\"\noutput y: f32[*]\n");
  const Node& node = graph.node(*graph.find_node("layer"));
  const LayerRows rows = LayerRows::of(graph, node).value();
  SerialFor serial;
  ThreadPool pool(3);
  Gram one(rows, serial), other(rows, pool);
  const Tensor x = random_tensor(input, 5);
  ASSERT_TRUE(one.observe(x, nullptr).ok());
  ASSERT_TRUE(other.observe(examples(x, 0, 1), nullptr).ok());
  ASSERT_TRUE(other.observe(examples(x, 1, input[0]), nullptr).ok());
  EXPECT_TRUE(same_sums(one, other));
  EXPECT_EQ(one.bytes(), Gram::bytes_for(rows));
  const Tensor y = run_reference(graph, x);
  const bool conv = node.is("Conv");
  const int64_t outputs = conv ? y.dim(1) : y.dim(y.rank() - 1);
  const int64_t inner = conv ? y.count() / y.dim(0) / outputs : 1;
  std::vector<double> squares(static_cast<size_t>(outputs));
  for (int64_t i = 0; i < y.count(); ++i)
    squares[static_cast<size_t>(i / inner % outputs)] += y.at(i) * y.at(i);
  const Tensor& w = *graph.constant(node.input(1));
  const int64_t columns = rows.columns();
  const bool column_major = !conv && node.attr_int("transB", 0) == 0;
  for (int64_t m = 0; m < outputs; ++m) {
    const int64_t group = m / (outputs / rows.groups());
    double sum = 0;
    for (const Gram::Part part : {Gram::Part::kFitted, Gram::Part::kJudged}) {
      const std::vector<double> g = one.matrix(part, group);
      for (int64_t r = 0; r < columns; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          const auto at = [&](int64_t k) {
            return w.at(column_major ? k * outputs + m : m * columns + k);
          };
          sum += g[static_cast<size_t>(r * columns + c)] * at(r) * at(c);
        }
    }
    EXPECT_NEAR(sum, squares[static_cast<size_t>(m)], 1e-5 * squares[static_cast<size_t>(m)]) << m;
  }
}

TEST(Gram, HoldsTheSquaresOfAnyOutput) {
  expect_squares_of_outputs("Gemm(x, w)", {9, 5}, {5, 3});
  expect_squares_of_outputs("Gemm(x, w) {transB=1}", {9, 5}, {3, 5});
  expect_squares_of_outputs("MatMul(x, w)", {6, 7, 17}, {17, 2});
  expect_squares_of_outputs("Conv(x, w) {pads=[1, 1, 1, 1]}", {5, 2, 6, 7}, {3, 2, 3, 3});
  expect_squares_of_outputs("Conv(x, w) {pads=[2, 0, 1, 3], strides=[2, 1], dilations=[1, 2], "
                            "group=2}",
                            {5, 4, 9, 8}, {6, 2, 3, 2});
  expect_squares_of_outputs("Conv(x, w) {group=6, strides=[2, 2], auto_pad=\"SAME_LOWER\"}",
                            {4, 6, 7, 5}, {6, 1, 3, 3});
  expect_squares_of_outputs("Conv(x, w) {pads=[1, 2]}", {7, 3, 11}, {2, 3, 4});
  expect_squares_of_outputs("Conv(x, w)", {4, 2, 3, 4, 5}, {2, 2, 2, 2, 2});
}

TEST(Gram, TakesAtMostSoManyPlacesAndNoPadding) {
  const Graph conv = with_weights(R"(graph g opset(""=17)
input x: f32[N, 1, 40, 40]
const w: f32[1, 1, 1, 1] = ?
y = Conv(x, w) "layer"
output y: f32[*]
)");
  SerialFor serial;
  Gram many(LayerRows::of(conv, conv.node(*conv.find_node("layer"))).value(), serial);
  ASSERT_TRUE(many.observe(random_tensor({8, 1, 40, 40}, 1), nullptr).ok());
  const int64_t seen = many.row_count(Gram::Part::kFitted) + many.row_count(Gram::Part::kJudged);
  EXPECT_LE(seen, 8 * LayerRows::kMostPlaces);
  EXPECT_GE(seen, 8 * (LayerRows::kMostPlaces / 2));
  const Graph product = with_weights(R"(graph g opset(""=17)
input x: f32[N, L, 2]
const w: f32[2, 1] = ?
y = MatMul(x, w) "layer"
output y: f32[*]
)");
  Gram masked(LayerRows::of(product, product.node(*product.find_node("layer"))).value(), serial);
  const Tensor x = Tensor::of<float>({1, 3, 2}, {1, 2, NAN, 5, 3, 4});
  EXPECT_FALSE(masked.observe(x, nullptr).ok());
  const Tensor mask = Tensor::of<int64_t>({1, 3}, {1, 0, 1});
  ASSERT_TRUE(masked.observe(x, &mask).ok());
  EXPECT_EQ(masked.row_count(Gram::Part::kFitted), 2);
  EXPECT_EQ(masked.matrix(Gram::Part::kFitted, 0), (std::vector<double>{10, 14, 14, 20}));
  EXPECT_EQ(masked.matrix(Gram::Part::kJudged, 0), masked.matrix(Gram::Part::kFitted, 0));
  EXPECT_FALSE(masked.observe(random_tensor({1, 3, 3}, 1), nullptr).ok());
  EXPECT_FALSE(masked.merge(masked).ok());
}

RoundingProblem random_problem(int64_t outputs, int64_t columns, int bits, uint32_t seed) {
  RoundingProblem out{.outputs = outputs, .columns = columns, .weights = {}, .steps = {}};
  const double highest = std::exp2(bits - 1) - 1;
  out.grid = CodeGrid::whole(-highest, highest);
  const Tensor w = random_tensor({outputs, columns}, seed);
  out.weights = w.to_doubles().value();
  for (int64_t m = 0; m < outputs; ++m) {
    double top = 0;
    for (int64_t k = 0; k < columns; ++k)
      top = std::max(top, std::fabs(w.at(m * columns + k)));
    out.steps.push_back(top / highest);
  }
  return out;
}

/// X^T X of rows that depend on one another.
std::vector<double> random_gram(int64_t columns, int64_t rows, uint32_t seed) {
  const Tensor base = random_tensor({rows, columns}, seed);
  std::vector<double> x(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      x[static_cast<size_t>(r * columns + c)] =
          base.at(r * columns + c) + 1.5 * base.at(r * columns + c / 2);
  std::vector<double> out(static_cast<size_t>(columns * columns));
  for (int64_t a = 0; a < columns; ++a)
    for (int64_t b = 0; b < columns; ++b)
      for (int64_t r = 0; r < rows; ++r)
        out[static_cast<size_t>(a * columns + b)] +=
            x[static_cast<size_t>(r * columns + a)] * x[static_cast<size_t>(r * columns + b)];
  return out;
}

double
error_of(const RoundingProblem& p, std::span<const double> codes, std::span<const double> gram) {
  double sum = 0;
  for (int64_t m = 0; m < p.outputs; ++m)
    for (int64_t a = 0; a < p.columns; ++a)
      for (int64_t b = 0; b < p.columns; ++b) {
        const auto d = [&](int64_t k) {
          const auto at = static_cast<size_t>(m * p.columns + k);
          return codes[at] * p.step(m, k) - p.weights[at];
        };
        sum += d(a) * gram[static_cast<size_t>(a * p.columns + b)] * d(b);
      }
  return sum;
}

/// The best of all codes beside the weights: outputs depend on no others.
double best_error(const RoundingProblem& p, std::span<const double> gram) {
  double sum = 0;
  for (int64_t m = 0; m < p.outputs; ++m) {
    RoundingProblem one{.outputs = 1, .columns = p.columns, .weights = {}, .steps = {}};
    one.grid = p.grid;
    one.steps = {p.steps[static_cast<size_t>(m)]};
    for (int64_t k = 0; k < p.columns; ++k)
      one.weights.push_back(p.weights[static_cast<size_t>(m * p.columns + k)]);
    double best = INFINITY;
    for (int64_t choice = 0; choice < (1 << p.columns); ++choice) {
      std::vector<double> codes;
      for (int64_t k = 0; k < p.columns; ++k)
        codes.push_back(std::clamp(std::floor(one.weights[static_cast<size_t>(k)] / one.steps[0]) +
                                       static_cast<double>(choice >> k & 1),
                                   p.grid.lowest(), p.grid.highest()));
      best = std::min(best, error_of(one, codes, gram));
    }
    sum += best;
  }
  return sum;
}

TEST(Rounding, OfTinyWeightsIsTheBestThereIs) {
  SerialFor serial;
  int best = 0;
  double learned = 0, enumerated = 0;
  constexpr int kDraws = 60;
  for (uint32_t seed = 0; seed < kDraws; ++seed) {
    const RoundingProblem p = random_problem(2, 3, 2, seed);
    const std::vector<double> gram = random_gram(3, 8, seed + 1000);
    const double least = best_error(p, gram);
    const Codes2d nearest = nearest_codes(p);
    const Codes2d codes = adaround_codes(p, gram, serial);
    const double error = error_of(p, codes, gram);
    EXPECT_NEAR(output_error(p, codes, gram, serial), error, 1e-9 * (1 + error));
    EXPECT_GE(error, least * (1 - 1e-9)) << seed;
    EXPECT_LE(error, error_of(p, nearest, gram) * (1 + 1e-9)) << seed;
    learned += error;
    enumerated += least;
    best += error <= least * (1 + 1e-9) ? 1 : 0;
    Codes2d descended = nearest;
    descend(p, gram, descended, serial);
    EXPECT_LE(error_of(p, descended, gram), error_of(p, nearest, gram) * (1 + 1e-9)) << seed;
  }
  EXPECT_GE(best, kDraws * 9 / 10);
  EXPECT_LE(learned, 1.02 * enumerated);
}

/// GPTQ as its equations say it, by the inverse itself, which is updated for each column.
Codes2d literal_gptq(const RoundingProblem& p, std::vector<double> h) {
  const int64_t n = p.columns;
  const auto at = [n](int64_t r, int64_t c) { return static_cast<size_t>(r * n + c); };
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return h[at(a, a)] > h[at(b, b)]; });
  std::vector<double> inverse(h.size()); // by Gauss and Jordan
  for (int64_t i = 0; i < n; ++i)
    inverse[at(i, i)] = 1;
  for (int64_t i = 0; i < n; ++i) {
    const double pivot = h[at(i, i)];
    for (int64_t c = 0; c < n; ++c) {
      h[at(i, c)] /= pivot;
      inverse[at(i, c)] /= pivot;
    }
    for (int64_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double factor = h[at(r, i)];
      for (int64_t c = 0; c < n; ++c) {
        h[at(r, c)] -= factor * h[at(i, c)];
        inverse[at(r, c)] -= factor * inverse[at(i, c)];
      }
    }
  }
  Codes2d out(p.weights.size());
  std::vector<double> w = p.weights;
  for (const int64_t j : order) {
    const double pivot = inverse[at(j, j)];
    for (int64_t m = 0; m < p.outputs; ++m) {
      const double code = p.grid.nearest(w[at(m, j)] / p.step(m, j));
      out[at(m, j)] = code;
      const double error = (w[at(m, j)] - code * p.step(m, j)) / pivot;
      for (int64_t k = 0; k < n; ++k)
        if (k != j) w[at(m, k)] -= error * inverse[at(j, k)];
    }
    std::vector<double> row(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k)
      row[static_cast<size_t>(k)] = inverse[at(j, k)];
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < n; ++c)
        inverse[at(r, c)] -= row[static_cast<size_t>(r)] * row[static_cast<size_t>(c)] / pivot;
  }
  return out;
}

TEST(Rounding, GptqIsWhatItsEquationsSay) {
  SerialFor serial;
  ThreadPool pool(3);
  for (const int bits : {2, 4, 8}) {
    const RoundingProblem p = random_problem(13, 21, bits, static_cast<uint32_t>(bits));
    const std::vector<double> gram =
        damped(random_gram(21, 60, static_cast<uint32_t>(bits) + 7), 21, 0.01);
    const Codes2d codes = gptq_codes(p, gram, serial);
    EXPECT_EQ(codes, literal_gptq(p, gram)) << bits;
    EXPECT_EQ(codes, gptq_codes(p, gram, pool)) << bits;
    EXPECT_LT(error_of(p, codes, gram), error_of(p, nearest_codes(p), gram)) << bits;
  }
}

TEST(Rounding, LearnsTheSameWithAnyThreads) {
  SerialFor serial;
  ThreadPool pool(3);
  const RoundingProblem p = random_problem(19, 37, 4, 3);
  const std::vector<double> gram = random_gram(37, 200, 4);
  const Codes2d codes = adaround_codes(p, gram, serial);
  EXPECT_EQ(codes, adaround_codes(p, gram, pool));
  EXPECT_LT(error_of(p, codes, gram), 0.7 * error_of(p, nearest_codes(p), gram));
  for (size_t i = 0; i < codes.size(); ++i) {
    const double scaled = p.weights[i] / p.steps[i / 37];
    EXPECT_LE(std::fabs(codes[i] - scaled), 1 + 1e-9) << i;
  }
}

Graph small_network() {
  return with_weights(R"(graph g opset(""=17)
input x: f32[N, 3, 8, 8]
const a: f32[8, 3, 3, 3] = ?
const ab: f32[8] = ?
const d: f32[8, 1, 3, 3] = ?
const p: f32[12, 4, 1, 1] = ?
const f: f32[12, 5] = ?
const fb: f32[5] = ?
b = AveragePool(x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} "blur"
c = Conv(b, a, ab) {pads=[1, 1, 1, 1]} "first"
r = Relu(c) "relu"
w = Conv(r, d) {group=8, pads=[1, 1, 1, 1], strides=[2, 2]} "depthwise"
q = Conv(w, p) {group=2} "grouped"
s = Relu(q) "relu2"
m = GlobalAveragePool(s) "pool"
t = Flatten(m) "flatten"
y = Gemm(t, f, fb) "last"
output y: f32[N, 5]
)");
}

/// What feed-forward layers and projections of encoders are made of.
Graph encoder_like() {
  return with_weights(R"(graph g opset(""=17)
input x: f32[N, L, 16]
const gain: f32[16] = ?
const shift: f32[16] = ?
const wq: f32[16, 16] = ?
const wk: f32[16, 16] = ?
const w1: f32[16, 48] = ?
const b1: f32[48] = ?
const w2: f32[48, 16] = ?
n = LayerNormalization(x, gain, shift) "norm"
q = MatMul(n, wq) "query"
k = MatMul(n, wk) "key"
s = Sigmoid(k) "gate"
g = Mul(q, s) "gated"
h = MatMul(g, w1) "up"
hb = Add(h, b1) "up_bias"
e = Relu(hb) "relu"
y = MatMul(e, w2) "down"
output y: f32[N, L, 16]
)");
}

const RoundedWeight& numbers_of(const PlanStep& step) {
  return std::holds_alternative<Gptq>(step.kind)
             ? static_cast<const RoundedWeight&>(std::get<Gptq>(step.kind))
             : std::get<AdaRound>(step.kind);
}

Tensor rounded_weights(const Graph& prepared,
                       const QuantizationPlan& plan,
                       const PlanStep* step,
                       const std::string& layer) {
  Graph graph = prepared;
  if (step != nullptr) {
    EXPECT_TRUE(apply_steps(graph, std::span(step, 1), StepStage::kWeights).ok());
  }
  const ValueId w = graph.node(*graph.find_node(layer)).input(1);
  const TensorPlan& tensor = *plan.tensor(graph.value(w).name);
  // The codes by arithmetic of the test: nearest on the plan's grid.
  const Tensor& now = *graph.constant(w);
  std::vector<float> values = now.to_floats().value();
  int64_t inner = 1;
  for (int64_t i = tensor.axis.value_or(now.rank() - 1) + 1; i < now.rank(); ++i)
    inner *= now.dim(i);
  const double top = std::exp2(tensor.scheme.bits - 1) - 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = tensor.axis ? i / static_cast<size_t>(inner) % tensor.ranges.size() : 0;
    const Range& r = tensor.ranges[channel];
    const double scale = std::max(r.hi / top, -r.lo / (top + 1));
    const double code =
        std::clamp(std::nearbyint(static_cast<double>(values[i]) / scale), -top - 1, top);
    values[i] = static_cast<float>(code * scale);
  }
  return Tensor::of<float>(now.shape(), std::span<const float>(values));
}

void expect_every_layer_better(const Graph& graph,
                               const Shape& shape,
                               const char* algorithm,
                               const QuantizeOptions& options,
                               size_t layers) {
  SCOPED_TRACE(algorithm);
  QuantizeOptions with = options;
  with.steps = {algorithm};
  const QuantizationPlan plan = planned(graph, calibration(shape, 12), with);
  ASSERT_EQ(plan.steps.size(), layers);
  const Graph prepared = prepare_for_quantization(graph).value();
  Shape many = shape;
  many[0] *= 8;
  const Tensor x = random_tensor(many, 4711); // not among the calibration data
  for (const PlanStep& step : plan.steps) {
    SCOPED_TRACE(step.id);
    const std::string& layer = numbers_of(step).weight.node;
    const Tensor wanted = layer_output(prepared, layer, std::nullopt, x);
    const Tensor nearest =
        layer_output(prepared, layer, rounded_weights(prepared, plan, nullptr, layer), x);
    const Tensor chosen =
        layer_output(prepared, layer, rounded_weights(prepared, plan, &step, layer), x);
    EXPECT_GT(test::sqnr(wanted, chosen), test::sqnr(wanted, nearest)) << step.why;
    EXPECT_LT(step.after, step.before);
  }
}

TEST(RoundingSteps, EveryLayerErrsLessOnOtherData) {
  for (const char* algorithm : {"adaround", "gptq"}) {
    expect_every_layer_better(small_network(), {16, 3, 8, 8}, algorithm,
                              {.weight_bits = 4, .steps = {}}, 4);
    // Of one layer the nearest codes are the best.
    expect_every_layer_better(small_network(), {16, 3, 8, 8}, algorithm,
                              {.weight_bits = 3, .per_channel = false, .steps = {}}, 3);
    expect_every_layer_better(encoder_like(), {16, 12, 16}, algorithm,
                              {.weight_bits = 4, .steps = {}}, 4);
  }
}

TEST(RoundingSteps, ThePlanGivesTheSameFileWithoutData) {
  const Graph graph = small_network();
  for (const char* algorithm : {"adaround", "gptq"}) {
    SCOPED_TRACE(algorithm);
    const QuantizationPlan plan = planned(graph, calibration({16, 3, 8, 8}, 4),
                                          {.weight_bits = 4, .steps = {algorithm, "correct-bias"}});
    const Graph file = quantize(graph, plan).value();
    const std::string folder =
        testing::TempDir() + "octet-rounding-" + algorithm + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    ASSERT_TRUE(save_plan(plan, folder + "/plan.json", false).ok());
    const QuantizationPlan back = load_plan(folder + "/plan.json").value();
    EXPECT_EQ(back.to_json(), plan.to_json());
    EXPECT_EQ(QuantizationPlan::from_json(plan.to_json()).value().to_json(), plan.to_json());
    EXPECT_EQ(quantize(graph, back).value().content_hash(), file.content_hash());
    std::filesystem::remove_all(folder);
    // The codes in the file are those of the step.
    const PlanStep& first = plan.steps.front();
    EXPECT_EQ(first.id, std::string(algorithm) + "/first");
    EXPECT_EQ(stage(first.kind), StepStage::kWeights);
    const Tensor* stored = nullptr;
    for (const ValueId id : file.constants())
      if (file.value(id).name == "a_quantized") stored = &file.value(id).constant;
    ASSERT_NE(stored, nullptr);
    for (int64_t i = 0; i < stored->count(); ++i)
      EXPECT_EQ(stored->at(i), numbers_of(first).codes.at(i)) << i;
    // Biases were corrected behind it, and leaving it out takes them along.
    QuantizationPlan fewer = plan;
    const auto gone = exclude_steps(fewer, {"*/first"});
    ASSERT_TRUE(gone.ok()) << gone.error().text();
    EXPECT_TRUE(quantize(graph, fewer).ok());
    EXPECT_LT(fewer.steps.size(), plan.steps.size());
  }
}

TEST(RoundingSteps, DependOnNeitherThreadsNorBatches) {
  const Graph graph = encoder_like();
  const auto steps_with = [&](int threads, int64_t batch) {
    const Tensor all = random_tensor({48, 6, 16}, 3);
    const OpenCalibration open = [=]() -> Result<CalibrationSource> {
      auto next = std::make_shared<int64_t>(0);
      return CalibrationSource([=]() -> Result<std::optional<std::vector<Tensor>>> {
        if (*next >= 48) return std::optional<std::vector<Tensor>>();
        const int64_t begin = std::exchange(*next, *next + batch);
        return std::optional(std::vector<Tensor>{examples(all, begin, begin + batch)});
      });
    };
    return planned(graph, open,
                   {.weight_bits = 4, .steps = {"adaround", "gptq"}, .threads = threads})
        .to_json();
  };
  const std::string one = steps_with(1, 48);
  EXPECT_EQ(steps_with(3, 48), one);
  EXPECT_EQ(steps_with(2, 3), one);
}

TEST(RoundingSteps, LayersHaveTheirOwnBitsAndAlgorithms) {
  const Graph graph = small_network();
  const QuantizationPlan plan = planned(graph, calibration({16, 3, 8, 8}, 12),
                                        {.weight_bits = 4,
                                         .layers = {{.pattern = "last", .weight_bits = 2}},
                                         .steps = {"adaround", "gptq"},
                                         .exclude_steps = {"adaround/grouped"}});
  std::vector<std::string> ids;
  for (const PlanStep& step : plan.steps) {
    ids.push_back(step.id);
    const double top = numbers_of(step).weight.node == "last" ? 1 : 7;
    const Tensor& codes = numbers_of(step).codes;
    double largest = 0;
    for (int64_t i = 0; i < codes.count(); ++i)
      largest = std::max({largest, codes.at(i), -codes.at(i) - 1});
    EXPECT_EQ(largest, top) << step.id;
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"adaround/first", "adaround/depthwise", "adaround/last",
                                           "gptq/grouped"}));
}

TEST(RoundingSteps, HelpWeightOnlyAndDynamicModels) {
  const Graph graph = encoder_like();
  const Tensor x = random_tensor({32, 12, 16}, 99);
  const Tensor y = run_reference(graph, x);
  for (const QuantMode mode : {QuantMode::kWeightOnly, QuantMode::kDynamic}) {
    SCOPED_TRACE(name(mode));
    const QuantizationPlan plain =
        planned(graph, calibration({16, 12, 16}, 8), {.mode = mode, .weight_bits = 4});
    const QuantizationPlan plan = planned(graph, calibration({16, 12, 16}, 8),
                                          {.mode = mode, .weight_bits = 4, .steps = {"gptq"}});
    EXPECT_EQ(plan.steps.size(), 4U);
    EXPECT_GT(test::sqnr(y, run_reference(quantize(graph, plan).value(), x)),
              test::sqnr(y, run_reference(quantize(graph, plain).value(), x)) + 1);
  }
}

TEST(RoundingSteps, EditedStepsAreChecked) {
  const Graph graph = small_network();
  const QuantizationPlan plan =
      planned(graph, calibration({16, 3, 8, 8}, 4), {.weight_bits = 4, .steps = {"gptq"}});
  const auto refused = [&](const std::function<void(Gptq&)>& edit) {
    QuantizationPlan edited = plan;
    edit(std::get<Gptq>(edited.steps.back().kind));
    const auto result = quantize(graph, edited);
    return result.ok() ? std::string() : result.error().text();
  };
  EXPECT_EQ(refused([](Gptq&) {}), "");
  EXPECT_NE(refused([](Gptq& s) { s.weight.node = "nobody"; }).find("nobody"), std::string::npos);
  EXPECT_NE(refused([](Gptq& s) { s.weight.node = "relu"; }).find("no weights"), std::string::npos);
  EXPECT_NE(refused([](Gptq& s) { s.weight.input = 0; }).find("input 1"), std::string::npos);
  EXPECT_NE(refused([](Gptq& s) { s.codes = Tensor::of<int8_t>({1}, {1}); }).find("60 elements"),
            std::string::npos);
  EXPECT_NE(refused([](Gptq& s) {
              s.scales = Tensor::of<float>({2}, {1, 1});
            }).find("5 outputs"),
            std::string::npos);
  EXPECT_NE(refused([](Gptq& s) { s.scales = Tensor::of<float>({1}, {0}); }).find("no scale"),
            std::string::npos);
  const std::string json = plan.to_json();
  const size_t at = json.find("\"codes\": [");
  ASSERT_NE(at, std::string::npos);
  for (const char* bad : {"\"codes\": [200, ", "\"codes\": [0.5, ", "\"codes\": [\"1\", "}) {
    std::string edited = json;
    edited.replace(at, 10, bad);
    const auto read = QuantizationPlan::from_json(edited);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_NE(read.error().text().find("codes of 8 bits"), std::string::npos);
  }
}

TEST(RoundingSteps, FewExamplesAndDeadInputsChangeNothingForTheWorse) {
  // Two examples, of which none is held back, and a channel that is always 0.
  Graph graph = encoder_like();
  const QuantizationPlan plan =
      planned(graph, calibration({1, 2, 16}, 2), {.weight_bits = 4, .steps = {"adaround"}});
  EXPECT_TRUE(quantize(graph, plan).ok());
  const Graph dead = with_weights(R"(graph g opset(""=17)
input x: f32[N, 4]
const zero: f32[4] = [0, 0, 0, 0]
const w: f32[4, 3] = ?
z = Mul(x, zero) "nothing"
y = MatMul(z, w) "layer"
output y: f32[N, 3]
)");
  for (const char* algorithm : {"adaround", "gptq"})
    EXPECT_TRUE(planned(dead, calibration({8, 4}, 2), {.weight_bits = 4, .steps = {algorithm}})
                    .steps.empty());
}

} // namespace
} // namespace octet
