// SPDX-License-Identifier: Apache-2.0
// Rules of check that no file of bad_files.cc breaks: what ONNX itself forbids or leaves open, what
// one version alone minds, and what is only said.
#include <string>

#include "targets/bad_files.h"
#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/repair.h"
#include "octet/target.h"

namespace octet {
namespace {

struct Broken {
  const char* rule;
  Severity severity;
  const char* target;
  int opset;
  const char* body; ///< from x: f32[2, 4] to y
};

const Broken kBroken[] = {
    {"scale-empty", Severity::kError, "tensorrt-10", 17,
     "const e: f32[0] = []\nconst n: i8[0] = []\nq = QuantizeLinear(x, e, n) {axis=1}\n"
     "y = DequantizeLinear(q, s, z)"},
    {"scale-shape", Severity::kError, "tensorrt-10", 17,
     "input t: f32[M]\nq = QuantizeLinear(x, t, z4) {axis=1}\ny = DequantizeLinear(q, s, z)"},
    {"scale-not-constant", Severity::kWarning, "tensorrt-10", 17,
     "input t: f32[]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)"},
    {"scale-rank", Severity::kError, "tensorrt-10", 21,
     "const t: f32[1, 1, 2] = [1, 2]\nd = DequantizeLinear(w8, t) {axis=0, block_size=2}\n"
     "y = MatMul(x, d)"},
    {"block-dimensions", Severity::kError, "tensorrt-10", 21,
     "const t: f32[2, 2] = [1, 2, 3, 4]\nconst n: i8[2, 2] = [0, 0, 0, 0]\n"
     "d = DequantizeLinear(w8, t, n) {axis=0, block_size=2}\ny = MatMul(x, d)"},
    {"block-size", Severity::kError, "tensorrt-10", 21,
     "const t: f32[3, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]\n"
     "d = DequantizeLinear(w8, t) {axis=0, block_size=2}\ny = MatMul(x, d)"},
    {"operator-type", Severity::kError, "tensorrt-10", 17,
     "const t: f8e4m3fn[] = [0]\nq = QuantizeLinear(x, s, t)\ny = DequantizeLinear(q, s, t)"},
    {"duplicate-quantize", Severity::kWarning, "tensorrt-10", 17,
     "q = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\np = QuantizeLinear(x, s, z)\n"
     "b = DequantizeLinear(p, s, z)\ny = Add(a, b)"},
    {"stored-int8-weight", Severity::kWarning, "tensorrt-8.6", 17,
     "q = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\n"
     "b = DequantizeLinear(w8, s4, z4) {axis=1}\ny = MatMul(a, b)"},
    {"unknown-operator", Severity::kError, "tensorrt-10", 17, "y = Unheard(x)"},
    {"operator-too-new", Severity::kError, "tensorrt-8.5", 20,
     "y = Gelu(x) {approximate=\"none\"}"},
    {"unknown-operator", Severity::kError, "octet", 17, "y = Unheard(x)"},
};

TEST(CheckRules, EachIsFoundWithItsSeverityAndAWayOut) {
  for (const Broken& broken : kBroken) {
    SCOPED_TRACE(std::string(broken.rule) + " for " + broken.target);
    const test::BadFile file = {.name = broken.rule,
                                .body = broken.body,
                                .rule = broken.rule,
                                .repair = "",
                                .opset = broken.opset};
    const auto findings = check(test::parse_bad_file(file), broken.target).value();
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [&](const Finding& f) { return f.rule == broken.rule; });
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(found->severity, broken.severity);
    EXPECT_FALSE(found->fix.empty());
    if (found->fix.find("octet repair does") != std::string::npos) {
      const Repaired repaired = repair(test::parse_bad_file(file), broken.target).value();
      EXPECT_FALSE(test::has_rule(repaired.left, broken.rule));
    }
    EXPECT_TRUE(broken.severity == Severity::kWarning || !accepted(findings));
  }
}

} // namespace
} // namespace octet
