// SPDX-License-Identifier: Apache-2.0
// What operators leave open, as docs/numerics.md states it.
#include <cmath>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();
constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();

std::vector<int64_t>
whole(const char* op, std::initializer_list<int32_t> a, std::initializer_list<int32_t> b) {
  const Shape shape = {static_cast<int64_t>(a.size())};
  return first(
             run_op("", op, {}, {Tensor::of<int32_t>(shape, a), Tensor::of<int32_t>(shape, b)}, 14))
      .to_ints()
      .value();
}

TEST(OpenNumbers, DivisionByZeroGivesZero) {
  EXPECT_EQ((std::vector<int64_t>{0, 0, kLeast}), whole("Div", {5, kLeast, kLeast}, {0, 0, -1}));
  EXPECT_EQ((std::vector<int64_t>{0, 0, 0}), whole("Mod", {5, kLeast, kLeast}, {0, 0, -1}));
  for (const char* op : {"Div", "Mod"}) {
    const Tensor x = Tensor::of<uint8_t>({2}, {5, 0}), zero = Tensor::of<uint8_t>({2}, {0, 0});
    EXPECT_EQ((std::vector<int64_t>{0, 0}),
              first(run_op("", op, {}, {x, zero}, 14)).to_ints().value());
  }
}

TEST(OpenNumbers, NegativeExponentsOfIntegers) {
  EXPECT_EQ((std::vector<int64_t>{0, 1, -1, 1, 0, 1}),
            whole("Pow", {0, 1, -1, -1, 2, 0}, {-1, -3, -3, -2, -1, 0}));
  EXPECT_EQ((std::vector<int64_t>{0}), whole("Pow", {2}, {kLeast}));
}

TEST(OpenNumbers, ShiftsBeyondTheWidthGiveZero) {
  for (const char* direction : {"LEFT", "RIGHT"}) {
    Attributes a;
    a["direction"] = attribute(std::string(direction));
    const Tensor y = first(run_op(
        "", "BitShift", a,
        {Tensor::of<uint8_t>({4}, {255, 255, 255, 255}), Tensor::of<uint8_t>({4}, {8, 9, 64, 255})},
        11));
    EXPECT_EQ((std::vector<int64_t>{0, 0, 0, 0}), y.to_ints().value()) << direction;
  }
}

TEST(OpenNumbers, CastSaturatesAndNanIsZero) {
  const Tensor x = Tensor::of<float>({6}, {kNan, kEndless, -kEndless, 3e20F, -3e20F, -1.9F});
  const auto cast = [&](DType to) {
    Attributes a;
    a["to"] = attribute(static_cast<int64_t>(to));
    return first(run_op("", "Cast", a, {x}, 13));
  };
  EXPECT_EQ((std::vector<double>{0, 127, -128, 127, -128, -1}),
            cast(DType::kInt8).to_doubles().value());
  EXPECT_EQ((std::vector<double>{0, 255, 0, 255, 0, 0}), cast(DType::kUint8).to_doubles().value());
  const double most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ((std::vector<double>{0, most, kLeast, most, kLeast, -1}),
            cast(DType::kInt32).to_doubles().value());
  const Tensor wide = cast(DType::kInt64);
  EXPECT_EQ(std::numeric_limits<int64_t>::max(), wide.data<int64_t>()[1]);
  EXPECT_EQ(std::numeric_limits<int64_t>::min(), wide.data<int64_t>()[2]);
  EXPECT_EQ(0, wide.data<int64_t>()[0]);
}

TEST(OpenNumbers, MeansOfIntegersAtTheEndsOfTheirTypeSaturate) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kWorst = -kMost - 1;
  const auto mean = [](std::initializer_list<int64_t> x) {
    const Shape shape = {static_cast<int64_t>(x.size())};
    return first(run_op("", "ReduceMean", {}, {Tensor::of<int64_t>(shape, x)}, 13))
        .to_ints()
        .value();
  };
  EXPECT_EQ((std::vector<int64_t>{kMost}), mean({kMost, kMost}));
  EXPECT_EQ((std::vector<int64_t>{kWorst}), mean({kWorst, kWorst, kWorst}));
  EXPECT_EQ((std::vector<int64_t>{-2}), mean({-7, 2}));
}

TEST(OpenNumbers, CeluOfAlphaZeroIsReluButAtZero) {
  Attributes a;
  a["alpha"] = attribute(0.0F);
  const Tensor y = first(run_op("", "Celu", a, {Tensor::of<float>({3}, {-2, 0, 3})}, 12));
  EXPECT_EQ(0, y.at(0));
  EXPECT_TRUE(std::isnan(y.at(1)));
  EXPECT_EQ(3, y.at(2));
}

} // namespace
} // namespace octet::test
