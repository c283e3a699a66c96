// SPDX-License-Identifier: Apache-2.0
// The guard against NaN behind a softmax goes only where no mask brings one: every graph here gives
// the same bits by the reference before and after.
#include "passes/pass_support.h"

namespace octet {
namespace {

using test::apply;
using test::expect_same_numbers;
using test::parse;

/// `masked`: lines that make t from the products s.
Graph guarded(const std::string& masked) {
  return parse("graph g opset(\"\"=17)\ninput q: f32[2, 4, 4]\ninput m: bool[2, 1, 4]\n"
               "const zero: f32[] = [0]\ns = MatMul(q, q)\n" +
               masked +
               "\np = Softmax(t)\nn = IsNaN(p)\ny = Where(n, zero, p)\n"
               "output y: f32[2, 4, 4]\n");
}

/// Whether the guard went.
bool goes(const std::string& masked) {
  SCOPED_TRACE(masked);
  const Graph before = guarded(masked);
  Graph after = before;
  const bool gone = !apply(after, {eliminate_nan_guard}).empty();
  expect_same_numbers(before, after, 0);
  return gone;
}

std::string constant_mask(const std::string& row) {
  return "const mask: f32[4] = [" + row + "]\nt = Add(s, mask)";
}

TEST(EliminateNanGuard, GoesWhereEveryRowHasAFiniteScoreAndNoneIsNan) {
  EXPECT_TRUE(goes(constant_mask("0, -1, 3, 0.5")));
  EXPECT_TRUE(goes(constant_mask("0, -inf, -inf, -inf")));
  EXPECT_TRUE(goes("const k: f32[] = [0.5]\nh = Mul(s, k)\nconst mask: f32[4] = [0, -inf, 0, 0]\n"
                   "t = Add(mask, h)"));
  EXPECT_TRUE(goes("const a: f32[4] = [0, -inf, 0, 0]\nconst b: f32[4] = [1, 2, 3, 4]\n"
                   "h = Add(s, a)\nt = Add(h, b)"));
  EXPECT_TRUE(goes("const low: f32[] = [-3.4e38]\nmask = Where(m, zero, low)\nt = Add(s, mask)"));
}

TEST(EliminateNanGuard, StaysWhereAMaskedRowIsNan) {
  EXPECT_FALSE(goes("const low: f32[] = [-inf]\nmask = Where(m, zero, low)\nt = Add(s, mask)"));
  EXPECT_FALSE(goes(constant_mask("-inf, -inf, -inf, -inf")));
  EXPECT_FALSE(goes(constant_mask("0, inf, 0, 0")));
  EXPECT_FALSE(goes(constant_mask("0, nan, 0, 0")));
  EXPECT_FALSE(goes(constant_mask("nan, nan, nan, nan")));
  // A finite score in each row of both, none together.
  EXPECT_FALSE(goes("const a: f32[4] = [0, 0, -inf, -inf]\nconst b: f32[4] = [-inf, -inf, 0, 0]\n"
                    "h = Add(s, a)\nt = Add(h, b)"));
  // A constant mask of -inf and one that is computed and finite, the other way around.
  EXPECT_FALSE(goes("const low: f32[] = [-inf]\nconst a: f32[4] = [0, -inf, 0, 0]\n"
                    "h = Add(s, a)\nmask = Where(m, zero, low)\nt = Add(h, mask)"));
  EXPECT_FALSE(goes("const k: f32[] = [inf]\nt = Mul(s, k)"));
  EXPECT_FALSE(goes("const k: f32[] = [nan]\nt = Mul(s, k)"));
}

/// What is finite in f32 is -inf in f16.
TEST(EliminateNanGuard, KnowsTheRangeOfTheMasksType) {
  const Graph before = parse(R"(graph g opset(""=17)
input q: f16[2, 4, 4]
input m: bool[2, 1, 4]
const zero: f32[] = [0]
const low: f32[] = [-1e9]
const none: f16[] = [0]
wide = Where(m, zero, low)
mask = Cast(wide) {to=10}
s = MatMul(q, q)
t = Add(s, mask)
p = Softmax(t)
n = IsNaN(p)
y = Where(n, none, p)
output y: f16[2, 4, 4]
)");
  Graph after = before;
  EXPECT_TRUE(apply(after, {eliminate_nan_guard}).empty());
}

} // namespace
} // namespace octet
