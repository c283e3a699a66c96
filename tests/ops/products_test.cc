// SPDX-License-Identifier: Apache-2.0
// Conv, MatMul, Gemm and their integer forms against independent sums over coordinates.
#include <random>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

Tensor random_codes(const Shape& shape, std::mt19937& rng, int lo, int hi) {
  Tensor t = *Tensor::zeros(DType::kInt8, shape);
  for (int8_t& v : t.mutable_data<int8_t>())
    v = static_cast<int8_t>(lo + static_cast<int>(rng() % static_cast<unsigned>(hi - lo + 1)));
  return t;
}

Tensor as_float(const Tensor& t) {
  return *Tensor::from_doubles(DType::kFloat32, t.shape(), *t.to_doubles());
}

/// What convolution means, one coordinate at a time.
int64_t conv_at(const Tensor& x,
                const Tensor& w,
                int64_t zero,
                int64_t group,
                int64_t stride,
                int64_t dilation,
                int64_t pad,
                int64_t n,
                int64_t o,
                int64_t h,
                int64_t v) {
  const int64_t per = w.dim(1);
  int64_t sum = 0;
  for (int64_t c = 0; c < per; ++c)
    for (int64_t i = 0; i < w.dim(2); ++i)
      for (int64_t j = 0; j < w.dim(3); ++j) {
        const int64_t r = h * stride + i * dilation - pad, s = v * stride + j * dilation - pad;
        if (r < 0 || s < 0 || r >= x.dim(2) || s >= x.dim(3)) continue;
        const int64_t channel = o / (w.dim(0) / group) * per + c;
        const double xv = x.at(((n * x.dim(1) + channel) * x.dim(2) + r) * x.dim(3) + s);
        const double wv = w.at(((o * per + c) * w.dim(2) + i) * w.dim(3) + j);
        sum += (static_cast<int64_t>(xv) - zero) * static_cast<int64_t>(wv);
      }
  return sum;
}

TEST(Conv, AgreesWithTheSumOverCoordinates) {
  std::mt19937 rng(1);
  for (const auto& [group, stride, dilation, pad] : std::vector<std::array<int64_t, 4>>{
           {1, 1, 1, 0}, {1, 1, 1, 1}, {2, 2, 1, 1}, {4, 1, 2, 2}, {1, 3, 2, 3}, {2, 2, 3, 4}}) {
    const Tensor x = random_codes({2, 4, 9, 8}, rng, -20, 20);
    const Tensor w = random_codes({8, 4 / group, 3, 2}, rng, -20, 20);
    const Attributes attributes = {{"group", attribute(group)},
                                   {"strides", attribute(std::vector{stride, stride})},
                                   {"dilations", attribute(std::vector{dilation, dilation})},
                                   {"pads", attribute(std::vector{pad, pad, pad, pad})}};
    const Tensor y = first(run_op("", "Conv", attributes, {as_float(x), as_float(w)}, 11));
    const Tensor q =
        first(run_op("", "ConvInteger", attributes, {x, w, Tensor::scalar<int8_t>(3)}, 11));
    ASSERT_EQ(4, y.rank());
    EXPECT_EQ((9 + 2 * pad - 2 * dilation - 1) / stride + 1, y.dim(2));
    int64_t at = 0;
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t o = 0; o < 8; ++o)
        for (int64_t h = 0; h < y.dim(2); ++h)
          for (int64_t v = 0; v < y.dim(3); ++v, ++at) {
            EXPECT_EQ(conv_at(x, w, 0, group, stride, dilation, pad, n, o, h, v), y.at(at));
            EXPECT_EQ(conv_at(x, w, 3, group, stride, dilation, pad, n, o, h, v), q.at(at));
          }
  }
}

TEST(Conv, NamesWhatDoesNotFit) {
  const Tensor x = *Tensor::zeros(DType::kFloat32, {1, 3, 4, 4});
  const Tensor w = *Tensor::zeros(DType::kFloat32, {2, 2, 3, 3});
  const auto channels = run_op("", "Conv", {}, {x, w}, 11);
  ASSERT_FALSE(channels.ok());
  EXPECT_NE(std::string::npos, channels.error().text().find("3 channels"));
  const Tensor big = *Tensor::zeros(DType::kFloat32, {2, 3, 5, 3});
  EXPECT_FALSE(run_op("", "Conv", {}, {x, big}, 11).ok());
  const Attributes strides = {{"strides", attribute(std::vector<int64_t>{0, 1})}};
  EXPECT_FALSE(
      run_op("", "Conv", strides, {x, *Tensor::zeros(DType::kFloat32, {2, 3, 3, 3})}, 11).ok());
}

TEST(QLinearConv, IsTheConvolutionOfDequantizedCodesQuantized) {
  std::mt19937 rng(2);
  const Tensor x = random_codes({1, 2, 6, 6}, rng, -128, 127);
  const Tensor w = random_codes({3, 2, 3, 3}, rng, -127, 127);
  const Tensor bias = Tensor::of<int32_t>({3}, {1000, -2000, 300});
  const std::vector<Tensor> inputs = {x,
                                      Tensor::scalar(0.5F),
                                      Tensor::scalar<int8_t>(7),
                                      w,
                                      Tensor::of<float>({3}, {0.25F, 0.125F, 0.5F}),
                                      Tensor::of<int8_t>({3}, {0, 0, 0}),
                                      Tensor::scalar(64.0F),
                                      Tensor::scalar<int8_t>(-5),
                                      bias};
  const Tensor y = first(run_op("", "QLinearConv", {}, inputs, 10));
  int64_t at = 0;
  for (int64_t o = 0; o < 3; ++o)
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t v = 0; v < 4; ++v, ++at) {
        // All scales are powers of two: the sum is shifted right by 9, 10 or 8, half to even.
        const int64_t acc =
            conv_at(x, w, 7, 1, 1, 1, 0, 0, o, h, v) + static_cast<int64_t>(bias.at(o));
        const int64_t unit = int64_t{1} << std::array{9, 10, 8}[static_cast<size_t>(o)];
        int64_t floor = acc / unit - (acc % unit < 0 ? 1 : 0);
        const int64_t twice = 2 * (acc - floor * unit);
        if (twice > unit || (twice == unit && floor % 2 != 0)) ++floor;
        EXPECT_EQ(std::clamp<int64_t>(floor - 5, -128, 127), y.at(at));
      }
}

TEST(MatMul, BroadcastsAsNumpyDoes) {
  std::mt19937 rng(3);
  struct Case {
    Shape a, b, y;
  };
  for (const Case& c : {Case{{3}, {3}, {}}, Case{{3}, {3, 2}, {2}}, Case{{4, 3}, {3}, {4}},
                        Case{{5, 1, 4, 3}, {2, 3, 6}, {5, 2, 4, 6}}}) {
    const Tensor y = first(run_op(
        "", "MatMul", {},
        {as_float(random_codes(c.a, rng, -9, 9)), as_float(random_codes(c.b, rng, -9, 9))}, 13));
    EXPECT_EQ(c.y, y.shape());
  }
  const Tensor a = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::of<float>({3, 2}, {7, 8, 9, 10, 11, 12});
  EXPECT_EQ(std::vector<double>({58, 64, 139, 154}),
            *first(run_op("", "MatMul", {}, {a, b}, 13)).to_doubles());
  EXPECT_FALSE(run_op("", "MatMul", {}, {a, a}, 13).ok());
}

TEST(Gemm, TransposesScalesAndBroadcastsTheBias) {
  const Tensor a = Tensor::of<float>({3, 2}, {1, 4, 2, 5, 3, 6});
  const Tensor b = Tensor::of<float>({2, 3}, {7, 9, 11, 8, 10, 12});
  const Attributes attributes = {{"transA", attribute(int64_t{1})},
                                 {"transB", attribute(int64_t{1})},
                                 {"alpha", attribute(0.5F)},
                                 {"beta", attribute(2.0F)}};
  const Tensor column = Tensor::of<float>({2, 1}, {1, -1});
  EXPECT_EQ(std::vector<double>({31, 34, 67.5, 75}),
            *first(run_op("", "Gemm", attributes, {a, b, column}, 13)).to_doubles());
  EXPECT_FALSE(run_op("", "Gemm", attributes, {a, b, Tensor::of<float>({3}, {1, 2, 3})}, 13).ok());
}

} // namespace
} // namespace octet::test
