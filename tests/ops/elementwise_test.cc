// SPDX-License-Identifier: Apache-2.0
// Elementwise operators against C++ arithmetic over all pairs of 8-bit integers, and the rules for
// NaN, ties, saturation and rounding that no backend case shows.
#include <cmath>
#include <limits>
#include <set>

#include "op_runner.h"
#include "ops/op.h"
#include <gtest/gtest.h>

namespace octet::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// All 65536 pairs.
template <class T>
std::pair<Tensor, Tensor> all_pairs() {
  std::vector<T> a, b;
  for (int i = 0; i < 65536; ++i) {
    a.push_back(static_cast<T>(i & 255));
    b.push_back(static_cast<T>(i >> 8));
  }
  return {Tensor::of<T>({65536}, a), Tensor::of<T>({65536}, b)};
}

template <class T>
void expect_pairs(const char* op, const Attributes& attributes, int (*f)(int, int)) {
  const auto [a, b] = all_pairs<T>();
  const Tensor y = first(run_op("", op, attributes, {a, b}, 17));
  ASSERT_EQ(DTypeOf<T>::kValue, y.type());
  const std::span<const T> x1 = a.template data<T>(), x2 = b.template data<T>(),
                           have = y.template data<T>();
  for (size_t i = 0; i < have.size(); ++i)
    ASSERT_EQ(static_cast<T>(f(x1[i], x2[i])), have[i])
        << op << " of " << int{x1[i]} << " and " << int{x2[i]};
}

/// The remainder with the sign of the divisor, by its definition.
int floor_mod(int a, int b) {
  if (b == 0) return 0;
  const int q = static_cast<int>(std::floor(static_cast<double>(a) / b));
  return a - q * b;
}

TEST(Elementwise, IntegersWrapToTheirWidth) {
  const auto add = [](int a, int b) { return a + b; };
  const auto sub = [](int a, int b) { return a - b; };
  const auto mul = [](int a, int b) { return a * b; };
  const auto div = [](int a, int b) { return b == 0 ? 0 : a / b; };
  expect_pairs<int8_t>("Add", {}, add);
  expect_pairs<uint8_t>("Add", {}, add);
  expect_pairs<int8_t>("Sub", {}, sub);
  expect_pairs<uint8_t>("Sub", {}, sub);
  expect_pairs<int8_t>("Mul", {}, mul);
  expect_pairs<uint8_t>("Mul", {}, mul);
  expect_pairs<int8_t>("Div", {}, div);
  expect_pairs<uint8_t>("Div", {}, div);
}

TEST(Elementwise, RemaindersHaveTheSignThatFmodSays) {
  expect_pairs<int8_t>("Mod", {}, floor_mod);
  expect_pairs<uint8_t>("Mod", {}, floor_mod);
  Attributes fmod;
  fmod["fmod"] = attribute(int64_t{1});
  expect_pairs<int8_t>("Mod", fmod, [](int a, int b) { return b == 0 ? 0 : a % b; });
}

TEST(Elementwise, ComparesAndSelectsIntegers) {
  expect_pairs<int8_t>("Min", {}, [](int a, int b) { return a < b ? a : b; });
  expect_pairs<uint8_t>("Max", {}, [](int a, int b) { return a > b ? a : b; });
  expect_pairs<uint8_t>("BitwiseXor", {}, [](int a, int b) { return a ^ b; });
  const Tensor big = Tensor::of<uint64_t>({2}, {~uint64_t{0}, 1});
  const Tensor one = Tensor::of<uint64_t>({2}, {1, 1});
  const Tensor less = first(run_op("", "Less", {}, {big, one}, 17));
  EXPECT_FALSE(less.data<bool>()[0]) << "unsigned 64-bit integers are not signed";
}

TEST(Elementwise, NanPassesThrough) {
  const Tensor x = Tensor::of<float>({1}, {kNan});
  const Tensor zero = Tensor::of<float>({1}, {0});
  for (const char* op :
       {"Relu", "LeakyRelu", "Elu", "Selu", "Celu", "Clip", "HardSigmoid", "HardSwish", "Sign",
        "Softplus", "Softsign", "Mish", "Gelu", "Sigmoid", "Tanh", "Abs", "Neg", "Round"}) {
    const Tensor y = first(run_op("", op, {}, {x}, 20));
    EXPECT_TRUE(std::isnan(y.at(0))) << op;
  }
  for (const char* op : {"Min", "Max"}) {
    EXPECT_TRUE(std::isnan(first(run_op("", op, {}, {x, zero}, 17)).at(0))) << op;
    EXPECT_TRUE(std::isnan(first(run_op("", op, {}, {zero, x}, 17)).at(0))) << op;
  }
}

TEST(Elementwise, LargeArgumentsDoNotOverflow) {
  const Tensor x = Tensor::of<float>({4}, {-1000, 1000, -kInf, kInf});
  const auto values = [&](const char* op) {
    return *first(run_op("", op, {}, {x}, 20)).to_floats();
  };
  EXPECT_EQ((std::vector<float>{0, 1, 0, 1}), values("Sigmoid"));
  EXPECT_EQ((std::vector<float>{0, 1000, 0, kInf}), values("Softplus"));
  EXPECT_EQ((std::vector<float>{0, kInf, 0, kInf}), values("Exp"));
}

TEST(Elementwise, RoundsHalvesToEven) {
  const Tensor x = Tensor::of<float>({6}, {-2.5F, -1.5F, -0.5F, 0.5F, 1.5F, 2.5F});
  EXPECT_EQ((std::vector<float>{-2, -2, -0.0F, 0, 2, 2}),
            *first(run_op("", "Round", {}, {x}, 17)).to_floats());
}

Tensor cast_to(DType type, const Tensor& x) {
  Attributes a;
  a["to"] = attribute(static_cast<int64_t>(type));
  return first(run_op("", "Cast", a, {x}, 21));
}

TEST(Cast, DropsTheFractionAndSaturates) {
  const Tensor x = Tensor::of<float>({6}, {1.9F, -1.9F, 300, -300, kInf, kNan});
  EXPECT_EQ((std::vector<int64_t>{1, -1, 127, -128, 127, 0}), *cast_to(DType::kInt8, x).to_ints());
  EXPECT_EQ((std::vector<int64_t>{1, 0, 255, 0, 255, 0}), *cast_to(DType::kUint8, x).to_ints());
}

TEST(Cast, KeepsTheLowBitsOfIntegers) {
  const Tensor x = Tensor::of<int32_t>({4}, {300, -1, 128, 65536});
  EXPECT_EQ((std::vector<int64_t>{44, -1, -128, 0}), *cast_to(DType::kInt8, x).to_ints());
  EXPECT_EQ((std::vector<int64_t>{12, 15, 0, 0}), *cast_to(DType::kUint4, x).to_ints());
}

TEST(Cast, RoundsOnceIntoHalfPrecision) {
  // 1 + 2^-11 + 2^-40 rounds up; by way of float it would become a tie and round down.
  const Tensor x = Tensor::of<double>({1}, {1 + 0x1p-11 + 0x1p-40});
  EXPECT_EQ(1 + 0x1p-10, cast_to(DType::kFloat16, x).at(0));
  EXPECT_EQ(kInf, cast_to(DType::kFloat16, Tensor::of<float>({1}, {1e6F})).at(0));
}

TEST(Cast, ReadsAndWritesText) {
  const Tensor x = *Tensor::strings({4}, {"3.5", "-INF", "nan", "1e-3"});
  const auto values = *cast_to(DType::kFloat32, x).to_floats();
  EXPECT_EQ(3.5F, values[0]);
  EXPECT_EQ(-kInf, values[1]);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(1e-3F, values[3]);
  const Tensor back = cast_to(DType::kString, Tensor::of<float>({2}, {1, 0.1F}));
  EXPECT_EQ((std::vector<std::string>{"1.0", "0.1"}), back.string_values());
  Attributes a;
  a["to"] = attribute(static_cast<int64_t>(DType::kInt32));
  const auto refused = run_op("", "Cast", a, {*Tensor::strings({1}, {"seven"})}, 21);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string::npos, refused.error().text().find("\"seven\" is no integer"));
}

TEST(TopK, PutsTheLowerIndexFirstAmongEquals) {
  const Tensor x = Tensor::of<float>({5}, {1, 3, 3, kNan, 3});
  const auto y = run_op("", "TopK", {}, {x, Tensor::of<int64_t>({1}, {3})}, 17);
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((std::vector<int64_t>{3, 1, 2}), *(*y)[1].to_ints());
}

TEST(Slice, StartsAtTheFirstElementWhereAStartLiesBeforeIt) {
  // Backwards too, unlike NumPy: ONNX clamps a start to [0, size - 1].
  const auto list = [](int64_t v) { return Tensor::of<int64_t>({1}, {v}); };
  const auto y =
      run_op("", "Slice", {},
             {Tensor::of<float>({3}, {5, 6, 7}), list(-9), list(INT32_MIN), list(0), list(-1)}, 13);
  EXPECT_EQ((std::vector<float>{5}), *first(y).to_floats());
  const auto none = run_op(
      "", "Slice", {},
      {Tensor::of<float>({0}, std::vector<float>{}), list(-9), list(INT32_MIN), list(0), list(-1)},
      13);
  EXPECT_EQ((Shape{0}), first(none).shape());
}

TEST(Traits, OfWhatMovesSelectsAndMaps) {
  const Tensor low = Tensor::scalar<float>(0), high = Tensor::scalar<float>(6);
  std::vector<InputInfo> inputs(3);
  for (InputInfo& in : inputs)
    in.present = true;
  inputs[1].constant = &low;
  inputs[2].constant = &high;
  Node node;
  node.inputs.resize(3);
  const auto trait = [&](const char* op) { return find_op("", op)->quant.fn(node, inputs); };
  using Kind = QuantTrait::Kind;
  for (const char* op : {"Reshape", "Transpose", "Slice", "Gather", "Squeeze", "Pad", "Expand"}) {
    EXPECT_EQ(Kind::kSameScale, trait(op).kind) << op;
    EXPECT_EQ(std::vector<size_t>{0}, trait(op).inputs) << op;
  }
  EXPECT_EQ((std::vector<size_t>{0, 1, 2}), trait("Concat").inputs);
  EXPECT_EQ((std::vector<size_t>{1, 2}), trait("Where").inputs);
  EXPECT_EQ(Kind::kElementwise, trait("Add").kind);
  EXPECT_EQ(Kind::kUnary, trait("Gelu").kind);
  EXPECT_EQ(Kind::kNone, trait("Div").kind);
}

TEST(Registry, NamesEachOperatorOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const OpDef& op : all_ops()) {
    EXPECT_TRUE(seen.emplace(op.domain, op.name).second) << op.name;
    EXPECT_GE(op.since, 1) << op.name;
    EXPECT_EQ(&op, find_op(op.domain, op.name));
  }
  EXPECT_EQ(find_op("", "Add"), find_op("ai.onnx", "Add"));
  EXPECT_EQ(nullptr, find_op("", "NoSuchOperator"));
}

} // namespace
} // namespace octet::test
