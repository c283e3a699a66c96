// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear: ties, zero points, every code, NaN and infinities, blocks.
#include <cmath>
#include <limits>

#include "core/numerics/round.h"
#include "ops/op_runner.h"

namespace octet::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
Tensor quantize(const Tensor& x, const Tensor& scale, T zero) {
  return first(run_op("", "QuantizeLinear", {}, {x, scale, Tensor::scalar<T>(zero)}, 21));
}

TEST(QuantizeLinear, RoundsTiesToEvenBeforeItAddsTheZeroPoint) {
  // 2.5 -> 2, then + 1 = 3; adding first would give 3.5 -> 4.
  const Tensor x = Tensor::of<float>({6}, {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F});
  const Tensor y = quantize<int8_t>(x, Tensor::scalar(1.0F), 1);
  EXPECT_EQ(std::vector<int64_t>({1, 3, 3, 1, -1, -1}), *y.to_ints());
}

TEST(QuantizeLinear, SaturatesInfinitiesAndSendsNanToTheZeroPoint) {
  const Tensor x = Tensor::of<float>({5}, {kInfinity, -kInfinity, kNan, 1e30F, -1e30F});
  EXPECT_EQ(std::vector<int64_t>({127, -128, 5, 127, -128}),
            *quantize<int8_t>(x, Tensor::scalar(0.1F), 5).to_ints());
  EXPECT_EQ(std::vector<int64_t>({65535, 0, 77, 65535, 0}),
            *quantize<uint16_t>(x, Tensor::scalar(0.1F), 77).to_ints());
}

TEST(QuantizeLinear, IsExactAgainstIntegerArithmetic) {
  // x = n / 8 with a scale of 1 / 4: the quotient is n / 2, rounded half to even in integers.
  std::vector<float> x;
  std::vector<int64_t> expected;
  const int z = -3;
  for (int n = -600; n <= 600; ++n) {
    x.push_back(static_cast<float>(n) / 8);
    const int floor = n >= 0 ? n / 2 : -((-n + 1) / 2);
    const int rounded = n % 2 == 0 ? n / 2 : (floor % 2 == 0 ? floor : floor + 1);
    expected.push_back(std::min(127, std::max(-128, rounded + z)));
  }
  const auto count = static_cast<int64_t>(x.size());
  EXPECT_EQ(expected,
            *quantize<int8_t>(Tensor::of<float>({count}, x), Tensor::scalar(0.25F), z).to_ints());
}

TEST(QuantizeLinear, DividesInFloat) {
  // The float quotient decides, not x times a reciprocal and not the exact quotient.
  const float scale = 0.1F;
  std::vector<float> x;
  for (int i = -2000; i <= 2000; ++i)
    x.push_back(std::nextafter((static_cast<float>(i) + 0.5F) * scale, i % 2 == 0 ? 1e9F : -1e9F));
  const auto count = static_cast<int64_t>(x.size());
  const auto y =
      *quantize<int16_t>(Tensor::of<float>({count}, x), Tensor::scalar(scale), 7).to_ints();
  for (size_t i = 0; i < x.size(); ++i) {
    const volatile float quotient = x[i] / scale;
    EXPECT_EQ(std::lrint(quotient) + 7, y[i]) << x[i];
    EXPECT_EQ(y[i], numerics::quantize(x[i], scale, 7, -32768, 32767)) << x[i];
  }
}

TEST(QuantizeLinear, TurnsEveryDequantizedCodeIntoItself) {
  for (const DType type : {DType::kInt8, DType::kUint8, DType::kInt4, DType::kUint4, DType::kInt2,
                           DType::kUint2, DType::kFloat8E4M3FN, DType::kFloat8E5M2}) {
    const int64_t codes = int64_t{1} << bits(type);
    Tensor q = *Tensor::zeros(type, {codes});
    for (int64_t i = 0; i < codes; ++i) {
      const auto bit = static_cast<size_t>(i) * static_cast<size_t>(bits(type));
      q.mutable_bytes()[bit / 8] |= static_cast<std::byte>(i << bit % 8);
    }
    const Tensor scale = Tensor::scalar(0.0371F);
    const Tensor zero = is_float(type) ? *Tensor::zeros(type, {})
                                       : *Tensor::from_doubles(type, {}, std::vector{1.0});
    const Tensor x = first(run_op("", "DequantizeLinear", {}, {q, scale, zero}, 25));
    const Tensor back = first(run_op("", "QuantizeLinear", {}, {x, scale, zero}, 25));
    for (int64_t i = 0; i < codes; ++i)
      if (std::isfinite(q.at(i))) {
        EXPECT_EQ(q.at(i), back.at(i)) << name(type) << " " << i;
      }
  }
}

TEST(QuantizeLinear, TakesOneScaleForEachChannelOrBlock) {
  const Tensor x = Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor rows = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(std::vector<int64_t>({1, 2, 3, 4, 2, 3, 4, 4}),
            *first(run_op("", "QuantizeLinear", {{"axis", attribute(int64_t{0})}}, {x, rows}, 13))
                 .to_ints());
  const Tensor blocks = Tensor::of<float>({2, 2}, {1, 2, 0.5F, 4});
  EXPECT_EQ(std::vector<int64_t>({1, 2, 3, 2, 10, 12, 14, 2}),
            *first(run_op("", "QuantizeLinear",
                          {{"axis", attribute(int64_t{1})}, {"block_size", attribute(int64_t{3})}},
                          {x, blocks}, 21))
                 .to_ints());
}

TEST(QuantizeLinear, KeepsTheSignOfZeroInFp8) {
  const Tensor x = Tensor::of<float>({3}, {-0.0F, 0.0F, -1e-30F});
  for (const DType type : {DType::kFloat8E4M3FN, DType::kFloat8E5M2}) {
    const Tensor y = first(
        run_op("", "QuantizeLinear", {}, {x, Tensor::scalar(0.5F), *Tensor::zeros(type, {})}, 21));
    EXPECT_TRUE(std::signbit(y.at(0))) << name(type);
    EXPECT_FALSE(std::signbit(y.at(1))) << name(type);
    EXPECT_TRUE(std::signbit(y.at(2))) << name(type);
  }
}

TEST(QuantizeLinear, RefusesScalesThatFitNoGranularity) {
  const Tensor x = Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto wrong_count =
      run_op("", "QuantizeLinear", {}, {x, Tensor::of<float>({3}, {1, 1, 1})}, 13);
  ASSERT_FALSE(wrong_count.ok());
  EXPECT_NE(std::string::npos, wrong_count.error().text().find("3 and 4"));
  const auto axis = run_op("", "QuantizeLinear", {{"axis", attribute(int64_t{2})}},
                           {x, Tensor::of<float>({4}, {1, 1, 1, 1})}, 13);
  EXPECT_FALSE(axis.ok());
  const auto type = run_op("", "QuantizeLinear", {{"output_dtype", attribute(int64_t{1})}},
                           {x, Tensor::scalar(1.0F)}, 21);
  EXPECT_FALSE(type.ok());
}

TEST(DequantizeLinear, MultipliesTheDifferenceInFloat) {
  for (int code = 0; code < 256; ++code) {
    const Tensor q = Tensor::scalar(static_cast<uint8_t>(code));
    const Tensor x = first(run_op("", "DequantizeLinear", {},
                                  {q, Tensor::scalar(0.1F), Tensor::scalar<uint8_t>(131)}, 10));
    const volatile float product = static_cast<float>(code - 131) * 0.1F;
    EXPECT_EQ(static_cast<double>(product), x.at(0));
  }
  // A 32-bit code is rounded to float before the product.
  const Tensor bias = first(run_op("", "DequantizeLinear", {},
                                   {Tensor::scalar<int32_t>(16777217), Tensor::scalar(3.0F)}, 10));
  EXPECT_EQ(16777216.0 * 3, bias.at(0));
}

} // namespace
} // namespace octet::test
