// SPDX-License-Identifier: Apache-2.0
// The vector loops of fake quantization against the scalar ones, bit for bit, and the gradient of
// learned scales per channel against central differences of the function that LSQ differentiates:
// s * (x / s + c) with the rounding error c held fixed inside the range, s * bound outside.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/cpu.h"
#include "core/philox.h"
#include "train/executor/torch_executor.h"
#include "train/fake_quant_rows.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet::train {
namespace {

struct Values {
  std::vector<float> x, scale, low, high, gradient;
  explicit Values(size_t count) {
    Philox random(5);
    for (size_t i = 0; i < count; ++i) {
      scale.push_back(static_cast<float>(random.uniform(0.01, 0.5)));
      low.push_back(i % 2 == 0 ? -128.0F : 0.0F);
      high.push_back(i % 2 == 0 ? 127.0F : 255.0F);
      const double code =
          i % 3 == 0 ? static_cast<double>(random.below(600)) - 300.5 : random.uniform(-300, 300);
      x.push_back(static_cast<float>(code) * scale.back());
      gradient.push_back(static_cast<float>(random.uniform(-1, 1)));
    }
    const float special[] = {std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN(), -0.0F};
    for (size_t i = 0; i < 4 && 5 * i < count; ++i)
      x[5 * i] = special[i];
  }
  FakeQuantRow row(RowScales scales) const {
    return {x.data(),    scale.data(), low.data(),
            high.data(), scales,       static_cast<int64_t>(x.size())};
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]) &&
        !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  return true;
}

TEST(FakeQuantLoops, OfVectorsEqualTheScalarOnes) {
#if defined(__x86_64__)
  if (!isa_supported(Isa::kAvx2)) return; // there is one form of the loops on this processor
  for (const size_t count : {0, 1, 7, 8, 9, 16, 19, 1000, 16384})
    for (const RowScales scales : {RowScales::kOne, RowScales::kEach}) {
      const Values v(count + 1);
      FakeQuantRow row = v.row(scales);
      row.count = static_cast<int64_t>(count);
      std::vector<float> y[2];
      std::vector<uint16_t> places[2];
      std::vector<float> g[2], ds[2];
      const FakeQuantLoops* loops[2] = {&kFakeQuantScalar, &kFakeQuantAvx2};
      for (size_t k = 0; k < 2; ++k) {
        y[k].resize(count + 1);
        places[k].resize(count + 1);
        const uint16_t* end = loops[k]->forward(row, y[k].data(), 100, places[k].data());
        places[k].resize(static_cast<size_t>(end - places[k].data()));
        std::vector<float> again(count + 1);
        EXPECT_EQ(loops[k]->forward(row, again.data(), 0, nullptr), nullptr);
        EXPECT_TRUE(same_bits(again, y[k]));
        g[k] = v.gradient;
        ds[k].resize(count + 1);
        loops[k]->backward(row, g[k].data(), ds[k].data());
      }
      EXPECT_TRUE(same_bits(y[0], y[1])) << count;
      EXPECT_EQ(places[0], places[1]) << count;
      EXPECT_TRUE(same_bits(g[0], g[1])) << count;
      if (scales == RowScales::kEach)
        EXPECT_TRUE(same_bits(ds[0], ds[1])) << count;
      else
        EXPECT_NEAR(ds[0][0], ds[1][0], 1e-4 * std::max(1.0, std::abs(double{ds[0][0]}))) << count;
    }
#endif
}

struct Axis {
  const char* name;
  Shape shape;
  int axis;
};
class LearnedScales : public testing::TestWithParam<Axis> {};

TEST_P(LearnedScales, HaveTheGradientOfTheirSurrogate) {
  const Axis& p = GetParam();
  const int64_t channels = p.shape[static_cast<size_t>(p.axis)];
  const std::vector<double> scales = {0.02, 0.1, 0.03};
  const Graph graph =
      parse_graph("graph g opset(\"\"=19)\nconst w: f32" + to_string(p.shape) + " = " +
                  [&] {
                    Philox random(8);
                    std::string text = "[";
                    for (int64_t i = 0; i < *element_count(p.shape); ++i)
                      text += (i == 0 ? "" : ", ") + std::to_string(random.uniform(-6, 6));
                    return text + "]";
                  }() +
                  "\nconst s: f32[3] = [0.02, 0.1, 0.03]\nconst z: i8[3] = [0, 0, 0]\n"
                  "q = QuantizeLinear(w, s, z) {axis=" +
                  std::to_string(p.axis) + "}\ny = DequantizeLinear(q, s, z) {axis=" +
                  std::to_string(p.axis) + "}\noutput y: f32[*]\n")
          .value();
  const Tensor w = *graph.constant(*graph.find_value("w"));
  GradientRequest request;
  std::vector<float> upstream;
  for (int64_t i = 0; i < w.count(); ++i)
    upstream.push_back(static_cast<float>(i % 5) - 1.5F);
  request.output_gradients = {Tensor::of<float>(p.shape, upstream)};
  request.wrt = {"w", "s"};
  request.weight_scales = WeightScales::kLearned;
  const Result<std::vector<Tensor>> got = graph_gradients(graph, request);
  ASSERT_TRUE(got.ok()) << got.error().text();
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(p.axis) + 1; i < p.shape.size(); ++i)
    inner *= p.shape[i];
  const int64_t of_a_channel = w.count() / channels;
  const auto shared = static_cast<double>(of_a_channel);
  for (int64_t c = 0; c < channels; ++c) {
    const double s0 = static_cast<float>(scales[static_cast<size_t>(c)]);
    const auto surrogate = [&](double s) {
      double sum = 0;
      for (int64_t i = 0; i < w.count(); ++i) {
        if (i / inner % channels != c) continue;
        const double r = w.at(i) / s0, code = std::nearbyint(r);
        const double y = code < -128  ? -128 * s
                         : code > 127 ? 127 * s
                                      : s * (w.at(i) / s + code - r);
        sum += y * upstream[static_cast<size_t>(i)];
      }
      return sum;
    };
    const double slope = (surrogate(s0 + 1e-4) - surrogate(s0 - 1e-4)) / 2e-4;
    const double expected = slope / std::sqrt(shared * 127);
    EXPECT_NEAR((*got)[1].at(c), expected, 2e-3 * std::max(1.0, std::abs(expected))) << c;
  }
}

const Axis kAxes[] = {{"Rows", {3, 40}, 0}, {"Columns", {40, 3}, 1}, {"Middle", {4, 3, 9}, 1}};
INSTANTIATE_TEST_SUITE_P(All, LearnedScales, testing::ValuesIn(kAxes), [](const auto& row) {
  return std::string(row.param.name);
});

} // namespace
} // namespace octet::train
