// SPDX-License-Identifier: Apache-2.0
// Operators that draw: their shapes and types, that a seed settles them, and the moments of many.
#include <cmath>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

constexpr int64_t kMany = 20000;

Attributes drawn(std::vector<int64_t> shape) {
  Attributes out;
  out["shape"] = attribute(std::move(shape));
  out["seed"] = attribute(3.0F);
  return out;
}

struct Measured {
  double mean = 0, deviation = 0;
};
Measured measure(const Tensor& t) {
  Measured out;
  const auto values = t.to_doubles().value();
  for (const double v : values)
    out.mean += v / static_cast<double>(values.size());
  for (const double v : values)
    out.deviation += (v - out.mean) * (v - out.mean) / static_cast<double>(values.size());
  out.deviation = std::sqrt(out.deviation);
  return out;
}

TEST(Drawn, NormalNumbersHaveTheirMoments) {
  Attributes a = drawn({kMany});
  a["mean"] = attribute(2.0F);
  a["scale"] = attribute(3.0F);
  const Measured m = measure(first(run_op("", "RandomNormal", a, {}, 22)));
  EXPECT_NEAR(2, m.mean, 0.1);
  EXPECT_NEAR(3, m.deviation, 0.1);
}

TEST(Drawn, UniformNumbersLieInTheirRange) {
  Attributes a = drawn({kMany});
  a["low"] = attribute(-1.0F);
  a["high"] = attribute(2.0F);
  const Tensor y = first(run_op("", "RandomUniform", a, {}, 22));
  const Measured m = measure(y);
  EXPECT_NEAR(0.5, m.mean, 0.05);
  EXPECT_NEAR(3 / std::sqrt(12.0), m.deviation, 0.05);
  const std::vector<double> values = y.to_doubles().value();
  for (const double v : values) {
    EXPECT_GE(v, -1);
    EXPECT_LE(v, 2);
  }
}

TEST(Drawn, ASeedSettlesThemAndAnotherChangesThem) {
  Attributes a = drawn({8}), other = drawn({8});
  other["seed"] = attribute(4.0F);
  const Tensor once = first(run_op("", "RandomNormal", a, {}, 22));
  EXPECT_TRUE(once.identical(first(run_op("", "RandomNormal", a, {}, 22))));
  EXPECT_FALSE(once.identical(first(run_op("", "RandomNormal", other, {}, 22))));
}

TEST(Drawn, LikeTakesShapeAndType) {
  const Tensor x = Tensor::zeros(DType::kFloat64, {2, 3}).value();
  for (const char* op : {"RandomNormalLike", "RandomUniformLike"}) {
    const Tensor y = first(run_op("", op, {}, {x}, 22));
    EXPECT_EQ(x.shape(), y.shape());
    EXPECT_EQ(DType::kFloat64, y.type());
    Attributes half;
    half["dtype"] = attribute(static_cast<int64_t>(DType::kFloat16));
    EXPECT_EQ(DType::kFloat16, first(run_op("", op, half, {x}, 22)).type());
    const Tensor whole = Tensor::zeros(DType::kInt32, {2}).value();
    EXPECT_FALSE(run_op("", op, {}, {whole}, 22).ok());
  }
}

TEST(Drawn, BernoulliFollowsItsProbabilities) {
  std::vector<float> p(static_cast<size_t>(kMany), 0.3F);
  p[0] = 0;
  p[1] = 1;
  const Tensor x = Tensor::of<float>({kMany}, std::span<const float>(p));
  const Tensor y = first(run_op("", "Bernoulli", {}, {x}, 22));
  EXPECT_EQ(0, y.at(0));
  EXPECT_EQ(1, y.at(1));
  EXPECT_NEAR(0.3, measure(y).mean, 0.02);
}

TEST(Drawn, MultinomialFollowsItsRow) {
  const float none = -std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({2, 3}, {std::log(1.0F), none, std::log(3.0F), none, 5, none});
  Attributes a;
  a["sample_size"] = attribute(kMany);
  a["dtype"] = attribute(static_cast<int64_t>(DType::kInt64));
  const Tensor y = first(run_op("", "Multinomial", a, {x}, 22));
  ASSERT_EQ((Shape{2, kMany}), y.shape());
  int64_t last = 0;
  for (int64_t i = 0; i < kMany; ++i) {
    EXPECT_NE(1, y.at(i));
    last += y.at(i) == 2 ? 1 : 0;
    EXPECT_EQ(1, y.at(kMany + i));
  }
  EXPECT_NEAR(0.75, static_cast<double>(last) / kMany, 0.02);
  EXPECT_FALSE(run_op("", "Multinomial", {}, {Tensor::of<float>({1, 2}, {none, none})}, 22).ok());
}

TEST(Drawn, HostileSizesAreRefused) {
  EXPECT_FALSE(run_op("", "RandomNormal", drawn({-1}), {}, 22).ok());
  EXPECT_FALSE(run_op("", "RandomNormal", drawn({int64_t{1} << 40}), {}, 22).ok());
  EXPECT_EQ((Shape{0, 3}), first(run_op("", "RandomNormal", drawn({0, 3}), {}, 22)).shape());
}

} // namespace
} // namespace octet::test
