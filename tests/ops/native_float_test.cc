// SPDX-License-Identifier: Apache-2.0
// Softmax, LayerNormalization and the functions of octet.native against double arithmetic. That
// they keep the order of 16 lanes is checked bit for bit where the kernels are.
#include <cmath>
#include <functional>
#include <limits>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

Tensor ramp(Shape shape, double from, double to) {
  const int64_t count = *element_count(shape);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) // a fixed shuffle, so that rows are not sorted
    values.push_back(from + (to - from) * static_cast<double>(i * 7919 % count) /
                                static_cast<double>(count - 1));
  return *Tensor::from_doubles(DType::kFloat32, std::move(shape), values);
}

TEST(NativeSoftmax, IsSoftmaxOverTheLastAxis) {
  const Tensor x = ramp({3, 2, 37}, -30, 30);
  const Tensor y = first(run_op(kNative, "Softmax", {}, {x}, 1));
  ASSERT_EQ(x.shape(), y.shape());
  for (int64_t row = 0; row < 6; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 37; ++i)
      sum += std::exp(x.at(row * 37 + i));
    for (int64_t i = 0; i < 37; ++i) {
      const double want = std::exp(x.at(row * 37 + i)) / sum;
      // x - max, up to 60, is rounded before exp: that many half ulps of 1, and some for the rest.
      EXPECT_NEAR(want, y.at(row * 37 + i), (60 + 8) * 0x1p-24 * want);
    }
  }
}

TEST(NativeLayerNormalization, StandardizesRows) {
  const Tensor x = ramp({5, 33}, -3, 9), gain = ramp({33}, 0.5, 2), bias = ramp({33}, -1, 1);
  const Tensor y = first(
      run_op(kNative, "LayerNormalization", {{"epsilon", attribute(1e-3F)}}, {x, gain, bias}, 1));
  const Tensor onnx =
      first(run_op("", "LayerNormalization", {{"epsilon", attribute(1e-3F)}}, {x, gain, bias}, 17));
  for (int64_t row = 0; row < 5; ++row) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < 33; ++i)
      mean += x.at(row * 33 + i) / 33;
    for (int64_t i = 0; i < 33; ++i)
      variance += (x.at(row * 33 + i) - mean) * (x.at(row * 33 + i) - mean) / 33;
    for (int64_t i = 0; i < 33; ++i) {
      const double want =
          (x.at(row * 33 + i) - mean) / std::sqrt(variance + 1e-3) * gain.at(i) + bias.at(i);
      EXPECT_NEAR(want, y.at(row * 33 + i), 2e-6);
      EXPECT_NEAR(want, onnx.at(row * 33 + i), 3e-7);
    }
  }
  EXPECT_FALSE(run_op(kNative, "LayerNormalization", {}, {x, ramp({32}, 0, 1)}, 1).ok());
}

TEST(NativeUnary, FollowsTheFunctions) {
  const Tensor x = ramp({1, 4001}, -12, 12);
  const auto gelu = [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); };
  const std::vector<std::pair<const char*, std::function<double(double)>>> functions = {
      {"Exp", [](double v) { return std::exp(v); }},
      {"Erf", [](double v) { return std::erf(v); }},
      {"Tanh", [](double v) { return std::tanh(v); }},
      {"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"Gelu", gelu}};
  for (const auto& [type, exact] : functions) {
    const Tensor y = first(run_op(kNative, type, {}, {x}, 1));
    for (int64_t i = 0; i < x.count(); ++i) {
      const double want = exact(x.at(i));
      // GELU's tail is the difference of nearly equal numbers; its error is one of x / 2.
      const double scale = std::string(type) == "Gelu" ? std::fabs(x.at(i)) : std::fabs(want);
      EXPECT_NEAR(want, y.at(i), 4e-7 * scale) << type << " at " << x.at(i);
    }
  }
  EXPECT_FALSE(
      run_op(kNative, "Gelu", {{"approximate", attribute(std::string("fast"))}}, {x}, 1).ok());
}

} // namespace
} // namespace octet::test
