// SPDX-License-Identifier: Apache-2.0
// QAdd, QTable, the pools and the conversions of octet.native, over codes exhaustively where that
// is small.
#include <cmath>
#include <limits>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

Tensor all_codes(DType type, Shape shape) {
  Tensor t = *Tensor::zeros(type, std::move(shape));
  for (size_t i = 0; i < t.mutable_bytes().size(); ++i)
    t.mutable_bytes()[i] = static_cast<std::byte>(i);
  return t;
}

int64_t round_to_code(double exact, int64_t z, int64_t lo, int64_t hi) {
  return static_cast<int64_t>(std::clamp(std::nearbyint(exact) + static_cast<double>(z),
                                         static_cast<double>(lo), static_cast<double>(hi)));
}

TEST(QAdd, AddsAllPairsOfCodes) {
  const Tensor a = all_codes(DType::kInt8, {256, 1}), b = all_codes(DType::kUint8, {256});
  // Ratios with few bits: every product and sum is exact in float, so the exact value decides.
  const Tensor y = first(run_op(kNative, "QAdd",
                                {{"a_zero_point", attribute(int64_t{-9})},
                                 {"b_zero_point", attribute(int64_t{101})},
                                 {"a_ratio", attribute(0.625F)},
                                 {"b_ratio", attribute(0.5F)},
                                 {"y_zero_point", attribute(int64_t{3})},
                                 {"hi", attribute(int64_t{120})}},
                                {a, b}, 1));
  ASSERT_EQ(Shape({256, 256}), y.shape());
  for (int64_t i = 0; i < 65536; ++i) {
    const double exact = (a.at(i / 256) + 9) * 0.625 + (b.at(i % 256) - 101) * 0.5;
    EXPECT_EQ(round_to_code(exact, 3, -128, 120), y.at(i));
  }
}

TEST(QTable, IndexesSignedCodesFromMinus128) {
  Tensor table = *Tensor::zeros(DType::kUint8, {256});
  for (size_t i = 0; i < 256; ++i)
    table.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(255 - i);
  const Tensor x = all_codes(DType::kInt8, {256});
  const Tensor y = first(run_op(kNative, "QTable", {}, {x, table}, 1));
  for (int64_t i = 0; i < 256; ++i)
    EXPECT_EQ(255 - (x.at(i) + 128), y.at(i));
  const Tensor u = all_codes(DType::kUint8, {256});
  const Tensor z = first(run_op(kNative, "QTable", {}, {u, table}, 1));
  for (int64_t i = 0; i < 256; ++i)
    EXPECT_EQ(255 - i, z.at(i));
  EXPECT_FALSE(run_op(kNative, "QTable", {}, {u, all_codes(DType::kUint8, {255})}, 1).ok());
}

TEST(QAveragePool, CountsTapsInsideTheImage) {
  const Tensor x = all_codes(DType::kInt8, {1, 4, 4, 2});
  const Attributes attributes = {{"kernel_shape", attribute(std::vector<int64_t>{3, 3})},
                                 {"pads", attribute(std::vector<int64_t>{1, 1, 1, 1})},
                                 {"strides", attribute(std::vector<int64_t>{2, 2})},
                                 {"x_zero_point", attribute(int64_t{2})},
                                 {"x_scale", attribute(0.5F)},
                                 {"y_scale", attribute(0.25F)},
                                 {"y_zero_point", attribute(int64_t{-1})}};
  const Tensor y = first(run_op(kNative, "QAveragePool", attributes, {x}, 1));
  ASSERT_EQ(Shape({1, 2, 2, 2}), y.shape());
  for (int64_t i = 0; i < 8; ++i) {
    int64_t sum = 0, n = 0;
    for (int64_t r = i / 4 * 2 - 1; r <= i / 4 * 2 + 1; ++r)
      for (int64_t s = i / 2 % 2 * 2 - 1; s <= i / 2 % 2 * 2 + 1; ++s)
        if (r >= 0 && s >= 0 && r < 4 && s < 4) {
          ++n;
          sum += static_cast<int64_t>(x.at((r * 4 + s) * 2 + i % 2)) - 2;
        }
    const float m = static_cast<float>(0.5 / (static_cast<double>(n) * 0.25));
    const volatile float r = static_cast<float>(sum) * m;
    EXPECT_EQ(round_to_code(r, -1, -128, 127), y.at(i));
  }
  const Tensor global = first(run_op(
      kNative, "QAveragePool", {{"global", attribute(int64_t{1})}, {"to", attribute(int64_t{2})}},
      {all_codes(DType::kUint8, {1, 4, 4, 2})}, 1));
  EXPECT_EQ(Shape({1, 1, 1, 2}), global.shape());
  EXPECT_EQ(std::vector<int64_t>({15, 16}), *global.to_ints());
}

TEST(NativeMaxPool, KeepsNanAndIgnoresPadding) {
  const Tensor x = Tensor::of<float>({1, 2, 2, 1}, {-5, kNan, -7, -8});
  const Attributes attributes = {{"kernel_shape", attribute(std::vector<int64_t>{2, 2})},
                                 {"pads", attribute(std::vector<int64_t>{1, 1, 1, 1})}};
  const Tensor y = first(run_op(kNative, "MaxPool", attributes, {x}, 1));
  ASSERT_EQ(Shape({1, 3, 3, 1}), y.shape());
  EXPECT_EQ(-5, y.at(0));
  EXPECT_TRUE(std::isnan(y.at(1)) && std::isnan(y.at(4)) && std::isnan(y.at(5)));
  EXPECT_EQ(-7, y.at(6));
  EXPECT_EQ(-8, y.at(8));
  const Tensor codes = Tensor::of<int8_t>({1, 2, 2, 1}, {-128, -3, 4, 127});
  EXPECT_EQ(std::vector<int64_t>({-128, -3, -3, 4, 127, 127, 4, 127, 127}),
            *first(run_op(kNative, "MaxPool", attributes, {codes}, 1)).to_ints());
}

TEST(NativeAveragePool, DividesByTheTapsThatCount) {
  const Tensor x = Tensor::of<float>({1, 2, 2, 1}, {1, 2, 4, 8});
  Attributes attributes = {{"kernel_shape", attribute(std::vector<int64_t>{2, 2})},
                           {"pads", attribute(std::vector<int64_t>{0, 0, 1, 1})}};
  EXPECT_EQ(std::vector<double>({3.75, 5, 6, 8}),
            *first(run_op(kNative, "AveragePool", attributes, {x}, 1)).to_doubles());
  attributes["count_include_pad"] = attribute(int64_t{1});
  EXPECT_EQ(std::vector<double>({3.75, 2.5, 3, 2}),
            *first(run_op(kNative, "AveragePool", attributes, {x}, 1)).to_doubles());
}

TEST(NativeQuantize, AgreesWithTheOnnxOperator) {
  std::vector<float> values = {kNan, std::numeric_limits<float>::infinity(), -1e30F};
  for (int i = -3000; i <= 3000; ++i)
    values.push_back(static_cast<float>(i) * 0.0125F);
  const Tensor x = Tensor::of<float>({static_cast<int64_t>(values.size())}, values);
  const Attributes attributes = {{"scale", attribute(0.1F)},
                                 {"zero_point", attribute(int64_t{-7})},
                                 {"to", attribute(int64_t{3})}};
  const Tensor y = first(run_op(kNative, "Quantize", attributes, {x}, 1));
  const Tensor expected = first(
      run_op("", "QuantizeLinear", {}, {x, Tensor::scalar(0.1F), Tensor::scalar<int8_t>(-7)}, 13));
  EXPECT_TRUE(y.identical(expected));
  const Tensor back = first(run_op(kNative, "Dequantize", attributes, {y}, 1));
  EXPECT_TRUE(back.identical(first(run_op(
      "", "DequantizeLinear", {}, {y, Tensor::scalar(0.1F), Tensor::scalar<int8_t>(-7)}, 13))));
}

} // namespace
} // namespace octet::test
