// SPDX-License-Identifier: Apache-2.0
// Patterns that leave nodes in float: those that change a number, and those that do not.
#include "quant/no_effect.h"
#include "quant/prepare.h"
#include "quant/support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

/// Nothing has a rule for Erf, and the product behind it quantizes what it reads by itself.
Graph network() {
  return test::with_weights(R"(graph g opset(""=17)
input x: f32[N, 4]
const w: f32[4, 4] = ?
h = MatMul(x, w) "first"
e = Erf(h) "curve"
y = MatMul(e, w) "second"
z = Erf(y) "last"
output z: f32[N, 4]
)");
}

std::vector<NoEffect> without_effect(const QuantizeOptions& options) {
  const auto placement = find_placement(options.target).value();
  const Graph prepared = prepare_for_quantization(network(), *placement).value();
  return excluded_without_effect(prepared, *placement, options).value();
}

TEST(NoEffect, NamesTheReadersThatQuantizeTheirInput) {
  const std::vector<NoEffect> found = without_effect({.exclude = {"curve", "first"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].pattern, "curve");
  EXPECT_EQ(found[0].readers, std::vector<std::string>{"second"});
}

TEST(NoEffect, NodesThatAreInFloatAnywayHaveNone) {
  const std::vector<NoEffect> found = without_effect({.exclude = {"last"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].readers.empty());
}

TEST(NoEffect, ProductsHaveAnEffectInEveryMode) {
  for (const QuantMode mode : {QuantMode::kStatic, QuantMode::kDynamic, QuantMode::kWeightOnly}) {
    EXPECT_TRUE(without_effect({.mode = mode, .exclude = {"second"}}).empty()) << name(mode);
    EXPECT_TRUE(without_effect({.mode = mode, .exclude = {"MatMul", "sec*"}}).empty())
        << name(mode);
    EXPECT_TRUE(without_effect({.mode = mode}).empty()) << name(mode);
  }
}

/// What the answer is about: the same numbers.
TEST(NoEffect, FilesComputeTheSame) {
  const Graph graph = network();
  const Tensor x = test::random_tensor({16, 4}, 5);
  const auto outputs = [&](const std::vector<std::string>& exclude) {
    const QuantizationPlan plan =
        test::planned(graph, test::calibration({8, 4}, 4), {.exclude = exclude});
    return test::run_reference(quantize(graph, plan).value(), x);
  };
  EXPECT_TRUE(outputs({}).identical(outputs({"curve"})));
  EXPECT_FALSE(outputs({}).identical(outputs({"second"})));
}

} // namespace
} // namespace octet
