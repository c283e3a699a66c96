// SPDX-License-Identifier: Apache-2.0
// FP8 products with a factor for each row, block and tensor, against their definition in double
// precision, where every sum of products of codes is exact.
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "core/codec.h"
#include "core/philox.h"
#include <gtest/gtest.h>

#include "octet/fp8_products.h"

namespace octet {
namespace {

/// Numbers over many octaves, with rows of zeros, of tiny numbers and with an outlier.
Tensor uneven_matrix(int64_t rows, int64_t columns, uint64_t stream) {
  Philox random(17, stream);
  Tensor t = Tensor::zeros(DType::kFloat32, {rows, columns}).value();
  const std::span<float> x = t.mutable_data<float>();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const double size = r % 5 == 1 ? 0 : r % 5 == 2 ? 1e-9 : r % 5 == 3 && c == 2 ? 1000 : 1;
      x[static_cast<size_t>(r * columns + c)] = static_cast<float>(size * random.uniform(-3, 3));
    }
  return t;
}

float code_value(const Fp8Matrix& m, int64_t r, int64_t c) {
  return static_cast<float>(m.codes.at(r * m.codes.dim(1) + c));
}

float scale_of_code(const Fp8Matrix& m, int64_t r, int64_t c) {
  return static_cast<float>(m.scales.at(r / m.block_rows * m.scales.dim(1) + c / m.block_columns));
}

enum class Kind { kRows, kBlocks, kTensor };

/// Every code and scale from the definition.
void expect_quantized(const Tensor& x, const Fp8Matrix& m, Kind kind, float bound) {
  const int64_t rows = x.dim(0), columns = x.dim(1);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      float magnitude = 0;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          if (i / m.block_rows == r / m.block_rows && j / m.block_columns == c / m.block_columns)
            magnitude = std::max(magnitude, std::fabs(static_cast<float>(x.at(i * columns + j))));
      magnitude = std::min(magnitude, bound);
      const float factor = kind == Kind::kRows ? std::min(448.0F / magnitude, 448.0F * 512)
                                               : 448.0F / std::max(magnitude, 1e-12F);
      ASSERT_EQ(scale_of_code(m, r, c), 1 / factor);
      const float v = static_cast<float>(x.at(r * columns + c)) * factor;
      ASSERT_EQ(code_value(m, r, c), static_cast<float>(decode(kE4M3FN, encode(kE4M3FN, v))));
    }
}

void expect_product(const Fp8Matrix& x, const Fp8Matrix& w, const Tensor* bias) {
  const Tensor y = fp8_product(x, w, bias).value();
  const int64_t m = x.codes.dim(0), n = w.codes.dim(0), columns = x.codes.dim(1);
  ASSERT_EQ(y.type(), DType::kBfloat16);
  ASSERT_EQ(y.shape(), (Shape{m, n}));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      double exact = 0, size = 0;
      for (int64_t k = 0; k < columns; k += x.block_columns) {
        double part = 0;
        for (int64_t c = k; c < std::min(columns, k + x.block_columns); ++c) {
          part += static_cast<double>(code_value(x, i, c)) * code_value(w, j, c);
          size += std::abs(static_cast<double>(code_value(x, i, c)) * code_value(w, j, c)) *
                  scale_of_code(x, i, k) * scale_of_code(w, j, k);
        }
        sum = sum + static_cast<float>(part) * scale_of_code(x, i, k) * scale_of_code(w, j, k);
        exact += part * scale_of_code(x, i, k) * scale_of_code(w, j, k);
      }
      if (bias != nullptr) {
        sum += static_cast<float>(bias->at(j));
        exact += bias->at(j);
        size += std::abs(bias->at(j));
      }
      ASSERT_EQ(y.at(i * n + j), decode(kBF16, encode(kBF16, sum)));
      // And near the sum without any rounding: 2^-9 of a bf16, 2^-24 of each step before.
      ASSERT_NEAR(y.at(i * n + j), exact, std::abs(exact) * 0x1p-8 + size * 0x1p-20);
    }
}

constexpr float kNoBound = std::numeric_limits<float>::infinity();

TEST(Fp8Products, OfRows) {
  const Tensor x = uneven_matrix(7, 37, 1), w = uneven_matrix(6, 37, 2);
  const Tensor bias = uneven_matrix(1, 6, 3).reshaped({6}).value();
  const Fp8Matrix a = quantize_fp8_rows(x).value(), b = quantize_fp8_rows(w).value();
  ASSERT_EQ(a.scales.shape(), (Shape{7, 1}));
  expect_quantized(x, a, Kind::kRows, kNoBound);
  EXPECT_EQ(a.scales.at(1), 1.0F / (448.0F * 512)); // a row of zeros
  expect_product(a, b, nullptr);
  expect_product(a, b, &bias);
  const Fp8Matrix bounded = quantize_fp8_rows(x, 2.0F).value();
  expect_quantized(x, bounded, Kind::kRows, 2);
  EXPECT_EQ(std::fabs(code_value(bounded, 3, 2)), 448); // the outlier saturates
}

TEST(Fp8Products, OfBlocks) {
  const Tensor x = uneven_matrix(7, 37, 1), w = uneven_matrix(6, 37, 2);
  const Tensor bias = uneven_matrix(1, 6, 3).reshaped({6}).value();
  for (const auto& [bm, bn, bk] : {std::tuple{1, 1, 1}, std::tuple{2, 3, 8}, std::tuple{3, 6, 37},
                                   std::tuple{128, 128, 128}, std::tuple{1, 128, 16}}) {
    const Fp8Matrix a = quantize_fp8_blocks(x, bm, bk).value(),
                    b = quantize_fp8_blocks(w, bn, bk).value();
    ASSERT_EQ(a.scales.shape(), (Shape{(7 + bm - 1) / bm, (37 + bk - 1) / bk}));
    expect_quantized(x, a, Kind::kBlocks, kNoBound);
    expect_quantized(w, b, Kind::kBlocks, kNoBound);
    expect_product(a, b, nullptr);
    expect_product(a, b, &bias);
    expect_quantized(x, quantize_fp8_blocks(x, bm, bk, 2.0F).value(), Kind::kBlocks, 2);
  }
}

TEST(Fp8Products, OfTensors) {
  const Tensor x = uneven_matrix(7, 37, 1), w = uneven_matrix(6, 37, 2);
  const Fp8Matrix a = quantize_fp8_tensor(x).value(), b = quantize_fp8_tensor(w).value();
  ASSERT_EQ(a.scales.count(), 1);
  expect_quantized(x, a, Kind::kTensor, kNoBound);
  expect_product(a, b, nullptr);
  // One block across goes with any other.
  expect_product(a, quantize_fp8_rows(w).value(), nullptr);
}

/// A long sum of the largest codes, which f32 could not add up one by one.
TEST(Fp8Products, SumsAreExact) {
  constexpr int64_t kColumns = 100000;
  std::vector<float> ones(kColumns, 448.0F), last(kColumns, 448.0F);
  last.back() = -447; // rounds to a code of -448
  const Tensor x = Tensor::of<float>({1, kColumns}, ones),
               w = Tensor::of<float>({1, kColumns}, last);
  const Tensor y =
      fp8_product(quantize_fp8_tensor(x).value(), quantize_fp8_tensor(w).value()).value();
  const double exact = 448.0 * 448 * (kColumns - 2);
  EXPECT_EQ(y.at(0), decode(kBF16, encode(kBF16, static_cast<float>(exact))));
}

TEST(Fp8Products, NaNStaysInItsRow) {
  Fp8Matrix a = quantize_fp8_rows(uneven_matrix(3, 4, 1)).value();
  std::vector<double> codes = a.codes.to_doubles().value();
  codes[5] = std::nan("");
  a.codes = Tensor::from_doubles(DType::kFloat8E4M3FN, {3, 4}, codes).value();
  const Fp8Matrix b = quantize_fp8_rows(uneven_matrix(2, 4, 2)).value();
  const Tensor y = fp8_product(a, b).value();
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(std::isnan(y.at(i)), i / 2 == 1) << i;
}

TEST(Fp8Products, OfNothing) {
  const Tensor none = Tensor::zeros(DType::kFloat32, {2, 0}).value();
  const Tensor y =
      fp8_product(quantize_fp8_rows(none).value(), quantize_fp8_rows(none).value()).value();
  EXPECT_EQ(y.to_doubles().value(), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_TRUE(quantize_fp8_tensor(none).ok());
  EXPECT_TRUE(quantize_fp8_rows(Tensor::zeros(DType::kFloat32, {0, 3}).value()).ok());
}

TEST(Fp8Products, RefuseWhatDoesNotFit) {
  const Tensor x = uneven_matrix(3, 4, 1);
  EXPECT_FALSE(quantize_fp8_rows(Tensor::of<float>({2}, {1, 2})).ok());
  EXPECT_FALSE(quantize_fp8_rows(Tensor::of<double>({1, 1}, {1})).ok());
  EXPECT_FALSE(quantize_fp8_rows(x, 0.0F).ok());
  EXPECT_FALSE(quantize_fp8_rows(x, kNoBound).ok());
  EXPECT_FALSE(quantize_fp8_blocks(x, 0, 2).ok());
  EXPECT_FALSE(quantize_fp8_tensor(Tensor::of<float>({1, 1}, {std::nanf("")})).ok());
  const Fp8Matrix a = quantize_fp8_blocks(x, 1, 2).value();
  EXPECT_FALSE(fp8_product(a, quantize_fp8_blocks(x, 1, 3).value()).ok());
  EXPECT_FALSE(fp8_product(a, quantize_fp8_blocks(uneven_matrix(3, 5, 1), 1, 2).value()).ok());
  Fp8Matrix wrong = a;
  wrong.block_rows = 2;
  EXPECT_FALSE(fp8_product(wrong, a).ok());
  const Tensor bias = Tensor::of<float>({2}, {1, 2});
  EXPECT_FALSE(fp8_product(a, a, &bias).ok());
}

} // namespace
} // namespace octet
