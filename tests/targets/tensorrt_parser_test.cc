// SPDX-License-Identifier: Apache-2.0
// check beside the verdicts of TensorRT's own parsers, 8.5.3, 8.6.0, 10.1 and 10.10, on a file of
// each kind in docs/targets.md section 7: what the parser refuses, check refuses and quotes it;
// what the parser takes and gets wrong, check refuses too.
#include <algorithm>
#include <array>
#include <string>

#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/target.h"

namespace octet {
namespace {

constexpr const char* kOk = "ok";           ///< accepted, and means what it says
constexpr const char* kWrong = "wrong";     ///< accepted, and read as something else
constexpr const char* kRefused = "refused"; ///< no text was written down

constexpr const char* kLong =
    "TensorRT only supports symmetric quantization. The zero point for the "
    "QuantizeLinear/DequantizeLinear operator must be all zeros.";
constexpr const char* kPlugin =
    "Plugin not found, are the plugin name, version, and namespace correct?";
constexpr const char* kPositive = "Scale coefficients must all be positive";
constexpr const char* kInitializer = "Failed to import initializer.";
constexpr const char* kInitialzer = "Failed to import initialzer";

constexpr std::array<const char*, 4> kVersions = {"tensorrt-8.5", "tensorrt-8.6", "tensorrt-10.1",
                                                  "tensorrt-10.10"};

struct Row {
  const char* what;
  int opset;
  const char* body;                  ///< between the header and the output y
  std::array<const char*, 4> parser; ///< a verdict, or what it said
};

constexpr std::array<const char*, 4> all(const char* verdict) {
  return {verdict, verdict, verdict, verdict};
}

const Row kRows[] = {
    {"symmetric int8", 17, "q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)", all(kOk)},
    {"int8 weight and DQ", 17, "d = DequantizeLinear(w8, s, z)\ny = MatMul(x, d)", all(kOk)},
    {"float weight, Q, DQ", 17,
     "q = QuantizeLinear(w, s, z)\nd = DequantizeLinear(q, s, z)\ny = MatMul(x, d)", all(kOk)},
    {"uint8, zero point 0",
     17,
     "q = QuantizeLinear(x, s, u)\ny = DequantizeLinear(q, s, u)",
     {kWrong, kWrong,
      "TensorRT doesn't support QuantizeLinear/DequantizeLinear with UINT8 zero_point. TensorRT "
      "will "
      "use INT8 instead.",
      "For zero_point with type uint8 TensorRT will use INT8 instead."}},
    {"zero point 3",
     17,
     "const t: i8[] = [3]\nq = QuantizeLinear(x, s, t)\ny = DequantizeLinear(q, s, t)",
     {"TRT only supports symmetric quantization - zeroPt must be all zeros", kLong, kLong, kLong}},
    {"zero point 3 behind Identity",
     17,
     "const t: i8[] = [3]\ni = Identity(t)\nq = QuantizeLinear(x, s, i)\n"
     "y = DequantizeLinear(q, s, i)",
     {kWrong, kWrong, kLong, kLong}},
    {"zero point 3 behind Cast",
     17,
     "const t: i32[] = [3]\ni = Cast(t) {to=3}\nq = QuantizeLinear(x, s, i)\n"
     "y = DequantizeLinear(q, s, i)",
     {kWrong, kWrong, kLong, kLong}},
    {"QLinearConv",
     17,
     "const c: f32[1, 1, 4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
     "const k: i8[1, 1, 1, 1] = [1]\nq = QuantizeLinear(c, s, z)\n"
     "p = QLinearConv(q, s, z, k, s, z, s, z)\ny = DequantizeLinear(p, s, z)",
     {kPlugin, kPlugin, "Assertion failed: false\" from checkQLinearConv",
      "Assertion failed: false\" from checkQLinearConv"}},
    {"QLinearMatMul",
     17,
     "q = QuantizeLinear(x, s, z)\np = QLinearMatMul(q, s, z, w8, s, z, s, z)\n"
     "y = DequantizeLinear(p, s, z)",
     {kPlugin, kPlugin, "Assertion failed: false", "Assertion failed: false"}},
    {"MatMulInteger",
     17,
     "q = QuantizeLinear(x, s, z)\nm = MatMulInteger(q, w8, z, z)\ny = Cast(m) {to=1}",
     {kPlugin, kPlugin, "Assertion failed: false\" from checkMatMulInteger",
      "Assertion failed: false\" from checkMatMulInteger"}},
    {"ConvInteger",
     17,
     "const c: i8[1, 1, 2, 2] = [1, 2, 3, 4]\nconst k: i8[1, 1, 1, 1] = [1]\n"
     "m = ConvInteger(c, k)\ny = Cast(m) {to=1}",
     {kPlugin, kPlugin, "Assertion failed: false", "Assertion failed: false"}},
    {"DynamicQuantizeLinear",
     17,
     "q, qs, qz = DynamicQuantizeLinear(x)\ny = DequantizeLinear(q, qs, qz)",
     {kPlugin, kPlugin, "Assertion failed: false", "Assertion failed: false"}},
    {"int32 bias through DQ", 17,
     "const b: i32[4] = [1, 2, 3, 4]\nconst zb: i32[] = [0]\nd = DequantizeLinear(b, s, zb)\n"
     "y = Add(x, d)",
     all(kWrong)}, // its core refuses
    {"no zero point",
     17,
     "q = QuantizeLinear(x, s)\ny = DequantizeLinear(q, s)",
     {"This version of TensorRT requires 3 inputs for the DequantizeLinear operator.",
      "vector::_M_range_check: __n (which is 2) >= this->size() (which is 2)", kWrong, kWrong}},
    {"Clip on int8, constant bounds", 17,
     "const lo: i8[] = [-127]\nconst hi: i8[] = [127]\nq = QuantizeLinear(x, s, z)\n"
     "c = Clip(q, lo, hi)\ny = DequantizeLinear(c, s, z)",
     all(kWrong)},
    {"Clip on int8, computed bounds",
     17,
     "const one: f32[] = [1]\nlo = QuantizeLinear(one, s, z)\nhi = QuantizeLinear(one, s, z)\n"
     "q = QuantizeLinear(x, s, z)\nc = Clip(q, lo, hi)\ny = DequantizeLinear(c, s, z)",
     {"only supports FLOAT or INT32 inputs for Clip!",
      "only supports FLOAT or INT32 inputs for Clip!",
      "This version of TensorRT only supports floating-point, INT32, or INT64 inputs for Clip! The "
      "current input type is INT8.",
      "This version of TensorRT only supports floating-point, INT32, or INT64 inputs for Clip! The "
      "current input type is INT8."}},
    {"per channel, Gemm transB, axis 0", 17,
     "d = DequantizeLinear(w8, s4, z4) {axis=0}\ny = Gemm(x, d) {transB=1}", all(kOk)},
    {"per channel, MatMul, axis 1", 17,
     "d = DequantizeLinear(w8, s4, z4) {axis=1}\ny = MatMul(x, d)", all(kOk)},
    {"per channel, MatMul, axis -1", 17,
     "d = DequantizeLinear(w8, s4, z4) {axis=-1}\ny = MatMul(x, d)", all(kOk)},
    {"per channel, MatMul, no axis", 17, "d = DequantizeLinear(w8, s4, z4)\ny = MatMul(x, d)",
     all(kRefused)},
    {"FP8 E4M3FN",
     19,
     "const t: f8e4m3fn[] = [0]\nq = QuantizeLinear(x, s, t)\ny = DequantizeLinear(q, s, t)",
     {kRefused, kRefused, kOk, kOk}},
    {"FP8 E5M2 initializer",
     19,
     "const t: f8e5m2[] = [0]\nconst v: f8e5m2[2, 4] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s, t)\ny = Add(x, d)",
     {kInitializer, kInitializer, kInitializer, kInitialzer}},
    {"FP8 E4M3FNUZ initializer",
     19,
     "const t: f8e4m3fnuz[] = [0]\nconst v: f8e4m3fnuz[2, 4] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s, t)\ny = Add(x, d)",
     {kInitializer, kInitializer, kInitializer, kInitialzer}},
    {"UINT4 initializer",
     21,
     "const t: u4[] = [0]\nconst v: u4[2, 4] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s, t)\ny = Add(x, d)",
     {kInitializer, kInitializer, kInitializer, kInitialzer}},
    {"INT16 initializer",
     21,
     "const t: i16[] = [0]\nconst v: i16[2, 4] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s, t)\ny = Add(x, d)",
     {kInitializer, kInitializer, kInitializer, kInitialzer}},
    {"UINT16 initializer",
     21,
     "const t: u16[] = [0]\nconst v: u16[2, 4] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s, t)\ny = Add(x, d)",
     {kInitializer, kInitializer, kInitializer, kInitialzer}},
    {"INT4 per channel",
     21,
     "const t: i4[4] = [0, 0, 0, 0]\n"
     "const v: i4[4, 4] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s4, t) {axis=1}\ny = MatMul(x, d)",
     {kRefused, kRefused, kOk, kOk}},
    {"INT4 in blocks",
     21,
     "const t: i4[2, 4] = [0, 0, 0, 0, 0, 0, 0, 0]\n"
     "const sb: f32[2, 4] = [1, 1, 1, 1, 1, 1, 1, 1]\n"
     "const v: i4[4, 4] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, sb, t) {axis=0, block_size=2}\ny = MatMul(x, d)",
     {kRefused, kRefused, kOk, kOk}},
    {"INT4, odd last dimension, even volume",
     21,
     "const t: i4[] = [0]\nconst v: i4[4, 3] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s, t)\ny = MatMul(x, d)",
     {kRefused, kRefused,
      "Quantization to INT4 is not supported for tensors with an odd last dimension.", kOk}},
    {"INT4, odd volume",
     21,
     "const t: i4[] = [0]\nconst v: i4[1, 3] = [1, 1, 1]\nconst o: f32[4, 1] = [1, 1, 1, 1]\n"
     "d = DequantizeLinear(v, s, t)\nm = MatMul(o, d)\ny = MatMul(x, m)",
     {kRefused, kRefused,
      "Quantization to INT4 is not supported for tensors with an odd last dimension.",
      "4-bit quantization requies an even number of elements."}},
    {"scale 0", 17,
     "const t: f32[] = [0.0]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     all(kPositive)},
    {"scale negative", 17,
     "const t: f32[] = [-1.0]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     all(kPositive)},
    {"scale NaN", 17,
     "const t: f32[] = [nan]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     all(kPositive)},
    {"one zero in a vector", 17,
     "const t: f32[4] = [1, 1, 0, 1]\nd = DequantizeLinear(w8, t, z4) {axis=1}\ny = MatMul(x, d)",
     all(kPositive)},
    {"scale infinite", 17,
     "const t: f32[] = [inf]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     all(kWrong)},
    {"scale subnormal", 17,
     "const t: f32[] = [1e-40]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     all(kWrong)},
    {"scale computed", 17, "t = Abs(s)\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, t, z)",
     all(kOk)},
    {"scale of int32",
     23,
     "const t: i32[] = [1]\nq = QuantizeLinear(x, t, z)\ny = DequantizeLinear(q, s, z)",
     {kWrong, kWrong, kPositive, kPositive}},
    {"scale of halves",
     19,
     "const t: f16[] = [0.1]\nd = DequantizeLinear(w8, t, z)\ne = Cast(d) {to=1}\ny = MatMul(x, e)",
     {kWrong, kWrong, kOk, kOk}},
    {"uint8 data into DQ",
     17,
     "const v: u8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
     "d = DequantizeLinear(v, s, u)\ny = MatMul(x, d)",
     {kWrong, kRefused, kWrong, "Found unsupported input type of UINT8"}},
    {"uint8 between nodes",
     17,
     "c = Cast(x) {to=2}\ny = Cast(c) {to=1}",
     {kOk, "TensorRT does not support UINT8 types for intermediate tensors!",
      "TensorRT does not support UINT8 types for intermediate tensors!",
      "TensorRT does not support UINT8 types for intermediate tensors!"}},
    {"operator set 13", 13, "q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)", all(kOk)},
    {"operator set 23", 23, "q = QuantizeLinear(x, s, z)\ny = DequantizeLinear(q, s, z)", all(kOk)},
    {"LayerNormalization",
     17,
     "const g: f32[4] = [1, 1, 1, 1]\ny = LayerNormalization(x, g)",
     {kPlugin, kOk, kOk, kOk}},
    {"Gelu", 20, "y = Gelu(x)", {kPlugin, kPlugin, kOk, kOk}},
    {"RMSNormalization", 23, "const g: f32[4] = [1, 1, 1, 1]\ny = RMSNormalization(x, g)",
     all(kPlugin)},
    {"Attention", 23,
     "const h: f32[1, 2, 4] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
     "y = Attention(h, h, h) {q_num_heads=1, kv_num_heads=1}",
     all(kPlugin)},
    {"com.microsoft Q and DQ", 17,
     "q = com.microsoft.QuantizeLinear(x, s, z)\ny = com.microsoft.DequantizeLinear(q, s, z)",
     all(kOk)},
    {"com.microsoft Gelu", 17, "y = com.microsoft.Gelu(x)", {kPlugin, kPlugin, kOk, kOk}},
    {"com.microsoft QLinearAdd", 17,
     "q = QuantizeLinear(x, s, z)\np = com.microsoft.QLinearAdd(q, s, z, q, s, z, s, z)\n"
     "y = DequantizeLinear(p, s, z)",
     all(kPlugin)},
    {"com.microsoft FusedMatMul", 17, "y = com.microsoft.FusedMatMul(x, w)", all(kPlugin)},
    {"com.microsoft SkipLayerNormalization", 17,
     "const g: f32[4] = [1, 1, 1, 1]\nconst h: f32[1, 2, 4] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
     "y = com.microsoft.SkipLayerNormalization(h, h, g)",
     all(kPlugin)},
    {"TRT_FP4DynamicQuantize",
     21,
     "y = trt.TRT_FP4DynamicQuantize(x)",
     {kPlugin, kPlugin, kPlugin, kOk}},
    {"TRT_MXFP8DynamicQuantize", 21, "y = trt.TRT_MXFP8DynamicQuantize(x)", all(kPlugin)},
    {"TRT_DynamicQuantize", 21, "y = trt.TRT_DynamicQuantize(x)", all(kPlugin)},
};

Graph graph_of(const Row& row) {
  const Result<Graph> graph =
      parse_graph("graph g opset(\"\"=" + std::to_string(row.opset) +
                  ", \"com.microsoft\"=1, \"trt\"=1)\n"
                  "input x: f32[2, 4]\n"
                  "const s: f32[] = [0.1]\nconst s4: f32[4] = [0.1, 0.2, 0.3, 0.4]\n"
                  "const z: i8[] = [0]\nconst z4: i8[4] = [0, 0, 0, 0]\nconst u: u8[] = [0]\n"
                  "const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n"
                  "const w8: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]\n" +
                  row.body + "\noutput y: f32[*]\n");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return graph.value();
}

std::string said(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings)
    if (f.severity == Severity::kError) out += f.rule + ": " + f.message + "\n";
  return out;
}

TEST(TensorRtParser, CheckGivesItsVerdictAndItsWords) {
  for (const Row& row : kRows) {
    const Graph graph = graph_of(row);
    for (size_t i = 0; i < kVersions.size(); ++i) {
      SCOPED_TRACE(std::string(row.what) + " for " + kVersions[i]);
      const Result<std::vector<Finding>> findings = check(graph, kVersions[i]);
      ASSERT_TRUE(findings.ok()) << findings.error().text();
      const std::string verdict = row.parser[i];
      EXPECT_EQ(accepted(*findings), verdict == kOk) << said(*findings);
      if (verdict == kOk || verdict == kWrong || verdict == kRefused) continue;
      EXPECT_NE(said(*findings).find(verdict), std::string::npos) << said(*findings);
    }
  }
}

/// Where a 10 or 11 takes it and an older one does not, every version between agrees with one of
/// them: rules change once.
TEST(TensorRtParser, EveryVersionHasAVerdictBetweenItsNeighbours) {
  for (const Row& row : kRows) {
    const Graph graph = graph_of(row);
    const bool first = accepted(check(graph, "tensorrt-8.5").value());
    int changes = 0;
    bool last = first;
    for (const std::string_view target : target_names()) {
      if (!target.starts_with("tensorrt-") || target.find('.') == std::string_view::npos) continue;
      const bool now = accepted(check(graph, target).value());
      if (now != last) ++changes;
      last = now;
    }
    EXPECT_LE(changes, 1) << row.what;
  }
}

/// The parsers take a scale of doubles, ONNX has none.
TEST(TensorRtParser, WhatOnnxForbidsIsAnErrorForAll) {
  Graph graph = graph_of({"",
                          17,
                          "const t: f64[] = [0.1]\nd = DequantizeLinear(w8, t, z)\n"
                          "e = Cast(d) {to=1}\ny = MatMul(x, e)",
                          {}});
  graph.info.ir_version = 8; // which every release of ONNX Runtime reads
  for (const std::string_view target : target_names()) {
    const auto findings = check(graph, target);
    ASSERT_TRUE(findings.ok()) << findings.error().text();
    if (test::has_rule(*findings, "operator-type")) continue; // ONNX Runtime's own words
    ASSERT_TRUE(test::has_rule(*findings, "invalid-types")) << target;
    EXPECT_NE(findings->back().message.find("f64"), std::string::npos) << findings->back().message;
  }
}

TEST(TensorRtParser, AMajorVersionIsItsNewestAndPatchesChangeNothing) {
  const Graph norm = graph_of({"",
                               23,
                               "const g: f32[4] = [1, 1, 1, 1]\n"
                               "y = RMSNormalization(x, g)",
                               {}});
  EXPECT_FALSE(accepted(check(norm, "tensorrt-10.14").value()));
  EXPECT_TRUE(accepted(check(norm, "tensorrt-10.15").value()));
  EXPECT_TRUE(accepted(check(norm, "tensorrt-10").value()));
  EXPECT_EQ(parse_target("tensorrt-10.13.3.9").value(), "tensorrt-10.13");
  EXPECT_EQ(parse_target("tensorrt-8.6.1").value(), "tensorrt-8.6");
  EXPECT_FALSE(parse_target("tensorrt-10.99").ok());
  EXPECT_FALSE(parse_target("tensorrt-7.2").ok());
  EXPECT_FALSE(parse_target("tensorrt-").ok());
}

} // namespace
} // namespace octet
