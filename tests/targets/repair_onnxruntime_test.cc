// SPDX-License-Identifier: Apache-2.0
// Files that ONNX Runtime does not load, or computes other numbers of: check says so of each, repair mends those that it can, and
// what it makes loads and computes what the file meant.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "ops/infer.h"
#include "targets/bad_files.h"
#include "targets/findings.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/repair.h"

namespace octet {
namespace {

struct Unloadable {
  std::string name;
  const char* rule;   ///< the finding that refuses it
  const char* repair; ///< the change that mends it; empty: none does
  int opset;
  std::string body; ///< from x: f32[1, 2, 4, 4] to y
  double error = 0; ///< of the output; 0: every bit stays
};

/// A step of 0.1 between two values of f16 below 16.
constexpr double kHalfStep = 0.1 + 16 * 0x1p-10;

Tensor loaded_input() {
  std::vector<float> x(32);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.37F * static_cast<float>((i * 7) % 32) - 5.1F;
  x[3] = 100;
  x[4] = -100;
  return Tensor::of<float>({1, 2, 4, 4}, std::span<const float>(x));
}

/// int8 codes that it moves past other operators.
std::vector<Unloadable> moved_files() {
  const std::string pair = "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n";
  const std::string three = "const z3: i8[] = [3]\nq = QuantizeLinear(x, s, z3)\n"
                            "d = DequantizeLinear(q, s, z3)\n";
  const std::string pool = "p = MaxPool(d) {kernel_shape=[2, 2]}\n";
  // Of such steps every sum is exact.
  const std::string product =
      "const e: f32[] = [0.125]\nconst b: f32[4] = [1, -2, 3, 0.5]\n"
      "const w: f32[4, 4] = [1, -2, 3, 4, 5, 6, -7, 8, 1, 2, 3, -4, 5, 6, 7, 8]\n";
  const std::string exact =
      product + "q = QuantizeLinear(x, e, z)\nd = DequantizeLinear(q, e, z)\n";
  const auto picked = [](const std::string& body) {
    return "m = ReduceMax(x) {keepdims=0}\npick = Greater(m, s)\n"
           "y = If(pick) {then_branch={ graph a\n  capture x: f32[1, 2, 4, 4]\n  capture s: f32[]\n"
           "  capture z: i8[]\n" +
           body +
           "  output b: f32[*]\n}, else_branch={ graph e\n  capture x: f32[1, 2, 4, 4]\n"
           "  u = Relu(x)\n  output u: f32[*]\n}} \"choice\"";
  };
  return {
      {"moved", "moved-int8", "unsign_moved", 21, pair + pool + "y = Neg(p)"},
      {"moved_zero_point", "moved-int8", "unsign_moved", 21, three + pool + "y = Neg(p)"},
      {"moved_23", "moved-int8", "unsign_moved", 23, pair + "a = Transpose(d)\ny = Neg(a)"},
      {"moved_twice", "moved-int8", "unsign_moved", 21,
       pair + pool + "a = Transpose(p)\ny = Neg(a)"},
      {"moved_to_the_output", "moved-int8", "unsign_moved", 21,
       pair + "y = MaxPool(d) {kernel_shape=[2, 2]}"},
      {"moved_vector", "moved-int8", "unsign_moved", 21,
       "const s1: f32[1] = [0.1]\nconst z1: i8[1] = [-7]\nq = QuantizeLinear(x, s1, z1)\n"
       "d = DequantizeLinear(q, s1, z1)\n" +
           pool + "y = Neg(p)"},
      {"moved_relu", "moved-int8", "unsign_moved", 21,
       pair + pool + "a = Relu(p)\nb = QuantizeLinear(a, s, z)\ny = DequantizeLinear(b, s, z)"},
      {"moved_shared", "moved-int8", "unsign_moved", 21,
       pair + "e = DequantizeLinear(q, s, z)\na = MaxPool(d) {kernel_shape=[1, 1]}\ny = Add(a, e)"},
      {"moved_codes", "moved-int8", "unsign_moved", 21,
       "q = QuantizeLinear(x, s, z)\na = Transpose(q)\nd = DequantizeLinear(a, s, z)\n"
       "b = Transpose(d)\ny = Neg(b)"},
      {"moved_in_a_branch", "moved-int8", "unsign_moved", 21,
       picked("  q = QuantizeLinear(x, s, z)\n  d = DequantizeLinear(q, s, z)\n"
              "  p = Transpose(d)\n  b = Neg(p)\n")},
      {"moved_before_gemm", "moved-int8", "unsign_moved", 21,
       exact + "m = MatMul(d, w)\ny = Add(m, b)"},
      {"moved_before_gemm_shared", "moved-int8", "unsign_moved", 23,
       exact + "m = MatMul(d, w)\na = Add(b, m)\ny = Add(a, d)"},
      {"moved_before_gemm_codes", "moved-int8", "hide_codes", 21,
       product + "q = QuantizeLinear(x, e, z)\na = Transpose(q) {perm=[0, 1, 3, 2]}\n"
                 "d = DequantizeLinear(a, e, z)\nm = MatMul(d, w)\ny = Add(m, b)"},
      {"moved_codes_of_the_input_of_a_layer", "moved-int8", "unsign_moved", 21,
       "q = QuantizeLinear(x, s, z)\na = Transpose(q)\n"
       "d = DequantizeLinear(a, s, z)\nb = MaxPool(d) {kernel_shape=[1, 1]}\nc = Transpose(b)\n"
       "y = Neg(c)"},
  };
}

/// Zero points, types and operators that its kernels do not take.
std::vector<Unloadable> kernel_files() {
  const std::string vectors = "const s1: f32[1] = [0.0937]\nconst z1: i8[1] = [-7]\n"
                              "const s11: f32[1, 1] = [0.1]\n";
  return {
      {"output_dtype", "output-dtype", "drop_output_type", 21,
       "q = QuantizeLinear(x, s, z) {output_dtype=3}\nd = DequantizeLinear(q, s, z)\ny = Neg(d)"},
      {"fewer_zero_points", "zero-point-volume", "match_zero_point", 17,
       "const four: f32[4] = [0.1, 0.2, 0.3, 0.4]\nconst one: i8[1] = [3]\n"
       "q = QuantizeLinear(x, four, one) {axis=3}\ny = DequantizeLinear(q, four, one) {axis=3}"},
      {"equal_zero_points", "integer-zero-point", "single_zero_point", 17,
       "const k: i8[2, 2, 1, 1] = [1, -2, 3, 100]\nconst n: i8[2] = [-3, -3]\n"
       "q = QuantizeLinear(x, s, u)\ni = ConvInteger(q, k, u, n)\ny = Cast(i) {to=1}"},
      {"zero_points_off_the_codes", "integer-zero-point", "single_zero_point", 17,
       "const k: u8[2, 2, 1, 1] = [100, 220, 3, 100]\nconst n: u8[2] = [128, 40]\n"
       "q = QuantizeLinear(x, s, u)\ni = ConvInteger(q, k, u, n)\ny = Cast(i) {to=1}"},
      {"rows_of_equal_zero_points", "integer-zero-point", "single_zero_point", 17,
       "const k: i8[4, 2] = [1, -2, 3, 100, -7, 8, 9, -100]\nconst n: u8[4] = [128, 128, 128, "
       "128]\n"
       "q = QuantizeLinear(x, s, u)\ni = MatMulInteger(q, k, n)\ny = Cast(i) {to=1}"},
      {"zero_points_that_need_floats", "integer-zero-point", "single_zero_point", 17,
       "const k: u8[2, 2, 1, 1] = [0, 255, 3, 100]\nconst n: u8[2] = [1, 40]\n"
       "const f: f32[] = [0.005]\nq = QuantizeLinear(x, s, u)\ni = ConvInteger(q, k, u, n)\n"
       "c = Cast(i) {to=1}\ny = Mul(c, f)",
       1e-3},
      {"shaped_parameters", "parameter-shape", "scalar_parameter", 17,
       vectors +
           "q = QuantizeLinear(x, s, z)\na = com.microsoft.QLinearAdd(q, s1, z1, q, s1, z, s, z1)\n"
           "m = com.microsoft.QLinearMul(a, s, z1, q, s, z1, s1, z)\ny = DequantizeLinear(m, s, "
           "z)"},
      {"shaped_parameters_of_a_pool", "parameter-shape", "scalar_parameter", 17,
       vectors +
           "q = QuantizeLinear(x, s, z)\np = com.microsoft.QLinearAveragePool(q, s1, z, s, z) "
           "{kernel_shape=[2, 2]}\ny = DequantizeLinear(p, s, z)"},
      {"ones_as_dilations", "fused-dilations", "drop_dilations", 19,
       "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
       "p = AveragePool(d) {kernel_shape=[1, 1], strides=[2, 1], dilations=[1, 1]}\n"
       "o = QuantizeLinear(p, s, z)\ny = DequantizeLinear(o, s, z)"},
      {"a_pool_with_dilations", "fused-dilations", "hide_codes", 22,
       "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
       "t = Transpose(d) {perm=[0, 1, 3, 2]}\n"
       "p = AveragePool(t) {kernel_shape=[2, 2], dilations=[1, 2]}\n"
       "o = QuantizeLinear(p, s, u)\ny = DequantizeLinear(o, s, u)"},
      {"softmax_of_one", "fused-softmax", "hide_codes", 17,
       "const t: f32[] = [0.00392]\nconst o: u8[] = [0]\nconst n: i64[2] = [32, 1]\n"
       "f = Reshape(x, n)\nq = QuantizeLinear(f, s, u)\nd = DequantizeLinear(q, s, u)\n"
       "p = Softmax(d)\nr = QuantizeLinear(p, t, o)\ny = DequantizeLinear(r, t, o)"},
      {"softmax_of_two_in_a_small_step", "fused-softmax", "raise_opset", 12,
       "const t: f32[] = [0.003]\nconst o: u8[] = [0]\nconst n: i64[3] = [16, 2, 1]\n"
       "f = Reshape(x, n)\nq = QuantizeLinear(f, s, u)\nd = DequantizeLinear(q, s, u)\n"
       "p = Softmax(d) {axis=1}\nr = QuantizeLinear(p, t, o)\ny = DequantizeLinear(r, t, o)"},
      {"shaped_weight_scale", "parameter-shape", "scalar_parameter", 17,
       vectors + "const w: i8[4, 2] = [1, -2, 3, 100, -7, 8, 9, -100]\nconst n4: i64[2] = [-1, 4]\n"
                 "q = QuantizeLinear(x, s, u)\nr = Reshape(q, n4)\n"
                 "g = com.microsoft.QGemm(r, s, u, w, s1, z, _, s, u)\n"
                 "y = DequantizeLinear(g, s, u)"},
      {"scale_of_two_axes", "parameter-shape", "scalar_parameter", 17,
       vectors + "q = QuantizeLinear(x, s11, z)\ny = DequantizeLinear(q, s, z)"},
      {"scale_of_another_type", "scale-type", "convert_scale", 23,
       "t = Cast(x) {to=10}\nq = QuantizeLinear(t, s, z)\ny = DequantizeLinear(q, s, z)"},
      {"ordered", "no-cpu-kernel", "standard_operators", 17,
       "const n32: i64[3] = [1, 4, 8]\nt = Reshape(x, n32)\n"
       "q = com.microsoft.QuantizeWithOrder(t, s) {order_input=1, order_output=1}\n"
       "y = com.microsoft.DequantizeWithOrder(q, s) {order_input=1, order_output=1, to=1}",
       0.1},
  };
}

/// f16 around a Concat.
std::vector<Unloadable> half_files() {
  const std::string half = "t = Cast(x) {to=10}\nn = Neg(t)\nq = QuantizeLinear(t, h, u)\n"
                           "d = DequantizeLinear(q, h, u)\no = QuantizeLinear(n, h, u)\n"
                           "e = DequantizeLinear(o, h, u)\n";
  const std::string behind = "r = QuantizeLinear(c, h, u)\nf = DequantizeLinear(r, h, u)\n"
                             "y = Cast(f) {to=1}";
  return {
      {"half_concat", "half-concat", "widen_concat", 21,
       half + "c = Concat(d, e) {axis=0}\n" + behind, kHalfStep},
      {"half_concat_19", "half-concat", "widen_concat", 19,
       half + "c = Concat(d, e) {axis=0}\n" + behind, kHalfStep},
      {"half_concat_moved", "half-concat", "widen_concat", 21,
       half + "i = Concat(d, e) {axis=0}\nc = Transpose(i)\n" + behind, kHalfStep},
      {"half_moved_concat", "half-concat", "widen_concat", 21,
       half +
           "v = Transpose(d)\nw = MaxPool(e) {kernel_shape=[1, 1]}\nk = Transpose(w)\n"
           "c = Concat(v, k) {axis=0}\n" +
           behind,
       kHalfStep},
  };
}

/// Layers that it does not leave in float, and products that it misreads.
std::vector<Unloadable> float_files() {
  return {
      {"a_bias_below_round", "bias-opset", "raise_opset", 10,
       "const k: i8[2, 2, 1, 1] = [4, 13, -40, 37]\nconst b: f32[2] = [1, -2]\n"
       "const o: f32[] = [0.37]\nq = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
       "w = DequantizeLinear(k, s, z)\nc = Conv(d, w, b)\nr = QuantizeLinear(c, o, u)\n"
       "y = DequantizeLinear(r, o, u)"},
      {"an_axis_before_add", "parameter-shape", "scalar_parameter", 13,
       "const s1: f32[1] = [0.1]\nconst u1: u8[1] = [120]\nq = QuantizeLinear(x, s1, u1)\n"
       "d = DequantizeLinear(q, s1, u1)\nt = Transpose(d) {perm=[0, 1, 3, 2]}\n"
       "n = Neg(x)\np = QuantizeLinear(n, s, u)\ne = DequantizeLinear(p, s, u)\na = Add(t, e)\n"
       "r = QuantizeLinear(a, s, u)\ny = DequantizeLinear(r, s, u)"},
      {"an_axis_behind_mul", "parameter-shape", "scalar_parameter", 17,
       "const s1: f32[1] = [0.37]\nconst u1: u8[1] = [120]\nn = Neg(x)\n"
       "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\n"
       "p = QuantizeLinear(n, s, u)\ne = DequantizeLinear(p, s, u)\na = Mul(d, e)\n"
       "t = Transpose(a) {perm=[0, 1, 3, 2]}\nr = QuantizeLinear(t, s1, u1)\n"
       "y = DequantizeLinear(r, s1, u1)"},
      {"conv_left_in_float", "rounded-weight", "hide_codes", 17,
       "const k: f32[2, 2, 1, 1] = [4, 0.013, -0.004, 0.37]\nconst o: f32[] = [0.05]\n"
       "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\nc = Conv(d, k)\n"
       "r = QuantizeLinear(c, o, u)\ny = DequantizeLinear(r, o, u)"},
      {"transposed_conv_left_in_float", "rounded-weight", "hide_codes", 17,
       "const k: f32[2, 2, 1, 1] = [4, 0.013, -0.004, 0.37]\nconst o: f32[] = [0.05]\n"
       "const b: f32[2] = [1, 2]\nq = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n"
       "c = ConvTranspose(d, k, b)\nt = Relu(c)\nr = QuantizeLinear(t, o, z)\n"
       "y = DequantizeLinear(r, o, z)"},
      {"gemm_left_in_float_past_a_reshape", "rounded-weight", "hide_codes", 17,
       "const k: f32[4, 3] = [4, 0.013, -0.004, 0.37, 0.014, 0.05, -0.006, 1, 2, 3, 0.01, 0.015]\n"
       "const b: f32[3] = [0.5, -1, 2]\nconst o: f32[] = [0.05]\nconst n: i64[2] = [8, 4]\n"
       "q = QuantizeLinear(x, s, u)\nd = DequantizeLinear(q, s, u)\nf = Reshape(d, n)\n"
       "g = Gemm(f, k, b)\nr = QuantizeLinear(g, o, u)\ny = DequantizeLinear(r, o, u)"},
      {"matmul_and_add_left_in_float", "rounded-weight", "hide_codes", 17,
       "const k: f32[4, 3] = [4, 0.013, -0.004, 0.37, 0.014, 0.05, -0.006, 1, 2, 3, 0.01, 0.015]\n"
       "const b: f32[3] = [0.5, -1, 2]\nconst o: f32[] = [0.05]\nconst n: i64[2] = [8, 4]\n"
       "f = Reshape(x, n)\nq = QuantizeLinear(f, s, u)\nd = DequantizeLinear(q, s, u)\n"
       "m = MatMul(d, k)\ng = Add(b, m)\nr = QuantizeLinear(g, o, u)\ny = DequantizeLinear(r, o, "
       "u)"},
      {"three_columns_of_two_bits", "two-bit-columns", "hide_codes", 25,
       "const k: u2[4, 3] = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]\n"
       "const t: f32[3] = [0.5, 0.25, 2]\nconst n: u2[3] = [2, 1, 2]\nf = Floor(x)\n"
       "w = DequantizeLinear(k, t, n) {axis=1}\ny = MatMul(f, w)"},
      {"five_columns_of_two_bits_in_a_gemm", "two-bit-columns", "hide_codes", 25,
       "const k: i2[4, 5] = [0, 1, -2, -1, 0, 1, -2, 1, 0, 1, -2, -1, 1, 1, 0, -2, -1, 0, 1, 1]\n"
       "const b: f32[5] = [0.5, -1, 2, 3, 4]\nconst t: f32[] = [0.5]\nconst n: i64[2] = [8, 4]\n"
       "f = Floor(x)\nr = Reshape(f, n)\nw = DequantizeLinear(k, t)\ny = Gemm(r, w, b)"},
  };
}

std::vector<Unloadable> unloadable_files() {
  std::vector<Unloadable> out = moved_files();
  for (const std::vector<Unloadable>& more : {kernel_files(), half_files(), float_files()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

Graph parse_unloadable(const Unloadable& file) {
  return parse_graph("graph g opset(\"\"=" + std::to_string(file.opset) +
                     ", \"com.microsoft\"=1)\ninput x: f32[1, 2, 4, 4]\nconst s: f32[] = [0.1]\n"
                     "const z: i8[] = [0]\nconst u: u8[] = [128]\nconst h: f16[] = [0.1]\n" +
                     file.body + "\noutput y: f32[*]\n")
      .value();
}

Tensor reference_result(const Graph& graph) {
  const std::vector<Tensor> x = {loaded_input()};
  return make_reference_executor(graph).value()->run(x).value().at(0);
}

double largest_difference_of(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  return worst;
}

void save_typed(Graph graph, const std::string& path) {
  ASSERT_TRUE(infer_types(graph).ok());
  const Status saved = save_onnx(graph, path);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
}

TEST(RepairOnnxRuntime, WhatItFailsToLoadIsRefusedMendedAndLoads) {
  const std::string folder = ::testing::TempDir() + "octet_repair_onnxruntime";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_tensor_proto({"x", loaded_input()}, folder + "/x.pb").ok());
  for (const Unloadable& file : unloadable_files()) {
    SCOPED_TRACE(file.name);
    const Graph graph = parse_unloadable(file);
    EXPECT_TRUE(test::has_rule(check(graph, "onnxruntime").value(), file.rule));
    const Repaired repaired = repair(graph, "onnxruntime").value();
    EXPECT_TRUE(accepted(repaired.left));
    const auto made = std::find_if(repaired.changes.begin(), repaired.changes.end(),
                                   [&](const Change& c) { return c.rule == file.repair; });
    ASSERT_NE(made, repaired.changes.end());
    EXPECT_EQ(made->exact, file.error == 0);
    EXPECT_LE(largest_difference_of(reference_result(graph), reference_result(repaired.graph)),
              file.error);
    save_typed(graph, folder + "/" + file.name + ".before.onnx");
    save_typed(repaired.graph, folder + "/" + file.name + ".after.onnx");
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const Unloadable& file : unloadable_files()) {
    SCOPED_TRACE(file.name);
    const nlohmann::json &before = results.at(file.name + ".before"),
                         &after = results.at(file.name + ".after");
    ASSERT_FALSE(after.contains("error")) << after.value("error", "");
    const Tensor meant = reference_result(parse_unloadable(file));
    const auto is = after.at("output").get<std::vector<double>>();
    EXPECT_TRUE(before.contains("error") ||
                before.at("output").get<std::vector<double>>() != meant.to_doubles().value());
    ASSERT_EQ(static_cast<int64_t>(is.size()), meant.count());
    for (size_t i = 0; i < is.size(); ++i)
      EXPECT_NEAR(is[i], meant.at(static_cast<int64_t>(i)), file.error) << "element " << i;
  }
  std::filesystem::remove_all(folder);
}

TEST(RepairOnnxRuntime, MendsAFileFormatThatItDoesNotRead) {
  Graph graph = parse_unloadable({"format", "", "", 17, "y = Neg(x)"});
  graph.info.ir_version = 99;
  EXPECT_TRUE(test::has_rule(check(graph, "onnxruntime").value(), "ir-version"));
  const Repaired repaired = repair(graph, "onnxruntime").value();
  EXPECT_TRUE(accepted(repaired.left));
  ASSERT_EQ(repaired.changes.size(), 1U);
  EXPECT_EQ(repaired.changes[0].rule, "lower_ir_version");
}

/// One command for both, as the fixes say.
TEST(RepairOnnxRuntime, MendsAnOperatorSetThatAReleaseDoesNotRead) {
  Graph graph = parse_unloadable({"opset", "", "", 23,
                                  "const gain: f32[4] = [1, 2, 0.5, 1]\n"
                                  "n = RMSNormalization(x, gain)\n"
                                  "q = QuantizeLinear(n, s, z)\ny = DequantizeLinear(q, s, z)"});
  graph.info.ir_version = 11;
  const auto findings = check(graph, "onnxruntime-1.17").value();
  ASSERT_EQ(findings.size(), 2U);
  for (const Finding& f : findings)
    EXPECT_NE(f.fix.find(": octet repair does"), std::string::npos) << f.rule << ": " << f.fix;
  const Repaired repaired = repair(graph, "onnxruntime-1.17").value();
  EXPECT_TRUE(repaired.left.empty());
  EXPECT_EQ(repaired.graph.opset(), 20);
  EXPECT_EQ(repaired.graph.info.ir_version, 9);
  for (const char* rule : {"lower_opset", "decompose_rms_norm", "lower_ir_version"})
    EXPECT_TRUE(std::any_of(repaired.changes.begin(), repaired.changes.end(), [&](const Change& c) {
      return c.rule == rule;
    })) << rule;
  const Tensor was = reference_result(graph), is = reference_result(repaired.graph);
  for (int64_t i = 0; i < was.count(); ++i)
    EXPECT_NEAR(is.at(i), was.at(i), 1e-6) << "element " << i;
}

TEST(RepairOnnxRuntime, SaysWhyAnOperatorSetStays) {
  const auto fixes = [](const Graph& graph, const char* target) {
    std::string out;
    const Repaired repaired = repair(graph, target).value();
    EXPECT_FALSE(accepted(repaired.left));
    for (const Finding& f : repaired.left)
      if (f.rule == "opset") out += f.fix;
    return out;
  };
  const Graph body = parse_unloadable({"body", "", "", 23,
                                       "const yes: bool[] = [1]\n"
                                       "y = If(yes) {then_branch={ graph a\n"
                                       "  capture x: f32[1, 2, 4, 4]\n  t = Relu(x)\n"
                                       "  output t: f32[1, 2, 4, 4]\n}, else_branch={ graph e\n"
                                       "  capture x: f32[1, 2, 4, 4]\n  u = Neg(x)\n"
                                       "  output u: f32[1, 2, 4, 4]\n}} \"choice\""});
  EXPECT_NE(fixes(body, "onnxruntime-1.20").find("is not written into bodies"), std::string::npos)
      << fixes(body, "onnxruntime-1.20");
  const Graph later = parse_unloadable({"later", "", "", 27, "y = Neg(x)"});
  const auto findings = check(later, "onnxruntime").value();
  for (const Finding& f : findings)
    EXPECT_EQ(f.fix.find("octet repair"), std::string::npos) << f.fix;
  EXPECT_NE(fixes(later, "onnxruntime").find("where the file is made"), std::string::npos);
}

/// It takes scales that quantize nothing without a word; check warns, and repair does what the
/// warning says.
TEST(RepairOnnxRuntime, ReplacesScalesThatQuantizeNothing) {
  for (const char* scale : {"-0.1", "0"}) {
    SCOPED_TRACE(scale);
    const Graph graph = parse_unloadable({"scale", "", "", 17,
                                          std::string("const odd: f32[] = [") + scale +
                                              "]\nq = QuantizeLinear(x, odd, z)\n"
                                              "y = DequantizeLinear(q, odd, z)"});
    EXPECT_TRUE(test::has_rule(check(graph, "onnxruntime").value(), "scale-not-positive"));
    const Repaired repaired = repair(graph, "onnxruntime").value();
    EXPECT_TRUE(repaired.left.empty());
    ASSERT_FALSE(repaired.changes.empty());
    EXPECT_EQ(repaired.changes[0].rule, "replace_scale");
  }
}

/// No false yes on the files that TensorRT refuses, and none of them is refused that loads.
TEST(RepairOnnxRuntime, CheckGivesItsVerdictOnEveryBadFile) {
  const std::string folder = ::testing::TempDir() + "octet_bad_files_there";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Tensor x = Tensor::of<float>({2, 4}, {0.1F, 12.7F, -12.8F, 1.2F, -6.3F, 25.4F, 0, -1000});
  ASSERT_TRUE(write_tensor_proto({"x", x}, folder + "/x.pb").ok());
  std::vector<const test::BadFile*> all;
  for (const test::BadFile& file : test::bad_files()) {
    Graph graph = test::parse_bad_file(file);
    if (!infer_types(graph).ok() || !file.valid_before) continue;
    all.push_back(&file);
    const Repaired repaired = repair(graph, "onnxruntime").value();
    save_typed(graph, folder + "/" + file.name + ".before.onnx");
    save_typed(repaired.graph, folder + "/" + file.name + ".after.onnx");
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const test::BadFile* file : all) {
    SCOPED_TRACE(file->name);
    const Graph graph = test::parse_bad_file(*file);
    const Repaired repaired = repair(graph, "onnxruntime").value();
    const nlohmann::json& before = results.at(std::string(file->name) + ".before");
    const nlohmann::json& after = results.at(std::string(file->name) + ".after");
    EXPECT_EQ(accepted(check(graph, "onnxruntime").value()), !before.contains("error"))
        << before.value("error", "");
    EXPECT_EQ(accepted(repaired.left), !after.contains("error")) << after.value("error", "");
    EXPECT_TRUE(accepted(repaired.left));
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet
