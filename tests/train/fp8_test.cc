// SPDX-License-Identifier: Apache-2.0
// FP8 training: casts against core's codecs, factors against the recipe written out again, the
// three products of a layer against scalar sums over codes, and runs that learn, stop and go on.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/codec.h"
#include "core/philox.h"
#include "train/executor/program.h"
#include "train/fp8/layer.h"
#include "train/fp8/round_rows.h"
#include "train/trainer/trainer.h"
#include "training_support.h"
#include <ATen/ops/from_blob.h>
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

using train::Fp8Cast;
using train::Fp8Format;
using train::Fp8Layer;
using train::Fp8Scales;

constexpr float kInfinite = std::numeric_limits<float>::infinity();

float by_codec(const FloatFormat& format, float x) {
  return static_cast<float>(decode(format, encode(format, x, Saturate::kYes)));
}

/// Rounding rises with its argument, so what happens at every number of the format, half way
/// between two and just beside is what happens everywhere.
void expect_rounds_as_the_codec(const FloatFormat& format, train::RoundRow round) {
  std::vector<float> numbers = {0, kInfinite, 0x1p-149F, 0x1p-126F, 3e38F};
  for (uint32_t code = 0; code < 128; ++code) {
    const double here = decode(format, code), next = decode(format, code + 1);
    if (!std::isfinite(here)) continue;
    numbers.push_back(static_cast<float>(here));
    if (std::isfinite(next)) numbers.push_back(static_cast<float>((here + next) / 2));
  }
  const size_t exact = numbers.size();
  for (size_t i = 0; i < exact; ++i)
    for (const float to : {-kInfinite, kInfinite})
      numbers.push_back(std::nextafter(numbers[i], to));
  const size_t positive = numbers.size();
  for (size_t i = 0; i < positive; ++i)
    numbers.push_back(-numbers[i]);
  std::vector<float> y(numbers.size());
  round(numbers.data(), 1, y.data(), std::ssize(y));
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(by_codec(format, numbers[i])))
        << format.name << " " << numbers[i];
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float out = 0;
  round(&nan, 1, &out, 1);
  EXPECT_TRUE(std::isnan(out));
}

TEST(Fp8, RoundsAsTheCodecs) {
  expect_rounds_as_the_codec(kE4M3FN, train::round_row_e4m3fn);
  expect_rounds_as_the_codec(kE5M2, train::round_row_e5m2);
}

TEST(Fp8, LargestMagnitudeSeesNaNAndInfinity) {
  const float nan = -std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {1, -3, 2, -kInfinite, nan};
  EXPECT_EQ(train::largest_magnitude(x.data(), 0), 0);
  EXPECT_EQ(train::largest_magnitude(x.data(), 3), 3);
  EXPECT_EQ(train::largest_magnitude(x.data(), 4), kInfinite);
  EXPECT_TRUE(std::isnan(train::largest_magnitude(x.data(), 5)));
}

at::Tensor tensor(std::vector<float> values, const std::vector<int64_t>& shape) {
  return at::from_blob(values.data(), shape, at::kFloat).clone();
}

std::vector<float> numbers_of(const at::Tensor& t) {
  const at::Tensor held = t.contiguous();
  const float* data = held.const_data_ptr<float>();
  return {data, data + held.numel()};
}

/// Numbers whose magnitudes lie within a factor of 4, so that sums of a few products of their codes
/// are exact in f32.
at::Tensor near_one(const std::vector<int64_t>& shape, uint64_t stream, double size = 1) {
  int64_t count = 1;
  for (const int64_t extent : shape)
    count *= extent;
  Philox random(3, stream);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(
        static_cast<float>(random.uniform(size, 4 * size) * (random.uniform(0, 1) < 0.5 ? -1 : 1)));
  return tensor(std::move(values), shape);
}

float scale_of(const Fp8Cast& cast) {
  return cast.scale.item().toFloat();
}

/// What the recipe says of a series of amax, by itself: the factor of each step.
std::vector<float> recipe(const std::vector<float>& amax, const Fp8Options& o, float largest) {
  std::vector<float> scales = {1};
  for (size_t step = 0; step < amax.size(); ++step) {
    float seen = 0;
    const auto length = o.amax == Fp8Amax::kMax ? static_cast<size_t>(o.history) : size_t{1};
    for (size_t i = step + 1 - std::min(length, step + 1); i <= step; ++i)
      if (std::isfinite(amax[i])) seen = std::max(seen, amax[i]);
    const bool keeps = seen == 0 || !std::isfinite(amax[step]);
    scales.push_back(keeps ? scales.back()
                           : largest / seen / std::pow(2.0F, static_cast<float>(o.margin)));
  }
  return scales;
}

TEST(Fp8, DelayedScalesFollowTheHistory) {
  const std::vector<float> amax = {2, 5, 0.3F, 0, 0, 7, kInfinite, 1, 0.01F, 0, 0.02F, 0.5F};
  for (const Fp8Amax rule : {Fp8Amax::kMax, Fp8Amax::kMostRecent})
    for (const int64_t history : {1, 2, 3, 1024})
      for (const int margin : {0, 2})
        for (const Fp8Format format : {Fp8Format::kE4M3FN, Fp8Format::kE5M2}) {
          const Fp8Options options{.history = history, .margin = margin, .amax = rule};
          const float largest = format == Fp8Format::kE4M3FN ? 448.0F : 57344.0F;
          const std::vector<float> expected = recipe(amax, options, largest);
          Fp8Scales scales(options);
          const size_t other = scales.add(Fp8Format::kE5M2), place = scales.add(format);
          for (size_t step = 0; step < amax.size(); ++step) {
            scales.cast(other, tensor({9}, {1}), true);
            // Two batches of one step; what is only looked at does not count.
            scales.cast(place, tensor({amax[step] / 2, 0}, {2}), true);
            const Fp8Cast cast = scales.cast(place, tensor({-amax[step], 0}, {2}), true);
            scales.cast(place, tensor({1e6F}, {1}), false);
            ASSERT_EQ(scale_of(cast), expected[step]) << history << " step " << step;
            scales.advance();
          }
        }
}

TEST(Fp8, CurrentScalesAreTheTensorsOwn) {
  Fp8Scales scales({.scaling = Fp8Scaling::kCurrent, .margin = 1});
  const size_t place = scales.add(Fp8Format::kE4M3FN);
  EXPECT_EQ(scale_of(scales.cast(place, tensor({3, -7}, {2}), true)), 448.0F / 7 / 2);
  EXPECT_EQ(scale_of(scales.cast(place, tensor({0, 0}, {2}), true)), 1);
  EXPECT_EQ(scale_of(scales.cast(place, tensor({1, kInfinite}, {2}), true)), 1);
  EXPECT_EQ(scale_of(scales.cast(place, tensor({1e-38F}, {1}), true)),
            std::numeric_limits<float>::max());
  EXPECT_TRUE(scales.state().empty());
}

TEST(Fp8, WhatOutgrowsItsFactorSaturatesForOneStep) {
  Fp8Scales scales({.history = 4});
  const size_t place = scales.add(Fp8Format::kE4M3FN);
  scales.cast(place, tensor({2, 1}, {2}), true);
  scales.advance();
  const Fp8Cast jump = scales.cast(place, tensor({2000, -kInfinite}, {2}), true);
  EXPECT_EQ(numbers_of(jump.values), (std::vector<float>{448, -448}));
  scales.advance();
  EXPECT_EQ(scale_of(scales.cast(place, tensor({2000, 1}, {2}), true)), 224); // it was not finite
  scales.advance();
  const Fp8Cast after = scales.cast(place, tensor({2000, 1}, {2}), true);
  EXPECT_EQ(scale_of(after), 448.0F / 2000);
  EXPECT_EQ(numbers_of(after.values)[0], 448);
}

TEST(Fp8, ACastKeepsTheOrderOfAxes) {
  Fp8Scales scales(Fp8Options{});
  const size_t place = scales.add(Fp8Format::kE4M3FN);
  const at::Tensor x = near_one({3, 5}, 1);
  const std::vector<float> plain = numbers_of(scales.cast(place, x, false).values);
  EXPECT_EQ(numbers_of(scales.cast(place, x.t(), false).values.t()), plain);
  const at::Tensor part = near_one({3, 8}, 1).slice(1, 2, 7); // not in one piece
  EXPECT_EQ(numbers_of(scales.cast(place, part, false).values),
            numbers_of(scales.cast(place, part.contiguous(), false).values));
}

/// The codes of a tensor as this file has them: multiplied in f32, encoded by core.
std::vector<double> codes_of(const at::Tensor& t, const FloatFormat& format, float scale) {
  std::vector<double> out;
  for (const float x : numbers_of(t))
    out.push_back(decode(format, encode(format, x * scale, Saturate::kYes)));
  return out;
}

float undone(double sum, float a, float b) {
  return static_cast<float>(sum) * static_cast<float>(1 / (static_cast<double>(a) * b));
}

/// Factors of one layer by the recipe, at the largest history.
struct Factors {
  float x = 1, w = 1, g = 1;
};

TEST(Fp8, ALinearLayerMultipliesCodes) {
  constexpr int64_t kRows = 5, kIn = 6, kOut = 4;
  for (const Fp8Scaling scaling : {Fp8Scaling::kDelayed, Fp8Scaling::kCurrent}) {
    Fp8Scales scales({.scaling = scaling});
    const Fp8Layer layer(scales);
    Factors f;
    float seen_x = 0, seen_w = 0, seen_g = 0;
    for (uint64_t step = 0; step < 3; ++step) {
      // Sizes that grow: with delayed scaling the largest saturate.
      const double size = step == 2 ? 3 : 1;
      const at::Tensor x = near_one({kRows, kIn}, 10 * step, size).set_requires_grad(true);
      const at::Tensor w = near_one({kIn, kOut}, 10 * step + 1).set_requires_grad(true);
      const at::Tensor g = near_one({kRows, kOut}, 10 * step + 2, 1e-4 * size);
      const float own_x = x.abs().max().item().toFloat(), own_w = w.abs().max().item().toFloat(),
                  own_g = g.abs().max().item().toFloat();
      if (scaling == Fp8Scaling::kCurrent) f = {448 / own_x, 448 / own_w, 57344 / own_g};
      const at::Tensor y = layer.linear(x, w, true);
      y.backward(g);
      const auto x8 = codes_of(x.detach(), kE4M3FN, f.x), w8 = codes_of(w.detach(), kE4M3FN, f.w),
                 g8 = codes_of(g, kE5M2, f.g);
      const auto y_is = numbers_of(y.detach()), dx_is = numbers_of(x.grad()),
                 dw_is = numbers_of(w.grad());
      const auto cell = [](const auto& v, int64_t row, int64_t columns, int64_t column) {
        return v[static_cast<size_t>(row * columns + column)];
      };
      for (int64_t m = 0; m < kRows; ++m)
        for (int64_t n = 0; n < kOut; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < kIn; ++k)
            sum += cell(x8, m, kIn, k) * cell(w8, k, kOut, n);
          ASSERT_EQ(cell(y_is, m, kOut, n), undone(sum, f.x, f.w)) << step;
        }
      for (int64_t m = 0; m < kRows; ++m)
        for (int64_t k = 0; k < kIn; ++k) {
          double sum = 0;
          for (int64_t n = 0; n < kOut; ++n)
            sum += cell(g8, m, kOut, n) * cell(w8, k, kOut, n);
          ASSERT_EQ(cell(dx_is, m, kIn, k), undone(sum, f.g, f.w)) << step;
        }
      for (int64_t k = 0; k < kIn; ++k)
        for (int64_t n = 0; n < kOut; ++n) {
          double sum = 0;
          for (int64_t m = 0; m < kRows; ++m)
            sum += cell(x8, m, kIn, k) * cell(g8, m, kOut, n);
          ASSERT_EQ(cell(dw_is, k, kOut, n), undone(sum, f.g, f.x)) << step;
        }
      scales.advance();
      seen_x = std::max(seen_x, own_x);
      seen_w = std::max(seen_w, own_w);
      seen_g = std::max(seen_g, own_g);
      f = {448 / seen_x, 448 / seen_w, 57344 / seen_g};
    }
  }
}

TEST(Fp8, AConvolutionMultipliesCodes) {
  // Two groups, a stride, a dilation and pads that differ by axis.
  const train::Fp8Convolution shape{{2, 1}, {1, 0}, {1, 2}, 2};
  constexpr int64_t kN = 2, kC = 4, kH = 5, kW = 6, kO = 6, kKh = 3, kKw = 2, kYh = 3, kYw = 4;
  Fp8Scales scales({.scaling = Fp8Scaling::kCurrent});
  const Fp8Layer layer(scales);
  const at::Tensor x = near_one({kN, kC, kH, kW}, 1).set_requires_grad(true);
  const at::Tensor w = near_one({kO, kC / 2, kKh, kKw}, 2).set_requires_grad(true);
  const at::Tensor g = near_one({kN, kO, kYh, kYw}, 3);
  const at::Tensor y = layer.convolution(x, w, shape, true);
  ASSERT_EQ(y.sizes(), g.sizes());
  y.backward(g);
  const Factors f = {448 / x.abs().max().item().toFloat(), 448 / w.abs().max().item().toFloat(),
                     57344 / g.abs().max().item().toFloat()};
  const auto x8 = codes_of(x.detach(), kE4M3FN, f.x), w8 = codes_of(w.detach(), kE4M3FN, f.w),
             g8 = codes_of(g, kE5M2, f.g);
  std::vector<double> ys(static_cast<size_t>(g.numel())), dx(x8.size()), dw(w8.size());
  for (int64_t n = 0; n < kN; ++n)
    for (int64_t o = 0; o < kO; ++o)
      for (int64_t i = 0; i < kYh * kYw; ++i)
        for (int64_t c = 0; c < kC / 2; ++c)
          for (int64_t k = 0; k < kKh * kKw; ++k) {
            const int64_t h = i / kYw * 2 + k / kKw - 1, v = i % kYw + k % kKw * 2;
            if (h < 0 || h >= kH || v >= kW) continue;
            const int64_t channel = o / (kO / 2) * (kC / 2) + c;
            const auto at_y = static_cast<size_t>((n * kO + o) * kYh * kYw + i),
                       at_x = static_cast<size_t>(((n * kC + channel) * kH + h) * kW + v),
                       at_w = static_cast<size_t>((o * kC / 2 + c) * kKh * kKw + k);
            ys[at_y] += x8[at_x] * w8[at_w];
            dx[at_x] += g8[at_y] * w8[at_w];
            dw[at_w] += g8[at_y] * x8[at_x];
          }
  const auto expect = [](const at::Tensor& is, const std::vector<double>& sums, float a, float b) {
    const std::vector<float> numbers = numbers_of(is);
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(numbers[i], undone(sums[i], a, b)) << i;
  };
  expect(y.detach(), ys, f.x, f.w);
  expect(x.grad(), dx, f.g, f.w);
  expect(w.grad(), dw, f.g, f.x);
}

size_t fp8_layers(const std::string& body, const std::string& trained = "") {
  const Result<Graph> graph = parse_graph("graph g opset(\"\"=17)\n" + body);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  train::ProgramOptions options;
  options.fp8.emplace();
  if (!trained.empty()) options.parameters.push_back(*graph->find_value(trained));
  const auto program = train::Program::create(*graph, options);
  EXPECT_TRUE(program.ok()) << program.error().text();
  return (*program)->fp8()->count() / 3;
}

TEST(Fp8, LayersAreProductsWithAWeight) {
  const std::string x = "input x: f32[N, 2]\n", w = "const w: f32[2, 2] = [1, 2, 3, 4]\n",
                    b = "const b: f32[2] = [1, 2]\n";
  EXPECT_EQ(fp8_layers(x + w + "y = MatMul(x, w)\noutput y: f32[N, 2]\n"), 1u);
  EXPECT_EQ(fp8_layers(x + w + "y = MatMul(x, w)\noutput y: f32[N, 2]\n", "w"), 1u);
  EXPECT_EQ(fp8_layers(x + w + b + "m = MatMul(x, w)\ny = Add(m, b)\noutput y: f32[N, 2]\n"), 1u);
  EXPECT_EQ(fp8_layers(x + w + b + "y = Gemm(x, w, b) {transB=1}\noutput y: f32[N, 2]\n"), 1u);
  EXPECT_EQ(fp8_layers(x + w + "t = Transpose(w)\ny = MatMul(x, t)\noutput y: f32[N, 2]\n", "w"),
            1u);
  // Two activations; a product of weights alone; f64.
  EXPECT_EQ(fp8_layers(x + "t = Transpose(x)\ny = MatMul(x, t)\noutput y: f32[N, N]\n"), 0u);
  EXPECT_EQ(fp8_layers(x + w + "m = MatMul(w, w)\ny = Add(x, m)\noutput y: f32[N, 2]\n", "w"), 0u);
  EXPECT_EQ(fp8_layers("input x: f64[N, 1]\nconst w: f64[1, 1] = [2]\ny = MatMul(x, w)\n"
                       "output y: f64[N, 1]\n"),
            0u);
  EXPECT_EQ(fp8_layers("input x: f32[N, 1, 4, 4]\nconst w: f32[1, 1, 2, 2] = [1, 2, 3, 4]\n"
                       "y = Conv(x, w) {pads=[0, 0, 1, 1]}\noutput y: f32[N, 1, 4, 4]\n"),
            1u);
}

/// Each form of product with numbers that E4M3FN holds: the same result as in f32, up to the order
/// of sums of integers, which does not matter.
TEST(Fp8, EveryFormOfProductIsTheOneOfF32) {
  const std::string head = "graph g opset(\"\"=17)\ninput x: f32[*]\n"
                           "const w: f32[2, 3] = [1, -2, 3, 4, 0.5, 6]\n"
                           "const v: f32[3, 2] = [1, 2, -3, 4, 0.5, 6]\nconst b: f32[3] = [1, 2, 3]"
                           "\nconst k: f32[3, 2, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]\n";
  struct Form {
    const char* statement;
    std::vector<int64_t> shape;
  };
  for (const Form& form :
       {Form{"y = MatMul(x, w)", {2, 2, 2}}, Form{"m = MatMul(x, w)\ny = Add(m, b)", {2, 2, 2}},
        Form{"y = Gemm(x, w, b)", {4, 2}}, Form{"y = Gemm(x, w, b) {alpha=0.5, beta=2.0}", {4, 2}},
        Form{"y = Gemm(x, v, b) {transA=1, transB=1}", {2, 4}},
        Form{"y = Gemm(x, w) {alpha=2.0}", {4, 2}},
        Form{"y = Conv(x, k, b) {pads=[0, 1]}", {2, 2, 5}},
        Form{"y = Conv(x, k) {pads=[1, 1], strides=[2]}", {2, 2, 5}}}) {
    std::string text = head + form.statement + "\noutput y: f32[*]\n";
    const size_t star = text.find("f32[*]");
    std::string shape;
    int64_t count = 1;
    for (const int64_t extent : form.shape) {
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
      count *= extent;
    }
    text.replace(star, 6, "f32[" + shape + "]");
    const Result<Graph> graph = parse_graph(text);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    std::vector<float> numbers;
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(static_cast<float>(i % 9 - 4));
    std::vector<std::vector<float>> results;
    for (const bool in_fp8 : {false, true}) {
      train::ProgramOptions options;
      if (in_fp8) options.fp8.emplace();
      auto program = train::Program::create(*graph, options);
      ASSERT_TRUE(program.ok()) << program.error().text();
      const auto y = (*program)->forward({tensor(numbers, form.shape)}, train::RunState{});
      ASSERT_TRUE(y.ok()) << form.statement << ": " << y.error().text();
      EXPECT_EQ(in_fp8, (*program)->fp8() != nullptr && (*program)->fp8()->count() == 3);
      results.push_back(numbers_of((*y)[0]));
    }
    EXPECT_EQ(results[0], results[1]) << form.statement;
  }
}

TEST(Fp8, LearnsAsF32Does) {
  const test::Sectors data(600), unseen(300, 2);
  for (const Fp8Scaling scaling : {Fp8Scaling::kDelayed, Fp8Scaling::kCurrent}) {
    TrainOptions options = test::small_options();
    options.epochs = 20;
    options.precision = Precision::kFloat8;
    options.fp8.scaling = scaling;
    const TrainedModel model = test::must_train(test::small_network(), data, options, &unseen);
    EXPECT_GT(model.report.evaluations.back().accuracy, 0.95);
    const uint64_t hash = model.graph.content_hash();
    EXPECT_EQ(test::must_train(test::small_network(), data, options, &unseen).graph.content_hash(),
              hash);
    options.precision = Precision::kFloat32;
    EXPECT_NE(test::must_train(test::small_network(), data, options, &unseen).graph.content_hash(),
              hash);
  }
}

TEST(Fp8, RefusesGraphsThatItIsNotFor) {
  const test::Sectors data(64);
  TrainOptions options = test::small_options();
  options.precision = Precision::kFloat8;
  const auto quantized =
      train::train_graph(test::small_quantized_network(), data, nullptr, options);
  ASSERT_FALSE(quantized.ok());
  EXPECT_NE(quantized.error().text().find("FP8 training is of float graphs"), std::string::npos)
      << quantized.error().text();
  const Graph without = parse_graph("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n"
                                    "const b: f32[2] = [1, 2]\nm = Mul(x, b)\n"
                                    "y = Concat(m, x) {axis=1}\noutput y: f32[N, 4]\n")
                            .value();
  options.train = {"b"};
  const auto empty = train::train_graph(without, data, nullptr, options);
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.error().text().find("no layer can be computed in FP8"), std::string::npos)
      << empty.error().text();
  options.fp8.history = 0;
  EXPECT_FALSE(train::train_graph(test::small_network(), data, nullptr, options).ok());
}

} // namespace
} // namespace octet
