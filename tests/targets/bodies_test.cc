// SPDX-License-Identifier: Apache-2.0
// check looks into the bodies of If, Loop and Scan.
#include <gtest/gtest.h>

#include "octet/target.h"
#include "octet/text.h"

namespace octet {
namespace {

TEST(CheckBodies, NamesThePathAndKnowsCapturedConstants) {
  const Result<Graph> g = parse_graph(R"(graph g opset(""=17)
input c: bool[]
input x: f32[4]
const s: f32[] = [0.5]
const z: i8[] = [3]
y = If(c) {then_branch={ graph a
  capture x: f32[4]
  capture s: f32[]
  capture z: i8[]
  q = QuantizeLinear(x, s, z) "inner"
  t = DequantizeLinear(q, s, z)
  output t: f32[4]
}, else_branch={ graph b
  capture x: f32[4]
  u = Abs(x)
  output u: f32[4]
}} "choice"
output y: f32[4]
)");
  ASSERT_TRUE(g.ok()) << g.error().text();
  const auto findings = check(*g, "tensorrt-10").value();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rule, "zero-point-not-zero");
  EXPECT_EQ(findings[0].node, "If \"choice\" then_branch: QuantizeLinear \"inner\"");
  EXPECT_FALSE(accepted(findings));
}

} // namespace
} // namespace octet
