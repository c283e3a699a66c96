// SPDX-License-Identifier: Apache-2.0
// check against the verdicts that the real parsers gave (docs/targets.md section 7), and where it
// has to be stricter than they are.
#include <algorithm>
#include <string>

#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/target.h"

namespace octet {
namespace {

struct Case {
  const char* what;
  const char* body; ///< between the header and the output
  const char* rule; ///< expected error, or "" where it is accepted
};

constexpr const char* kOrder[] = {"tensorrt-8.5",  "tensorrt-8.6",   "tensorrt-10",
                                  "tensorrt-10.1", "tensorrt-10.10", "tensorrt-11"};

Graph parse(const std::string& body) {
  return parse_graph(
             "graph g opset(\"\"=17, \"com.microsoft\"=1)\n"
             "input x: f32[2, 4]\n"
             "const s: f32[] = [0.1]\n"
             "const s4: f32[4] = [0.1, 0.2, 0.3, 0.4]\n"
             "const z: i8[] = [0]\n"
             "const z4: i8[4] = [0, 0, 0, 0]\n"
             "const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
             "const w8: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n" +
             body + "\noutput y: f32[*]\n")
      .value();
}

const Case kCases[] = {
    {"symmetric int8 Q/DQ", "q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)", ""},
    {"stored weight per channel",
     "q = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\n"
     "b = DequantizeLinear(w8, s4, z4) {axis=1}\ny = MatMul(a, b)",
     ""},
    {"float weight, Q, DQ",
     "q = QuantizeLinear(w, s4, z4) {axis=1}\nb = DequantizeLinear(q, s4, z4) {axis=1}\n"
     "y = MatMul(x, b)",
     ""},
    {"uint8, zero point 0",
     "const u: u8[] = [0]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-uint8"},
    {"int8, zero point 3",
     "const u: i8[] = [3]\nq = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     "zero-point-not-zero"},
    {"zero point behind Identity",
     "i = Identity(z)\nq = QuantizeLinear(x, s, i)\ny = DequantizeLinear(q, s, i)",
     "zero-point-hidden"},
    {"no zero point", "q = QuantizeLinear(x, s)\ny = DequantizeLinear(q, s)", "zero-point-missing"},
    {"dynamic quantization",
     "q, qs, qz = DynamicQuantizeLinear(x)\nm = MatMulInteger(q, w8, qz)\ny = Cast(m) {to=1}",
     "integer-operator"},
    {"int32 bias",
     "const b: i32[4] = [1, 2, 3, 4]\nconst zb: i32[] = [0]\ny = DequantizeLinear(b, s, zb)",
     "int32-dequantize"},
    {"Clip on int8",
     "const lo: i8[] = [-127]\nconst hi: i8[] = [127]\nq = QuantizeLinear(x, s, z)\n"
     "c = Clip(q, lo, hi)\ny = DequantizeLinear(c, s, z)",
     "clip-on-codes"},
    {"slope that adds a dimension",
     "const slopes: f32[3, 1, 1] = [0.1, 0.2, 0.3]\ny = PRelu(x, slopes)", "prelu-slope"},
    {"slopes of columns", "y = PRelu(x, s4)", ""},
    {"MatMul per channel without axis", "b = DequantizeLinear(w8, s4, z4)\ny = MatMul(x, b)",
     "axis-missing"},
    {"activation per channel",
     "q = QuantizeLinear(x, s4, z4) {axis=1}\ny = DequantizeLinear(q, s4, z4) {axis=1}",
     "activation-per-channel"},
    {"scale 0",
     "const t: f32[] = [0.0]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-positive"},
    {"scale NaN",
     "const t: f32[] = [nan]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-positive"},
    {"scale infinite",
     "const t: f32[] = [inf]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-normal"},
    {"scale subnormal",
     "const t: f32[] = [1e-40]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     "scale-not-normal"},
    {"other domains", "y = com.microsoft.QuickGelu(x)", "unknown-domain"},
};

TEST(CheckTensorRt, AgreesWithTheParsersOrIsStricter) {
  for (const Case& c : kCases) {
    const Graph graph = parse(c.body);
    for (const char* target : kOrder) {
      SCOPED_TRACE(std::string(c.what) + " for " + target);
      const std::vector<Finding> findings = check(graph, target).value();
      if (*c.rule == 0) {
        EXPECT_TRUE(accepted(findings)) << findings.front().message;
        continue;
      }
      EXPECT_FALSE(accepted(findings));
      EXPECT_TRUE(test::has_rule(findings, c.rule));
    }
  }
}

TEST(CheckTensorRt, FindingsSayWhatWhereAndHow) {
  for (const Case& c : kCases) {
    const std::vector<Finding> findings = check(parse(c.body), "tensorrt-10").value();
    for (const Finding& f : findings) {
      EXPECT_FALSE(f.message.empty());
      EXPECT_FALSE(f.fix.empty());
      EXPECT_EQ(f.source.rfind("targets ", 0), 0U);
      EXPECT_NE(f.node.find('"'), std::string::npos) << f.node;
    }
  }
}

TEST(CheckTensorRt, VersionsDiffer) {
  const Graph gelu = parse_graph("graph g opset(\"\"=20)\ninput x: f32[2]\ny = Gelu(x)\n"
                                 "output y: f32[2]\n")
                         .value();
  EXPECT_FALSE(accepted(check(gelu, "tensorrt-8.6").value()));
  EXPECT_TRUE(accepted(check(gelu, "tensorrt-10.1").value()));
  const Graph ms = parse("y = com.microsoft.Gelu(x)");
  EXPECT_FALSE(accepted(check(ms, "tensorrt-8.6").value()));
  EXPECT_TRUE(accepted(check(ms, "tensorrt-10.1").value()));
  const Graph norm = parse_graph("graph g opset(\"\"=23)\ninput x: f32[2, 4]\n"
                                 "const g: f32[4] = [1, 1, 1, 1]\ny = RMSNormalization(x, g)\n"
                                 "output y: f32[2, 4]\n")
                         .value();
  EXPECT_FALSE(accepted(check(norm, "tensorrt-10.10").value()));
  EXPECT_TRUE(accepted(check(norm, "tensorrt-11").value()));
}

TEST(CheckOnnxRuntime, NamesWhatItCannotRun) {
  const Graph own = parse_graph("graph g opset(\"\"=17, \"octet.native\"=1)\ninput x: f32[2, 4]\n"
                                "y = octet.native.Exp(x)\noutput y: f32[2, 4]\n")
                        .value();
  EXPECT_FALSE(accepted(check(own, "onnxruntime").value()));
  const Graph plain = parse("q = QuantizeLinear(x, s)\ny = DequantizeLinear(q, s)");
  const auto findings = check(plain, "onnxruntime").value();
  EXPECT_TRUE(accepted(findings));
  EXPECT_TRUE(test::has_rule(findings, "zero-point-missing"));
  const Graph shared = parse("q = QuantizeLinear(x, s, z)\na = DequantizeLinear(q, s, z)\n"
                             "b = DequantizeLinear(q, s, z)\ny = Add(a, b)");
  EXPECT_TRUE(test::has_rule(check(shared, "onnxruntime").value(), "shared-int8"));
}

/// Verdicts of ONNX Runtime 1.31 on the CPU when it loads such a file.
TEST(CheckOnnxRuntime, TypesVersionsAndAttributesAreThoseOfTheOperator) {
  struct TypeCase {
    const char *what, *header, *body, *rule;
  };
  const TypeCase cases[] = {
      {"f16 scales at 17", "graph g opset(\"\"=17)\ninput x: f16[2]\nconst s: f16[] = [1]\n",
       "const z: i8[] = [0]\nq = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)",
       "operator-type"},
      {"f16 scales at 19", "graph g opset(\"\"=19)\ninput x: f16[2]\nconst s: f16[] = [1]\n",
       "const z: i8[] = [0]\nq = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)", ""},
      {"Gelu at 17", "graph g opset(\"\"=17)\ninput x: f32[2]\n", "y = Gelu(x)",
       "operator-version"},
      {"Gelu at 20", "graph g opset(\"\"=20)\ninput x: f32[2]\n", "y = Gelu(x)", ""},
      {"int8 Relu at 13", "graph g opset(\"\"=13)\ninput x: i8[2]\n", "y = Relu(x)",
       "operator-type"},
      {"int8 Relu at 14", "graph g opset(\"\"=14)\ninput x: i8[2]\n", "y = Relu(x)", ""},
      {"int16 Relu at 14", "graph g opset(\"\"=14)\ninput x: i16[2]\n", "y = Relu(x)",
       "no-cpu-kernel"},
      {"f64 Conv", "graph g opset(\"\"=17)\ninput x: f64[1, 1, 4]\ninput w: f64[1, 1, 3]\n",
       "y = Conv(x, w)", "no-cpu-kernel"},
      {"f16 Conv", "graph g opset(\"\"=17)\ninput x: f16[1, 1, 4]\ninput w: f16[1, 1, 3]\n",
       "y = Conv(x, w)", ""},
      {"bf16 Conv at 17",
       "graph g opset(\"\"=17)\ninput x: bf16[1, 1, 4]\ninput w: bf16[1, 1, 3]\n", "y = Conv(x, w)",
       "operator-type"},
      {"bf16 Add", "graph g opset(\"\"=17)\ninput x: bf16[2]\n", "y = Add(x, x)", "no-cpu-kernel"},
      {"OneHot of i64", "graph g opset(\"\"=17)\ninput x: i64[2]\nconst d: i64[] = [3]\n",
       "const v: i64[2] = [0, 1]\ny = OneHot(x, d, v)", ""},
      {"OneHot of i64 with an i32 depth",
       "graph g opset(\"\"=17)\ninput x: i64[2]\nconst d: i32[] = [3]\n",
       "const v: i64[2] = [0, 1]\ny = OneHot(x, d, v)", "no-cpu-kernel"},
      {"attribute", "graph g opset(\"\"=17)\ninput x: f32[2]\n", "y = Relu(x) {slope=2}",
       "unknown-attribute"},
  };
  for (const TypeCase& c : cases) {
    SCOPED_TRACE(c.what);
    const std::string header = c.header; // the output has the input's type
    const size_t first = header.find("input x: ") + 9;
    const std::string type = header.substr(first, header.find('[', first) - first);
    const Graph graph = parse_graph(header + c.body + "\noutput y: " + type + "[*]\n").value();
    const auto findings = check(graph, "onnxruntime").value();
    EXPECT_EQ(accepted(findings), *c.rule == 0);
    EXPECT_TRUE(*c.rule == 0 || test::has_rule(findings, c.rule));
  }
}

TEST(CheckTensorRt, InputsAndCastsHaveTypesThatItKnows) {
  const auto with_input = [](const std::string& type) {
    return parse_graph("graph g opset(\"\"=17)\ninput x: " + type +
                       "[2]\ny = Identity(x)\noutput y: " + type + "[2]\n")
        .value();
  };
  for (const char* type : {"str", "i16", "u16", "u32", "u64", "c64", "f8e5m2"})
    for (const char* target : kOrder)
      EXPECT_TRUE(test::has_rule(check(with_input(type), target).value(), "input-type"))
          << type << " for " << target;
  for (const char* type : {"f32", "f64", "f16", "i8", "i32", "i64", "bool"})
    EXPECT_TRUE(accepted(check(with_input(type), "tensorrt-10").value())) << type;
  EXPECT_TRUE(test::has_rule(check(with_input("bf16"), "tensorrt-8.6").value(), "input-type"));
  const Graph cast = parse("a = Cast(x) {to=5}\ny = Cast(a) {to=1}");
  EXPECT_TRUE(test::has_rule(check(cast, "tensorrt-10").value(), "cast-type"));
}

TEST(CheckOnnxRuntime, DequantizeTakesTheTypeOfItsCodes) {
  const Graph stored = parse("wd = DequantizeLinear(w8, s)\ny = MatMul(x, wd)");
  for (const char* target : {"onnxruntime", "octet", "tensorrt-10"})
    EXPECT_TRUE(check(stored, target).value().empty()) << target;
  EXPECT_TRUE(test::has_rule(check(stored, "tensorrt-8.6").value(), "zero-point-missing"));
  const Graph small =
      parse_graph("graph g opset(\"\"=21)\nconst s: f32[] = [0.1]\n"
                  "const w: i4[2, 2] = [1, 2, 3, 4]\ninput x: f32[2, 2]\n"
                  "d = DequantizeLinear(w, s)\ny = Add(x, d)\noutput y: f32[2, 2]\n")
          .value();
  EXPECT_FALSE(test::has_rule(check(small, "onnxruntime").value(), "zero-point-missing"));
  const std::vector<Finding> findings = check(small, "tensorrt-10").value();
  for (const Finding& finding : findings) {
    if (finding.rule != "zero-point-missing") continue;
    EXPECT_NE(finding.message.find("these are"), std::string::npos) << finding.message;
  }
}

TEST(Check, ScalesThatQuantizeNothingAreNamed) {
  struct Scale {
    const char* value;
    const char* fix; ///< of Q
  };
  const Scale scales[] = {{"0", "calibrate"}, {"-0.1", "magnitude"}, {"nan", "calibrate"}};
  for (const Scale& scale : scales)
    for (const char* target : {"onnxruntime", "octet", "tensorrt-10"}) {
      const auto findings = check(parse(std::string("const t: f32[] = [") + scale.value +
                                        "]\nq = QuantizeLinear(x, t, z)\n"
                                        "y = DequantizeLinear(q, t, z)"),
                                  target)
                                .value();
      const auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& f) {
        return f.rule == "scale-not-positive";
      });
      ASSERT_NE(found, findings.end()) << scale.value << " on " << target;
      EXPECT_NE(found->fix.find(scale.fix), std::string::npos) << found->fix;
      EXPECT_EQ(accepted(findings), std::string_view(target) != "tensorrt-10");
    }
  const auto channel = check(parse("const t: f32[4] = [0.1, 0, 0.1, 0.1]\n"
                                   "wd = DequantizeLinear(w8, t, z4) {axis=1}\ny = MatMul(x, wd)"),
                             "tensorrt-10")
                           .value();
  ASSERT_FALSE(channel.empty());
  EXPECT_NE(channel.front().fix.find("all-zero channel"), std::string::npos);
}

TEST(Targets, UnknownNamesGetTheNearest) {
  for (const std::string_view name : target_names())
    EXPECT_EQ(parse_target(name).value(), name);
  const auto near = parse_target("onnx-runtime");
  ASSERT_FALSE(near.ok());
  EXPECT_NE(near.error().text().find("\"onnxruntime\""), std::string::npos);
  EXPECT_FALSE(check(parse("y = Relu(x)"), "").ok());
}

TEST(Targets, UnknownVersionsGetTheKnownOnes) {
  for (const char* name : {"tensorrt-12", "tensorrt-8.4"}) {
    const auto unknown = parse_target(name);
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().text().find("known are tensorrt-8.5 to tensorrt-11.1"),
              std::string::npos)
        << unknown.error().text();
  }
}

} // namespace
} // namespace octet
