// SPDX-License-Identifier: Apache-2.0
// Codes that are chosen in blocks and on the grids of floating-point formats: grids against
// enumeration, choices against the best there is, files against nearest codes on other data.
#include <cmath>
#include <limits>

#include "core/codec.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "quant/gram/rounding.h"
#include "quant/plan.h"
#include "quant/prepare.h"
#include "quant/scheme.h"
#include "quant/support.h"
#include "targets/tables.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::calibration;
using test::layer_output;
using test::planned;
using test::random_tensor;
using test::run_reference;
using test::with_weights;

constexpr const char* kBothAlgorithms[] = {"adaround", "gptq"};

Scheme scheme_named(const char* format) {
  Scheme like;
  like.narrow = true;
  return scheme_of(parse_number_format(format).value(), like);
}

TEST(CodeGrid, IsTheNearestOfAllNumbersAndItsNeighbours) {
  for (const char* format : {"int8", "int4", "int2", "uint4", "fp8-e4m3fn", "fp8-e4m3fnuz",
                             "fp8-e5m2", "fp8-e5m2fnuz", "mxfp4"}) {
    SCOPED_TRACE(format);
    const Scheme scheme = scheme_named(format);
    const int32_t zero = parameters_for(scheme, Range{-1, 1}).zero_point;
    const CodeGrid grid = CodeGrid::of(scheme, zero);
    std::vector<double> numbers;
    if (is_integer(scheme.type)) {
      for (double q = codes(scheme).lowest; q <= codes(scheme).highest; ++q)
        numbers.push_back(q - zero);
    } else {
      const FloatFormat& type = *float_format(scheme.type);
      for (uint32_t code = 0; code < (1U << static_cast<uint32_t>(type.width())); ++code)
        if (std::isfinite(decode(type, code))) numbers.push_back(decode(type, code));
    }
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(grid.lowest(), numbers.front());
    EXPECT_EQ(grid.highest(), numbers.back());
    const Tensor draws = random_tensor({2000}, 3, -1.3F, 1.3F);
    std::vector<double> tried = numbers;
    for (int64_t i = 0; i < draws.count(); ++i)
      tried.push_back(draws.at(i) * (i % 2 == 0 ? numbers.back() : numbers.back() / 64));
    for (const double x : tried) {
      double distance = std::numeric_limits<double>::infinity();
      for (const double number : numbers)
        distance = std::min(distance, std::fabs(x - number));
      const double nearest = grid.nearest(x);
      EXPECT_TRUE(std::binary_search(numbers.begin(), numbers.end(), nearest)) << x;
      EXPECT_EQ(std::fabs(x - nearest), distance) << x;
      const CodeGrid::Sides sides = grid.sides(x);
      if (x < numbers.front() || x >= numbers.back()) {
        EXPECT_EQ(sides.below, sides.above) << x;
        EXPECT_EQ(sides.below, nearest) << x;
        continue;
      }
      EXPECT_LE(sides.below, x);
      EXPECT_GT(sides.above, x);
      for (const double number : numbers)
        EXPECT_FALSE(number > sides.below && number < sides.above) << x;
    }
  }
}

/// Two outputs of six columns in parts of different steps; a Gram matrix of rows that depend on
/// one another.
RoundingProblem problem_in_parts(const CodeGrid& grid, uint32_t seed) {
  RoundingProblem out{.outputs = 2, .columns = 6, .weights = {}, .steps = {}, .part = {}};
  out.grid = grid;
  out.weights = random_tensor({2, 6}, seed).to_doubles().value();
  out.part = {0, 1, 0, 1, 2, 2};
  const Tensor largest = random_tensor({6}, seed + 500, 0.5F, 1.0F);
  for (int64_t i = 0; i < 6; ++i)
    out.steps.push_back(largest.at(i) / grid.highest());
  return out;
}

std::vector<double> gram_in_parts(uint32_t seed) {
  const Tensor base = random_tensor({20, 6}, seed);
  std::vector<double> out(36);
  const auto x = [&](int64_t r, int64_t c) {
    return base.at(r * 6 + c) + 1.5 * base.at(r * 6 + c / 2);
  };
  for (int64_t a = 0; a < 6; ++a)
    for (int64_t b = 0; b < 6; ++b)
      for (int64_t r = 0; r < 20; ++r)
        out[static_cast<size_t>(a * 6 + b)] += x(r, a) * x(r, b);
  return out;
}

/// d^T G d of one output.
double error_in_parts(const RoundingProblem& p,
                      int64_t output,
                      std::span<const double> numbers,
                      std::span<const double> gram) {
  double sum = 0;
  const auto d = [&](int64_t k) {
    const double step = p.steps[static_cast<size_t>(output * 3 + p.part[static_cast<size_t>(k)])];
    return numbers[static_cast<size_t>(k)] * step - p.weights[static_cast<size_t>(output * 6 + k)];
  };
  for (int64_t a = 0; a < 6; ++a)
    for (int64_t b = 0; b < 6; ++b)
      sum += d(a) * gram[static_cast<size_t>(a * 6 + b)] * d(b);
  return sum;
}

TEST(RoundingInBlocks, IsNearTheBestOnEveryGrid) {
  SerialFor serial;
  for (const char* format : {"int4", "int2", "mxfp4", "fp8-e4m3fn"}) {
    SCOPED_TRACE(format);
    const CodeGrid grid = CodeGrid::of(scheme_named(format), 0);
    double nearest = 0, best = 0, learned = 0, compensated = 0;
    for (uint32_t seed = 0; seed < 40; ++seed) {
      const RoundingProblem p = problem_in_parts(grid, seed);
      const std::vector<double> gram = gram_in_parts(seed + 2000);
      const auto error_of = [&](std::span<const double> numbers) {
        return error_in_parts(p, 0, numbers.first(6), gram) +
               error_in_parts(p, 1, numbers.subspan(6), gram);
      };
      const Codes2d rounded = nearest_codes(p);
      EXPECT_NEAR(output_error(p, rounded, gram, serial), error_of(rounded),
                  1e-9 * (1 + error_of(rounded)));
      nearest += error_of(rounded);
      learned += error_of(adaround_codes(p, gram, serial));
      compensated += error_of(gptq_codes(p, damped(gram, 6, 0.01), serial));
      for (int64_t m = 0; m < 2; ++m) { // all ways to go down or up
        double least = std::numeric_limits<double>::infinity();
        for (int choice = 0; choice < 64; ++choice) {
          std::vector<double> numbers;
          for (int64_t k = 0; k < 6; ++k) {
            const CodeGrid::Sides sides =
                grid.sides(p.weights[static_cast<size_t>(m * 6 + k)] / p.step(m, k));
            numbers.push_back((choice >> k & 1) != 0 ? sides.above : sides.below);
          }
          least = std::min(least, error_in_parts(p, m, numbers, gram));
        }
        best += least;
      }
    }
    EXPECT_LE(learned, 1.1 * best);
    EXPECT_GE(learned, best * (1 - 1e-9));
    EXPECT_LT(compensated, nearest);
  }
}

/// Products whose sums do not divide into blocks, a convolution with groups and a kernel, and a
/// Gemm with its outputs in rows.
Graph layers_in_blocks() {
  return with_weights(R"(graph g opset(""=17)
input x: f32[N, 40, 6, 6]
const a: f32[24, 20, 3, 1] = ?
const ab: f32[24] = ?
const w1: f32[24, 72] = ?
const b1: f32[72] = ?
const w2: f32[8, 72] = ?
s = AveragePool(x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} "blur"
c = Conv(s, a, ab) {group=2, pads=[1, 0, 1, 0]} "conv"
r = Relu(c) "relu"
m = GlobalAveragePool(r) "pool"
t = Flatten(m) "flatten"
h = MatMul(t, w1) "first"
hb = Add(h, b1) "bias"
e = Relu(hb) "relu2"
y = Gemm(e, w2) {transB=1} "second"
output y: f32[N, 8]
)");
}

/// What the file makes of a layer's weights.
Tensor stored_weights(const Graph& file, const std::string& layer) {
  return constant_value(file, file.node(*file.find_node(layer)).input(1)).value();
}

QuantizeOptions in_format(const char* format, std::vector<std::string> steps, QuantMode mode) {
  QuantizeOptions out;
  out.mode = mode;
  out.weights = parse_number_format(format).value();
  out.steps = std::move(steps);
  return out;
}

TEST(RoundingInBlocks, EveryLayerErrsLessOnOtherData) {
  const Graph graph = layers_in_blocks();
  const Graph prepared = prepare_for_quantization(graph).value();
  const Tensor x = random_tensor({60, 40, 6, 6}, 4711);
  for (const char* format : {"int4/16", "int4/32", "uint4/16", "int2/16", "fp8-e4m3fn",
                             "fp8-e4m3fn/32", "mxfp4", "nvfp4", "int4"})
    for (const QuantMode mode : {QuantMode::kWeightOnly, QuantMode::kStatic}) {
      if (mode == QuantMode::kStatic && std::string_view(format) != "int4/32") continue;
      const Graph plain = quantize(graph, planned(graph, calibration({16, 40, 6, 6}, 12),
                                                  in_format(format, {}, mode)))
                              .value();
      for (const char* algorithm : kBothAlgorithms) {
        SCOPED_TRACE(std::string(format) + " " + algorithm + " " + std::string(name(mode)));
        const QuantizationPlan plan =
            planned(graph, calibration({16, 40, 6, 6}, 12), in_format(format, {algorithm}, mode));
        ASSERT_EQ(plan.steps.size(), 3U);
        const Graph file = quantize(graph, plan).value();
        for (const char* layer : {"conv", "first", "second"}) {
          const Tensor wanted = layer_output(prepared, layer, std::nullopt, x);
          EXPECT_GT(
              test::sqnr(wanted, layer_output(prepared, layer, stored_weights(file, layer), x)),
              test::sqnr(wanted, layer_output(prepared, layer, stored_weights(plain, layer), x)))
              << layer;
        }
      }
    }
}

const RoundedWeight& chosen(const PlanStep& step) {
  return std::holds_alternative<Gptq>(step.kind)
             ? static_cast<const RoundedWeight&>(std::get<Gptq>(step.kind))
             : std::get<AdaRound>(step.kind);
}

TEST(RoundingInBlocks, ThePlanGivesTheSameFileWithItsOwnCodes) {
  const Graph graph = layers_in_blocks();
  for (const char* format : {"int4/16", "uint4/32", "nvfp4", "fp8-e5m2"})
    for (const char* algorithm : kBothAlgorithms) {
      SCOPED_TRACE(std::string(format) + " " + algorithm);
      QuantizeOptions options = in_format(format, {algorithm}, QuantMode::kWeightOnly);
      const auto with_threads = [&](int threads) {
        options.threads = threads;
        return planned(graph, calibration({16, 40, 6, 6}, 4), options);
      };
      const QuantizationPlan plan = with_threads(1);
      EXPECT_EQ(with_threads(3).to_json(), plan.to_json());
      const QuantizationPlan back = QuantizationPlan::from_json(plan.to_json()).value();
      EXPECT_EQ(back.to_json(), plan.to_json());
      const Graph file = quantize(graph, back).value();
      EXPECT_EQ(file.content_hash(), quantize(graph, plan).value().content_hash());
      ASSERT_FALSE(plan.steps.empty());
      for (const PlanStep& step : plan.steps) {
        const RoundedWeight& numbers = chosen(step);
        const Node& node = file.node(*file.find_node(numbers.weight.node));
        const Node& dequantize = *file.producer(node.input(1));
        const Tensor& stored = *file.constant(dequantize.input(0));
        const Tensor& zero = *file.constant(dequantize.input(2));
        ASSERT_EQ(stored.count(), numbers.codes.count());
        for (int64_t i = 0; i < stored.count(); ++i) {
          const double bits = numbers.codes.at(i);
          const double number = numbers.type.empty()
                                    ? bits
                                    : decode(*float_format(stored.type()),
                                             static_cast<uint8_t>(static_cast<int8_t>(bits)));
          ASSERT_EQ(stored.at(i) - zero.at(0), number) << step.id << " " << i;
        }
      }
    }
}

TEST(RoundingInBlocks, EditedStepsAreChecked) {
  const Graph graph = layers_in_blocks();
  const QuantizationPlan plan = planned(graph, calibration({16, 40, 6, 6}, 4),
                                        in_format("nvfp4", {"gptq"}, QuantMode::kWeightOnly));
  const auto refused = [&](const std::function<void(Gptq&)>& edit) {
    QuantizationPlan edited = plan;
    edit(std::get<Gptq>(edited.steps.back().kind));
    const auto result = quantize(graph, edited);
    return result.ok() ? std::string() : result.error().text();
  };
  EXPECT_EQ(refused([](Gptq&) {}), "");
  EXPECT_NE(refused([](Gptq& s) { s.block = 32; }).find("of 3 blocks"), std::string::npos);
  EXPECT_NE(refused([](Gptq& s) { s.block = -1; }).find("blocks of -1"), std::string::npos);
  EXPECT_NE(refused([](Gptq& s) { s.type = "f4"; }).find("type \"f4\""), std::string::npos);
  EXPECT_NE(refused([](Gptq& s) { s.type = "f32"; }).find("type \"f32\""), std::string::npos);
  EXPECT_NE(refused([](Gptq& s) {
              s.codes = Tensor::of<int8_t>({576}, std::vector<int8_t>(576, 16));
            }).find("code 16 of element 0"),
            std::string::npos);
}

TEST(RoundingInBlocks, ShortensNoIntegerOfSixteenBits) {
  const Graph graph = layers_in_blocks();
  QuantizeOptions options = in_format("int16", {"gptq"}, QuantMode::kWeightOnly);
  const auto placement = find_placement(options.target).value();
  const auto refused = make_plan(graph, *placement, calibration({16, 40, 6, 6}, 2), options, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("weights in int16"), std::string::npos);
  // One layer of 16 bits among others keeps its nearest codes.
  options = in_format("int4/16", {"gptq"}, QuantMode::kWeightOnly);
  LayerFormat layer{.pattern = "first"};
  layer.weights = parse_number_format("int16").value();
  options.layers = {layer};
  const QuantizationPlan plan = planned(graph, calibration({16, 40, 6, 6}, 4), options);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].id, "gptq/conv");
  EXPECT_EQ(plan.steps[1].id, "gptq/second");
}

} // namespace
} // namespace octet
