// SPDX-License-Identifier: Apache-2.0
// QGemm, QConv, QMatMul and QDynamicGemm against the expressions of docs/numerics.md, computed here
// in 113-bit floats with a rounding of our own.
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

__extension__ using Wide = __float128;

struct Random {
  std::mt19937 rng{7};
  Tensor codes(DType type, Shape shape) {
    Tensor t = *Tensor::zeros(type, std::move(shape));
    for (std::byte& b : t.mutable_bytes())
      b = static_cast<std::byte>(rng() & 255);
    return t;
  }
  Tensor floats(Shape shape, float scale) {
    Tensor t = *Tensor::zeros(DType::kFloat32, std::move(shape));
    for (float& v : t.mutable_data<float>())
      v = scale * (static_cast<float>(rng() % 20001) / 10000.0F - 1.0F);
    return t;
  }
};

float fused(float a, float b, float c) {
  return static_cast<float>(static_cast<Wide>(a) * b + c);
}

/// Round half to even by comparing with the integers around.
int64_t nearest_even(float r) {
  const auto below = static_cast<int64_t>(std::floor(static_cast<double>(r)));
  const double rest = static_cast<double>(r) - static_cast<double>(below);
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 == 0 ? below : below + 1;
}

int64_t finish(float r, int64_t z, int64_t lo, int64_t hi) {
  if (r > 1e6F) return hi;
  if (r < -1e6F) return lo;
  return std::clamp(nearest_even(r) + z, lo, hi);
}

int64_t exact_dot(const Tensor& x, int64_t row, int64_t zx, const Tensor& w, int64_t n, int64_t k) {
  int64_t sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum += (static_cast<int64_t>(x.at(row * k + i)) - zx) * static_cast<int64_t>(w.at(n * k + i));
  return sum;
}

TEST(QGemm, FollowsTheFusedExpressionForCodes) {
  Random random;
  const int64_t k = 37, n = 5, rows = 6;
  for (const DType to : {DType::kInt8, DType::kUint8})
    for (const DType from : {DType::kInt8, DType::kUint8})
      for (const bool with_residual : {false, true}) {
        const Tensor x = random.codes(from, {2, 3, k});
        const Tensor w = random.codes(DType::kInt8, {n, k});
        const Tensor m = random.floats({n}, 0.0007F), b = random.floats({n}, 30);
        const Tensor residual = random.codes(to, {2, 3, n});
        const int64_t zx = 5, zy = to == DType::kInt8 ? -7 : 121, lo = to == DType::kInt8 ? -7 : 0,
                      hi = to == DType::kInt8 ? 100 : 255;
        std::vector<Tensor> inputs = {x, w, m, b};
        if (with_residual) inputs.push_back(residual);
        const Tensor y = first(run_op(kNative, "QGemm",
                                      {{"to", attribute(static_cast<int64_t>(to))},
                                       {"x_zero_point", attribute(zx)},
                                       {"y_zero_point", attribute(zy)},
                                       {"lo", attribute(lo)},
                                       {"hi", attribute(hi)},
                                       {"residual_zero_point", attribute(int64_t{3})},
                                       {"residual_ratio", attribute(0.37F)}},
                                      inputs, 1));
        ASSERT_EQ(Shape({2, 3, n}), y.shape());
        ASSERT_EQ(to, y.type());
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t j = 0; j < n; ++j) {
            float r = fused(static_cast<float>(exact_dot(x, row, zx, w, j, k)),
                            static_cast<float>(m.at(j)), static_cast<float>(b.at(j)));
            if (with_residual)
              r = fused(static_cast<float>(residual.at(row * n + j) - 3), 0.37F, r);
            EXPECT_EQ(finish(r, zy, lo, hi), y.at(row * n + j));
          }
      }
}

TEST(QGemm, AddsAnIntegerBiasToTheSum) {
  Random random;
  const Tensor x = random.codes(DType::kUint8, {4, 16}), w = random.codes(DType::kInt8, {3, 16});
  const Tensor b = Tensor::of<int32_t>({3}, {100000, -250000, 7});
  const Tensor m = Tensor::scalar(0.00031F);
  const Tensor y = first(run_op(kNative, "QGemm", {{"x_zero_point", attribute(int64_t{128})}},
                                {x, w, *m.reshaped({1}), b}, 1));
  const Tensor sums = first(run_op(
      kNative, "QGemm", {{"x_zero_point", attribute(int64_t{128})}, {"to", attribute(int64_t{6})}},
      {x, w, *m.reshaped({1}), b}, 1));
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t j = 0; j < 3; ++j) {
      const int64_t acc = exact_dot(x, row, 128, w, j, 16) + static_cast<int64_t>(b.at(j));
      EXPECT_EQ(acc, sums.at(row * 3 + j));
      EXPECT_EQ(finish(fused(static_cast<float>(acc), 0.00031F, 0), 0, -128, 127),
                y.at(row * 3 + j));
    }
}

TEST(QGemm, GivesFloatsThatAreClampedOnceFused) {
  Random random;
  const Tensor x = random.codes(DType::kInt8, {4, 16}), w = random.codes(DType::kInt8, {3, 16});
  const Tensor m = random.floats({3}, 0.01F), b = random.floats({3}, 2);
  const Tensor y =
      first(run_op(kNative, "QGemm", {{"to", attribute(int64_t{1})}, {"min", attribute(0.0F)}},
                   {x, w, m, b}, 1));
  for (int64_t i = 0; i < 12; ++i) {
    const float r = fused(static_cast<float>(exact_dot(x, i / 3, 0, w, i % 3, 16)),
                          static_cast<float>(m.at(i % 3)), static_cast<float>(b.at(i % 3)));
    EXPECT_EQ(std::max(r, 0.0F), static_cast<float>(y.at(i)));
  }
}

TEST(QGemm, RefusesWhatDoesNotFit) {
  Random random;
  const Tensor x = random.codes(DType::kInt8, {4, 16}), w = random.codes(DType::kInt8, {3, 15});
  const Tensor m = random.floats({3}, 1);
  EXPECT_FALSE(run_op(kNative, "QGemm", {}, {x, w, m}, 1).ok());
  const Tensor good = random.codes(DType::kInt8, {3, 16});
  EXPECT_FALSE(run_op(kNative, "QGemm", {}, {x, good, random.floats({2}, 1)}, 1).ok());
  EXPECT_FALSE(run_op(kNative, "QGemm", {{"hi", attribute(int64_t{128})}}, {x, good, m}, 1).ok());
  EXPECT_FALSE(run_op(kNative, "QGemm", {{"to", attribute(int64_t{7})}}, {x, good, m}, 1).ok());
  EXPECT_TRUE(run_op(kNative, "QGemm", {}, {x, good, m}, 1).ok());
}

TEST(QConv, SumsOverTheWindowWithPaddingAsZero) {
  Random random;
  for (const auto& [group, stride, dilation, pad] :
       std::vector<std::array<int64_t, 4>>{{1, 1, 1, 0}, {2, 2, 1, 1}, {4, 1, 2, 3}}) {
    const int64_t size = 7, in = 4, out = 8, per = in / group;
    const Tensor x = random.codes(DType::kUint8, {2, size, size, in});
    const Tensor w = random.codes(DType::kInt8, {out, 3, 2, per});
    const Tensor m = random.floats({out}, 0.001F), b = random.floats({out}, 20);
    const Tensor y = first(run_op(kNative, "QConv",
                                  {{"group", attribute(group)},
                                   {"strides", attribute(std::vector{stride, stride})},
                                   {"dilations", attribute(std::vector{dilation, dilation})},
                                   {"pads", attribute(std::vector{pad, pad, pad, pad})},
                                   {"x_zero_point", attribute(int64_t{119})},
                                   {"y_zero_point", attribute(int64_t{-11})}},
                                  {x, w, m, b}, 1));
    ASSERT_EQ(4, y.rank());
    ASSERT_EQ(out, y.dim(3));
    for (int64_t i = 0; i < y.count(); ++i) {
      const int64_t o = i % out, v = i / out % y.dim(2), h = i / out / y.dim(2) % y.dim(1),
                    image = i / out / y.dim(2) / y.dim(1);
      int64_t acc = 0;
      for (int64_t a = 0; a < 3; ++a)
        for (int64_t c = 0; c < 2; ++c)
          for (int64_t p = 0; p < per; ++p) {
            const int64_t r = h * stride + a * dilation - pad, s = v * stride + c * dilation - pad;
            const bool inside = r >= 0 && s >= 0 && r < size && s < size;
            const int64_t channel = o / (out / group) * per + p;
            const int64_t code =
                inside ? static_cast<int64_t>(x.at(((image * size + r) * size + s) * in + channel))
                       : 119;
            acc += (code - 119) * static_cast<int64_t>(w.at(((o * 3 + a) * 2 + c) * per + p));
          }
      const float r =
          fused(static_cast<float>(acc), static_cast<float>(m.at(o)), static_cast<float>(b.at(o)));
      EXPECT_EQ(finish(r, -11, -128, 127), y.at(i));
    }
  }
}

TEST(QMatMul, BroadcastsLeadingDimensions) {
  Random random;
  const Tensor a = random.codes(DType::kInt8, {2, 1, 3, 8}),
               b = random.codes(DType::kUint8, {4, 8, 5});
  const Tensor y = first(run_op(kNative, "QMatMul",
                                {{"a_zero_point", attribute(int64_t{-3})},
                                 {"b_zero_point", attribute(int64_t{130})},
                                 {"multiplier", attribute(0.004F)},
                                 {"y_zero_point", attribute(int64_t{9})}},
                                {a, b}, 1));
  ASSERT_EQ(Shape({2, 4, 3, 5}), y.shape());
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t column = i % 5, row = i / 5 % 3, batch_b = i / 15 % 4, batch_a = i / 60;
    int64_t acc = 0;
    for (int64_t p = 0; p < 8; ++p)
      acc += (static_cast<int64_t>(a.at((batch_a * 3 + row) * 8 + p)) + 3) *
             (static_cast<int64_t>(b.at((batch_b * 8 + p) * 5 + column)) - 130);
    EXPECT_EQ(finish(fused(static_cast<float>(acc), 0.004F, 0), 9, -128, 127), y.at(i));
  }
}

TEST(QDynamicGemm, QuantizesEachRowByItself) {
  Random random;
  const Tensor w = random.codes(DType::kInt8, {3, 8});
  const Tensor scale = random.floats({3}, 0.1F), bias = random.floats({3}, 1);
  Tensor x = random.floats({5, 8}, 2);
  for (int64_t i = 0; i < 8; ++i)
    x.mutable_data<float>()[static_cast<size_t>(16 + i)] = 0; // a row of zeros
  const Tensor y = first(run_op(kNative, "QDynamicGemm", {}, {x, w, scale, bias}, 1));
  for (int64_t row = 0; row < 5; ++row) {
    const Tensor alone =
        *Tensor::of<float>({1, 8}, x.data<float>().subspan(static_cast<size_t>(row) * 8, 8))
             .reshaped({1, 8});
    const Tensor one = first(run_op(kNative, "QDynamicGemm", {}, {alone, w, scale, bias}, 1));
    float amax = 0;
    for (int64_t i = 0; i < 8; ++i)
      amax = std::max(amax, std::fabs(static_cast<float>(x.at(row * 8 + i))));
    const float s = amax > 0 ? amax / 127 : 1;
    for (int64_t j = 0; j < 3; ++j) {
      int64_t acc = 0;
      for (int64_t i = 0; i < 8; ++i) {
        const volatile float quotient = static_cast<float>(x.at(row * 8 + i)) / s;
        acc += nearest_even(quotient) * static_cast<int64_t>(w.at(j * 8 + i));
      }
      const volatile float m = s * static_cast<float>(scale.at(j));
      EXPECT_EQ(fused(static_cast<float>(acc), m, static_cast<float>(bias.at(j))),
                static_cast<float>(y.at(row * 3 + j)));
      EXPECT_EQ(one.at(j), y.at(row * 3 + j));
    }
  }
}

TEST(NativeGemm, IsOneChainOfFusedAdds) {
  Random random;
  const Tensor x = random.floats({3, 50}, 1), w = random.floats({4, 50}, 1),
               b = random.floats({4}, 1);
  const Tensor y = first(run_op(kNative, "Gemm", {{"max", attribute(0.5F)}}, {x, w, b}, 1));
  const Tensor image = *x.reshaped({3, 1, 1, 50}), kernel = *w.reshaped({4, 1, 1, 50});
  const Tensor conv =
      first(run_op(kNative, "Conv", {{"max", attribute(0.5F)}}, {image, kernel, b}, 1));
  for (int64_t i = 0; i < 12; ++i) {
    float r = 0;
    for (int64_t k = 0; k < 50; ++k)
      r = fused(static_cast<float>(x.at(i / 4 * 50 + k)), static_cast<float>(w.at(i % 4 * 50 + k)),
                r);
    r += static_cast<float>(b.at(i % 4));
    EXPECT_EQ(std::min(r, 0.5F), static_cast<float>(y.at(i)));
    EXPECT_EQ(y.at(i), conv.at(i));
  }
}

} // namespace
} // namespace octet::test
