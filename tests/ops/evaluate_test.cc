// SPDX-License-Identifier: Apache-2.0
// What constants alone lead to.
#include "ops/evaluate.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

/// The value `y` of a graph with an input x and a constant c = [1, 2].
std::optional<Tensor> value_of(const std::string& lines) {
  const auto parsed = parse_graph("graph g opset(\"\"=17, \"mine\"=1)\ninput x: f32[2]\n"
                                  "const c: f32[2] = [1, 2]\n" +
                                  lines);
  if (!parsed.ok()) {
    ADD_FAILURE() << parsed.error().text();
    return std::nullopt;
  }
  return constant_value(*parsed, parsed->find_value("y").value());
}

std::string chain(const std::string& op, int length, const std::string& from) {
  std::string lines, before = from;
  for (int i = 0; i < length; ++i) {
    const std::string made = i + 1 == length ? "y" : "t" + std::to_string(i);
    lines += made + " = " + op + "(" + before + (op == "Add" ? ", " + before : "") + ")\n";
    before = made;
  }
  return lines + "output y: f32[2]\n";
}

TEST(ConstantValue, ComesFromConstantsAlone) {
  const auto stored = value_of("y = Identity(c)\noutput y: f32[2]\n");
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->at(1), 2);
  EXPECT_FALSE(value_of("y = Add(c, x)\noutput y: f32[2]\n"));
  EXPECT_FALSE(value_of("y = Identity(x)\noutput y: f32[2]\n"));
  EXPECT_FALSE(constant_value(Graph{}, ValueId{}));
}

TEST(ConstantValue, ReadsNodesWithoutInputs) {
  const auto value =
      value_of("k = Constant() {value_float=0.5}\ny = Mul(c, k)\noutput y: f32[2]\n");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->at(1), 1);
}

TEST(ConstantValue, LeavesOutInputsThatAreAbsent) {
  const auto value = value_of("const low: f32[] = [1.5]\ny = Clip(c, low)\noutput y: f32[2]\n");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->at(0), 1.5);
  const auto above =
      value_of("const high: f32[] = [1.5]\ny = Clip(c, _, high)\noutput y: f32[2]\n");
  ASSERT_TRUE(above);
  EXPECT_EQ(above->at(1), 1.5);
}

TEST(ConstantValue, IsDrawnByNothing) {
  EXPECT_FALSE(value_of("r = RandomNormalLike(c)\ny = Add(c, r)\noutput y: f32[2]\n"));
  EXPECT_FALSE(value_of("y = mine.Anything(c)\noutput y: f32[2]\n"));
}

TEST(ConstantValue, FollowsAFewDozenNodes) {
  const auto doubled = value_of(chain("Add", 20, "c")); // 2^20 paths lead to c
  ASSERT_TRUE(doubled);
  EXPECT_EQ(doubled->at(0), 1 << 20);
  EXPECT_TRUE(value_of(chain("Identity", 64, "c")));
  EXPECT_FALSE(value_of(chain("Identity", 65, "c")));
}

} // namespace
} // namespace octet
