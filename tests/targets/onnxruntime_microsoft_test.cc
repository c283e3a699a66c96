// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft by type: check says what ONNX Runtime says when it loads the file.
#include <filesystem>

#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/target.h"

namespace octet {
namespace {

struct Typed {
  const char* name;
  const char* body; ///< from x: f32[2, 4], the codes u8 qu, i8 qi and weights wu, wi [4, 4] to r
};

constexpr Typed kTyped[] = {
    {"gemm_u8_u8", "r = com.microsoft.QGemm(qu, s, u, wu, s, u)"},
    {"gemm_u8_i8", "r = com.microsoft.QGemm(qu, s, u, wi, s, z)"},
    {"gemm_i8_i8", "r = com.microsoft.QGemm(qi, s, z, wi, s, z)"},
    {"gemm_i8_u8", "r = com.microsoft.QGemm(qi, s, z, wu, s, u)"},
    {"gemm_output_u8", "r = com.microsoft.QGemm(qu, s, u, wi, s, z, c, s, u)"},
    {"gemm_output_of_another", "r = com.microsoft.QGemm(qu, s, u, wi, s, z, c, s, z)"},
    {"gemm_f16_scale", "r = com.microsoft.QGemm(qu, h, u, wi, h, z)"},
    {"add_i8", "r = com.microsoft.QLinearAdd(qi, s, z, qi, s, z, s, z)"},
    {"add_mixed", "r = com.microsoft.QLinearAdd(qi, s, z, qu, s, u, s, z)"},
    {"mul_u8", "r = com.microsoft.QLinearMul(qu, s, u, qu, s, u, s, u)"},
    {"leaky_u8", "r = com.microsoft.QLinearLeakyRelu(qu, s, u, s, u)"},
    {"leaky_i8", "r = com.microsoft.QLinearLeakyRelu(qi, s, z, s, z)"},
    {"sigmoid_i8", "r = com.microsoft.QLinearSigmoid(qi, s, z, s, z)"},
    {"softmax_i8", "r = com.microsoft.QLinearSoftmax(qi, s, z, s, z) {opset=13}"},
    {"concat_i8", "r = com.microsoft.QLinearConcat(s, z, qi, s, z, qi, s, z) {axis=0}"},
    {"concat_f16", "r = com.microsoft.QLinearConcat(h, z, qi, h, z, qi, h, z) {axis=0}"},
    {"where_i8", "r = com.microsoft.QLinearWhere(o, qi, s, z, qi, s, z, s, z)"},
    {"reduce", "r = com.microsoft.QLinearReduceMean(qu, s, u, s, u) {axes=[1], keepdims=1}"},
    {"product_u8_i8", "r = com.microsoft.MatMulIntegerToFloat(qu, wi, s, s, u, z)"},
    {"product_i8_u8", "r = com.microsoft.MatMulIntegerToFloat(qi, wu, s, s, z, u)"},
    {"dynamic_i8", "r = com.microsoft.DynamicQuantizeMatMul(x, wi, s, z)"},
    {"dynamic_f16", "r = com.microsoft.DynamicQuantizeMatMul(xh, wi, h, z)"},
    {"dynamic_f64", "r = com.microsoft.DynamicQuantizeMatMul(xd, wi, d, z)"},
    {"fused_f64", "t = Transpose(xd)\nr = com.microsoft.FusedMatMul(xd, t)"},
    {"fused_i32", "t = Transpose(xi)\nr = com.microsoft.FusedMatMul(xi, t)"},
    {"gelu_f16", "r = com.microsoft.Gelu(xh)"},
    {"gelu_f64", "r = com.microsoft.Gelu(xd)"},
    {"bias_gelu_f64", "r = com.microsoft.BiasGelu(xd, d4)"},
    {"quantize_u16", "r = com.microsoft.QuantizeLinear(x, s, u16)"},
    {"quantize_i32", "r = com.microsoft.QuantizeLinear(x, s, i32)"},
    {"quantize_f64", "r = com.microsoft.QuantizeLinear(xd, d, u)"},
    {"dequantize_i32", "r = com.microsoft.DequantizeLinear(xi, s, i32)"},
    {"dequantize_i64", "r = com.microsoft.DequantizeLinear(xl, s, i64)"},
    {"dequantize_mixed", "r = com.microsoft.DequantizeLinear(qi, s, u)"},
    {"dequantize_f16", "r = com.microsoft.DequantizeLinear(qi, h, z)"},
    {"norm_f64", "r = com.microsoft.SkipLayerNormalization(xd, xd, d4, d4)"},
    {"norm_f16", "r = com.microsoft.SkipLayerNormalization(xh, xh, h4, h4)"},
    {"norm_mixed", "r = com.microsoft.SkipLayerNormalization(xd, x, d4, d4)"},
    {"no_kernel", "r = com.microsoft.BiasAdd(x, x, x)"},
    {"unheard", "r = com.microsoft.Unheard(x)"},
};

Graph parse_typed(const Typed& file) {
  return parse_graph(
             std::string("graph g opset(\"\"=17, \"com.microsoft\"=1)\n"
                         "input x: f32[2, 4]\nconst s: f32[] = [0.1]\n"
                         "const h: f16[] = [0.1]\nconst d: f64[] = [0.1]\n"
                         "const d4: f64[4] = [1, 2, 3, 4]\nconst h4: f16[4] = [1, 2, 3, 4]\n"
                         "const u: u8[] = [128]\nconst z: i8[] = [0]\n"
                         "const u16: u16[] = [9]\nconst i32: i32[] = [0]\n"
                         "const i64: i64[] = [0]\nconst c: i32[4] = [1, 2, 3, 4]\n"
                         "const o: bool[4] = [1, 0, 1, 0]\n"
                         "const wu: u8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
                         "14, 15, 16]\n"
                         "const wi: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
                         "14, 15, 16]\n"
                         "qu = QuantizeLinear(x, s, u)\nqi = QuantizeLinear(x, s, z)\n"
                         "xh = Cast(x) {to=10}\nxd = Cast(x) {to=11}\nxi = Cast(x) {to=6}\n"
                         "xl = Cast(x) {to=7}\n") +
             file.body + "\ny = Cast(r) {to=1}\noutput y: f32[M, N]\n")
      .value();
}

bool accepts(const Graph& graph) {
  const auto findings = check(graph, "onnxruntime");
  return findings.ok() && accepted(*findings);
}

TEST(OnnxRuntimeMicrosoft, CheckGivesItsVerdictOnTypes) {
  const std::string folder = ::testing::TempDir() + "octet_microsoft_types";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Tensor x = Tensor::of<float>({2, 4}, {0.1F, 12.7F, -12.8F, 1.2F, -6.3F, 25.4F, 0, -1});
  ASSERT_TRUE(write_tensor_proto({"x", x}, folder + "/x.pb").ok());
  for (const Typed& file : kTyped) {
    const Status saved = save_onnx(parse_typed(file), folder + "/" + file.name + ".onnx");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const Typed& file : kTyped) {
    const nlohmann::json& result = results.at(file.name);
    EXPECT_EQ(accepts(parse_typed(file)), !result.contains("error"))
        << file.name << ": " << result.value("error", "loads");
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet
