// SPDX-License-Identifier: Apache-2.0
// The ordered operators of com.microsoft: layouts against the published formulas for every element,
// numbers against the standard operators on every code. A whole layer: ordered_peer.py.
#include <numeric>

#include "ops/microsoft/matrix_order.h"
#include "ops/op_runner.h"

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

using ms::MatrixOrder;
using test::attribute;
using test::first;
using test::run_op;

constexpr const char* kMs = "com.microsoft";
constexpr MatrixOrder kAll[] = {MatrixOrder::kColumns, MatrixOrder::kRows, MatrixOrder::kCol32,
                                MatrixOrder::kTuring, MatrixOrder::kAmpere};

/// Where cublasLt.h and ONNX Runtime's tests (contrib_ops/qordered_test.cc) put element (r, c).
int64_t published(MatrixOrder order, int64_t r, int64_t c, int64_t rows, int64_t columns) {
  const int64_t group = c / 32, column = c % 32;
  switch (order) {
  case MatrixOrder::kColumns:
    return c * rows + r;
  case MatrixOrder::kRows:
    return r * columns + c;
  case MatrixOrder::kCol32:
    return group * 32 * rows + r * 32 + column;
  case MatrixOrder::kTuring:
    return (group * (rows / 8) + r / 8) * 256 + (r % 2) * 128 + column / 4 * 16 + r % 8 / 2 * 4 +
           column % 4;
  case MatrixOrder::kAmpere:
    return (group * (rows / 32) + r / 32) * 1024 +
           (((r % 8) / 2 * 4 + r % 32 / 8) * 2 + r % 2) * 32 + column;
  }
  return -1;
}

Tensor counted(Shape shape) {
  Tensor t = Tensor::zeros(DType::kInt32, std::move(shape)).value();
  std::vector<double> values(static_cast<size_t>(t.count()));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::from_doubles(DType::kInt32, t.shape(), values).value();
}

TEST(MatrixOrder, EveryElementLiesWhereItIsPublished) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{32, 32}, {64, 32}, {32, 96}, {96, 64}})
    for (const MatrixOrder order : kAll) {
      SCOPED_TRACE(ms::name(order));
      const Tensor x = counted({2, rows, columns});
      const auto y = ms::reorder(x, MatrixOrder::kRows, order);
      ASSERT_TRUE(y.ok()) << y.error().text();
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c)
            ASSERT_EQ(y->at(b * rows * columns + published(order, r, c, rows, columns)),
                      x.at((b * rows + r) * columns + c));
    }
}

TEST(MatrixOrder, FromEachIntoEachAndBack) {
  const Tensor x = counted({64, 96});
  for (const MatrixOrder from : kAll)
    for (const MatrixOrder to : kAll) {
      const auto there = ms::reorder(x, from, to);
      ASSERT_TRUE(there.ok());
      EXPECT_TRUE(ms::reorder(*there, to, from)->identical(x)) << ms::name(from) << ms::name(to);
    }
}

TEST(MatrixOrder, WeightsAreRowsOfTheirProduct) {
  const Tensor w = counted({32, 64});
  const Tensor turned = ms::reorder(w, MatrixOrder::kRows, MatrixOrder::kColumns).value();
  EXPECT_TRUE(ms::weight_rows(turned, MatrixOrder::kColumns)->identical(w));
  for (const MatrixOrder order : {MatrixOrder::kTuring, MatrixOrder::kAmpere}) {
    const Tensor stored =
        ms::reorder(turned.reshaped({64, 32}).value(), MatrixOrder::kRows, order).value();
    EXPECT_TRUE(ms::weight_rows(stored.reshaped({32, 64}).value(), order)->identical(w));
  }
}

TEST(MatrixOrder, TilesHaveToBeWhole) {
  EXPECT_FALSE(ms::reorder(counted({3, 33}), MatrixOrder::kRows, MatrixOrder::kCol32).ok());
  EXPECT_FALSE(ms::reorder(counted({9, 32}), MatrixOrder::kRows, MatrixOrder::kTuring).ok());
  const auto refused = ms::reorder(counted({8, 32}), MatrixOrder::kAmpere, MatrixOrder::kRows);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("ORDER_COL32_2R_4R4"), std::string::npos);
  EXPECT_NE(refused.error().text().find("32 by 32"), std::string::npos);
}

Tensor number(double value) {
  return Tensor::scalar<float>(static_cast<float>(value));
}

/// Every int8 code once, as [8, 32].
Tensor every_code() {
  std::vector<double> values(256);
  std::iota(values.begin(), values.end(), -128);
  return Tensor::from_doubles(DType::kInt8, {8, 32}, values).value();
}

Tensor standard(const std::string& op, std::vector<Tensor> inputs, Attributes attributes = {}) {
  return first(run_op("", op, std::move(attributes), std::move(inputs), 17));
}

Tensor dequantized(const Tensor& codes, double scale) {
  return standard("DequantizeLinear", {codes, number(scale), Tensor::scalar<int8_t>(0)});
}

Tensor quantized(const Tensor& x, double scale) {
  return standard("QuantizeLinear", {x, number(scale), Tensor::scalar<int8_t>(0)});
}

Attributes orders(const char* a, int64_t first, const char* b, int64_t second) {
  Attributes out;
  out[a] = attribute(first);
  out[b] = attribute(second);
  return out;
}

TEST(OrderedOperators, QuantizeIsQuantizeLinearInAnOrder) {
  // Beyond both ends, and at ties.
  const Tensor x = dequantized(every_code(), 0.75);
  for (const MatrixOrder order :
       {MatrixOrder::kColumns, MatrixOrder::kRows, MatrixOrder::kCol32, MatrixOrder::kTuring}) {
    const Tensor y = first(run_op(kMs, "QuantizeWithOrder",
                                  orders("order_input", 1, "order_output", int64_t(order)),
                                  {x, number(0.5)}, 1));
    EXPECT_TRUE(y.identical(ms::reorder(quantized(x, 0.5), MatrixOrder::kRows, order).value()));
  }
}

TEST(OrderedOperators, DequantizeIsDequantizeLinearFromAnOrder) {
  const Tensor codes = every_code().reshaped({4, 64}).value();
  for (const MatrixOrder order : {MatrixOrder::kColumns, MatrixOrder::kRows, MatrixOrder::kCol32})
    for (const int64_t to : {1, 10}) {
      Attributes a = orders("order_input", int64_t(order), "order_output", 1);
      a["to"] = attribute(to);
      const Tensor y = first(run_op(kMs, "DequantizeWithOrder", a, {codes, number(0.0625)}, 1));
      const Tensor rows = ms::reorder(codes, order, MatrixOrder::kRows).value();
      EXPECT_EQ(y.type(), static_cast<DType>(to));
      for (int64_t i = 0; i < y.count(); ++i)
        ASSERT_EQ(y.at(i), rows.at(i) * 0.0625);
    }
}

TEST(OrderedOperators, GeluOfEveryCode) {
  const Tensor y = first(run_op(kMs, "QOrderedGelu", orders("order_X", 1, "order_Y", 1),
                                {every_code(), number(1 / 32.0), number(1 / 48.0)}, 1));
  const Tensor x = dequantized(every_code(), 1 / 32.0);
  EXPECT_TRUE(y.identical(quantized(first(run_op("", "Gelu", {}, {x}, 20)), 1 / 48.0)));
}

TEST(OrderedOperators, LayerNormalizationOfEveryCode) {
  std::vector<double> gains(32), biases(32);
  for (size_t i = 0; i < 32; ++i) {
    gains[i] = 0.5 + static_cast<double>(i * 7 % 11) / 8;
    biases[i] = static_cast<double>(i * 5 % 13) / 16 - 0.25;
  }
  for (const DType type : {DType::kFloat32, DType::kFloat16})
    for (const int64_t order : {1, 2}) {
      const Tensor gain = Tensor::from_doubles(type, {32}, gains).value();
      const Tensor bias = Tensor::from_doubles(type, {32}, biases).value();
      const Tensor y = first(run_op(kMs, "QOrderedLayerNormalization",
                                    orders("order_X", order, "order_Y", order),
                                    {every_code(), number(0.02), gain, bias, number(0.03)}, 1));
      // One group of 32 columns lies in ORDER_COL32 as it lies row after row.
      const Tensor want = standard("LayerNormalization",
                                   {dequantized(every_code(), 0.02),
                                    Tensor::from_doubles(DType::kFloat32, {32}, gains).value(),
                                    Tensor::from_doubles(DType::kFloat32, {32}, biases).value()});
      EXPECT_TRUE(y.identical(quantized(want, 0.03)));
    }
}

/// Codes that follow no pattern.
Tensor scattered(Shape shape, int64_t factor) {
  const auto count = static_cast<size_t>(
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>((static_cast<int64_t>(i) * factor + 11) % 255 - 127);
  return Tensor::from_doubles(DType::kInt8, std::move(shape), values).value();
}

Attributes product_orders(MatrixOrder a, MatrixOrder b) {
  Attributes out = orders("order_A", int64_t(a), "order_B", int64_t(b));
  out["order_Y"] = attribute(int64_t(a));
  return out;
}

TEST(OrderedOperators, ProductWithBiasAndResidual) {
  const Tensor a = scattered({2, 3, 5}, 37), b = scattered({5, 4}, 53),
               c = scattered({1, 3, 4}, 71);
  const Tensor scales =
      Tensor::from_doubles(DType::kFloat32, {4}, std::vector<double>{0.01, 0.02, 0.004, 0.03})
          .value();
  const Tensor bias =
      Tensor::from_doubles(DType::kFloat32, {4}, std::vector<double>{1, -2, 0.5, 3}).value();
  const Tensor stored = ms::reorder(b, MatrixOrder::kRows, MatrixOrder::kColumns).value();
  const Tensor y =
      first(run_op(kMs, "QOrderedMatMul", product_orders(MatrixOrder::kRows, MatrixOrder::kColumns),
                   {a, number(0.125), stored, scales, number(0.25), bias, c, number(0.0625)}, 1));
  Attributes axis;
  axis["axis"] = attribute(int64_t{1});
  const Tensor w =
      standard("DequantizeLinear", {b, scales, Tensor::zeros(DType::kInt8, {4}).value()}, axis);
  Tensor sum = standard("MatMul", {dequantized(a, 0.125), w});
  sum = standard("Add", {standard("Add", {sum, bias}), dequantized(c, 0.0625)});
  EXPECT_TRUE(y.identical(quantized(sum, 0.25)));
}

TEST(OrderedOperators, ProductInTiles) {
  const Tensor a = scattered({2, 3, 64}, 37), b = scattered({64, 32}, 53);
  const Tensor plain = first(
      run_op(kMs, "QOrderedMatMul", product_orders(MatrixOrder::kRows, MatrixOrder::kColumns),
             {a, number(0.01), ms::reorder(b, MatrixOrder::kRows, MatrixOrder::kColumns).value(),
              number(0.02), number(0.7)},
             1));
  const Tensor turned =
      ms::reorder(b, MatrixOrder::kRows, MatrixOrder::kColumns)->reshaped({32, 64}).value();
  for (const MatrixOrder order : {MatrixOrder::kTuring, MatrixOrder::kAmpere}) {
    const Tensor w = ms::reorder(turned, MatrixOrder::kRows, order)->reshaped({64, 32}).value();
    const Tensor y = first(run_op(kMs, "QOrderedMatMul", product_orders(MatrixOrder::kCol32, order),
                                  {ms::reorder(a, MatrixOrder::kRows, MatrixOrder::kCol32).value(),
                                   number(0.01), w, number(0.02), number(0.7)},
                                  1));
    EXPECT_TRUE(ms::reorder(y, MatrixOrder::kCol32, MatrixOrder::kRows)->identical(plain));
  }
}

TEST(OrderedOperators, RefusedWithAWayOut) {
  const Tensor a = scattered({3, 4}, 37), b = scattered({4, 2}, 53), s = number(0.1);
  struct Case {
    MatrixOrder a, b;
    const char* says;
  };
  for (const Case& c :
       {Case{MatrixOrder::kRows, MatrixOrder::kRows, "use ORDER_ROW, ORDER_COL and ORDER_ROW"},
        Case{MatrixOrder::kCol32, MatrixOrder::kAmpere, "pad it"}}) {
    const auto y = run_op(kMs, "QOrderedMatMul", product_orders(c.a, c.b), {a, s, b, s, s}, 1);
    ASSERT_FALSE(y.ok());
    EXPECT_NE(y.error().text().find(c.says), std::string::npos) << y.error().text();
  }
  const auto missing = run_op(kMs, "QuantizeWithOrder", {}, {dequantized(a, 1), s}, 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().text().find("order_input"), std::string::npos);
  const auto other = run_op(kMs, "QOrderedGelu", orders("order_X", 1, "order_Y", 2), {a, s, s}, 1);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().text().find("make them equal"), std::string::npos);
}

} // namespace
} // namespace octet
