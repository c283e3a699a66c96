// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime itself refuses in its exact mode, and check says so: int8 constants that
// several DequantizeLinear share and int8 weights of several scales without a zero point (the
// repaired file runs there and keeps every bit in the reference), and operators on codes with int8
// activations.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "core/format.h"
#include "ops/infer.h"
#include "targets/bad_files.h"
#include "targets/findings.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/onnx.h"
#include "octet/repair.h"

namespace octet {
namespace {

struct Shared {
  const char *name, *body;
  bool is_shared;
  int dequantizers; ///< after the repair
};

// Codes beyond 7 bits in l and k, none in w8.
constexpr const char* kConstants =
    "const l: i8[4, 4] = [1, -2, 3, 100, 5, -6, 7, 8, 9, 1, -2, 3, 4, 5, -6, 7]\n"
    "const k: i8[4, 4] = [1, -2, 3, 65, 5, -6, 7, 8, 9, 1, -2, 3, 4, 5, -6, 7]\n"
    "const t4: f32[4] = [0.1, 0.3, 0.2, 0.5]\nconst r4: i8[4] = [0, 0, 0, 0]\n";
constexpr const char* kTwoProducts = "\nm = MatMul(x, d)\nn = MatMul(m, e)\ny = Add(m, n)";

const Shared kFiles[] = {
    {"zero_point",
     "d = DequantizeLinear(l, s4, z4) {axis=1}\ne = DequantizeLinear(k, t4, z4) {axis=1}", true, 2},
    {"codes", "d = DequantizeLinear(l, s4, z4) {axis=1}\ne = DequantizeLinear(l, t4, r4) {axis=1}",
     true, 2},
    {"everything",
     "d = DequantizeLinear(l, s4, z4) {axis=1}\ne = DequantizeLinear(l, s4, z4) {axis=1}", true, 2},
    {"one_for_two", "d = DequantizeLinear(l, s4, z4) {axis=1}\ne = Identity(d)", true, 2},
    {"zero_point_with_7_bits",
     "d = DequantizeLinear(l, s4, z4) {axis=1}\ne = DequantizeLinear(w8, t4, z4) {axis=1}", false,
     2},
    {"codes_of_7_bits",
     "d = DequantizeLinear(w8, s4, z4) {axis=1}\ne = DequantizeLinear(w8, t4, z4) {axis=1}", false,
     2},
};

Graph graph_of(const Shared& file) {
  const std::string body = std::string(kConstants) + file.body + kTwoProducts;
  Graph graph = test::parse_bad_file({file.name, body.c_str(), "", ""});
  for (const NodeId id : graph.nodes()) // a DQ with two readers
    if (graph.node(id).is("Identity")) {
      graph.replace_uses(graph.node(id).output(0), graph.node(id).input(0));
      graph.remove_dead();
    }
  return graph;
}

/// A new folder for models that all read x.
std::string folder_with(const Tensor& x, const std::string& name) {
  std::string folder = ::testing::TempDir() + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(write_tensor_proto({"x", x}, folder + "/x.pb").ok());
  return folder;
}

TEST(SharedConstant, IsFoundRepairedAndThenLoadedInExactMode) {
  const Tensor x = Tensor::of<float>({2, 4}, {0.1F, 12.75F, -12.85F, 1.23F, -6.35F, 25.4F, 0, 3});
  const std::string folder = folder_with(x, "octet_shared_constant");
  const auto save = [&](Graph graph, const std::string& name) {
    ASSERT_TRUE(infer_types(graph).ok());
    ASSERT_TRUE(save_onnx(graph, folder + "/" + name + ".onnx").ok());
  };
  for (const Shared& file : kFiles) {
    SCOPED_TRACE(file.name);
    const Graph graph = graph_of(file);
    EXPECT_EQ(test::has_rule(check(graph, "onnxruntime").value(), "shared-constant"),
              file.is_shared);
    const Repaired repaired = repair(graph, "onnxruntime").value();
    EXPECT_EQ(repaired.changes.empty(), !file.is_shared);
    for (const Change& change : repaired.changes)
      EXPECT_TRUE(change.exact) << change.rule;
    EXPECT_FALSE(test::has_rule(repaired.left, "shared-constant"));
    int dequantizers = 0;
    for (const NodeId id : repaired.graph.nodes())
      dequantizers += repaired.graph.node(id).is("DequantizeLinear") ? 1 : 0;
    EXPECT_EQ(dequantizers, file.dequantizers);
    const auto run = [&](const Graph& g) {
      return make_reference_executor(g).value()->run(std::vector{x}).value().at(0);
    };
    const Tensor was = run(graph), is = run(repaired.graph);
    EXPECT_TRUE(std::ranges::equal(was.bytes(), is.bytes()));
    save(graph, std::string(file.name) + ".before");
    save(repaired.graph, std::string(file.name) + ".after");
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const Shared& file : kFiles) {
    SCOPED_TRACE(file.name);
    const nlohmann::json& before = results.at(std::string(file.name) + ".before");
    const nlohmann::json& after = results.at(std::string(file.name) + ".after");
    EXPECT_EQ(before.value("error", "").find("replace the existing tensor") != std::string::npos,
              file.is_shared)
        << before.value("error", "");
    ASSERT_FALSE(after.contains("error")) << after.value("error", "");
  }
  std::filesystem::remove_all(folder);
}

TEST(SharedConstant, LeavesComputedZeroPointsAndFilesForCuda) {
  const Shared computed = {
      "computed",
      "const r: f32[4] = [0, 0, 0, 0]\nc = Cast(r) {to=3}\n"
      "d = DequantizeLinear(l, s4, c) {axis=1}\ne = DequantizeLinear(l, t4, c) {axis=1}",
      true, 2};
  const Result<Repaired> repaired = repair(graph_of(computed), "onnxruntime");
  ASSERT_TRUE(repaired.ok()) << repaired.error().text();
  EXPECT_EQ(repaired->changes.size(), 1U);
  const Graph& graph = repaired->graph;
  EXPECT_EQ(graph.producer(*graph.find_value("d"))->input(2),
            graph.producer(*graph.find_value("e"))->input(2));
  const Repaired on_cuda = repair(graph_of(kFiles[1]), "onnxruntime-cuda").value();
  EXPECT_TRUE(on_cuda.changes.empty());
}

// c: int8 weights of that shape; q: codes of x, with zero point v.
struct Product {
  const char *op, *weight_shape, *body;
};
constexpr Product kProducts[] = {
    {"QLinearMatMul", "4, 4",
     "m = QLinearMatMul(q, s, v, c, s, z, s, v)\n"
     "y = DequantizeLinear(m, s, v)"},
    {"QLinearConv", "4, 4, 1, 1",
     "const shape: i64[4] = [1, 4, 2, 1]\n"
     "i = Reshape(q, shape)\nm = QLinearConv(i, s, v, c, s, z, s, v)\ny = DequantizeLinear(m, s, "
     "v)"},
    {"QGemm", "4, 4",
     "m = com.microsoft.QGemm(q, s, v, c, s, z, _, s, v)\n"
     "y = DequantizeLinear(m, s, v)"},
    {"MatMulIntegerToFloat", "4, 4", "y = com.microsoft.MatMulIntegerToFloat(q, c, s, s, v, z)"},
};

TEST(ExactMode, HasNoKernelForInt8ActivationsAndFullWeights) {
  const Tensor x = Tensor::of<float>({2, 4}, {0.1F, 1.7F, -2.8F, 1.2F, -3.3F, 2.4F, 0, 3});
  const std::string folder = folder_with(x, "octet_exact_mode");
  std::map<std::string, bool> fails;
  for (const auto& [op, weight_shape, body] : kProducts)
    for (const bool int8 : {true, false})
      for (const bool full : {true, false}) {
        const std::string text =
            fmt::format("const c: i8[{}] = [1, {}, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]\n"
                        "const v: {}[] = [{}]\nq = QuantizeLinear(x, s, v)\n{}",
                        weight_shape, full ? 65 : 64, int8 ? "i8" : "u8", int8 ? 0 : 128, body);
        Graph graph = test::parse_bad_file({op, text.c_str(), "", ""});
        ASSERT_TRUE(infer_types(graph).ok());
        const std::string name = fmt::format("{}_{}_{}", op, int8 ? "i8" : "u8", full);
        SCOPED_TRACE(name);
        fails[name] = int8 && full;
        EXPECT_EQ(test::has_rule(check(graph, "onnxruntime").value(), "exact-mode-kernel"),
                  fails[name]);
        EXPECT_FALSE(test::has_rule(check(graph, "onnxruntime-cuda").value(), "exact-mode-kernel"));
        ASSERT_TRUE(save_onnx(graph, folder + "/" + name + ".onnx").ok());
      }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const auto& [name, expected] : fails) {
    const std::string reason = results.at(name).value("error", "");
    EXPECT_EQ(reason.find("find kernel") != std::string::npos, expected) << name << ": " << reason;
    EXPECT_TRUE(expected || reason.empty()) << name << ": " << reason;
  }
  std::filesystem::remove_all(folder);
}

// d: the weight of c behind DQ, of whose codes one is beyond 7 bits or none.
struct ZeroPointLayer {
  const char* name;
  const char* weight_shape;
  int axis; ///< of its scales
  const char* body;
  bool fails;
};
constexpr const char* kBehind = "\np = QuantizeLinear(m, s, v)\ny = DequantizeLinear(p, s, v)";
const ZeroPointLayer kZeroPointLayers[] = {
    {"matmul", "4, 4", 1, "y = MatMul(x, d)", true},
    {"matmul_of_codes", "4, 4", 1, "y = MatMul(e, d)", false},
    {"qlinear_matmul", "4, 4", 1, "m = MatMul(e, d)", false},
    {"before_codes", "4, 4", 1, "m = MatMul(x, d)", true},
    {"gemm", "4, 4", 1, "m = Gemm(e, d)", true},
    {"gather", "4, 4", 1, "const i: i64[1] = [1]\ny = Gather(d, i)", true},
    {"conv", "4, 4, 1, 1", 0, "i = Reshape(e, shape)\ny = Conv(i, d)", true},
    {"qlinear_conv", "4, 4, 1, 1", 0, "i = Reshape(e, shape)\nm = Conv(i, d)", false},
    {"conv_transpose", "4, 4, 1, 1", 1, "i = Reshape(e, shape)\nm = ConvTranspose(i, d)", true},
};

TEST(ExactMode, WantsAZeroPointForEachScale) {
  const Tensor x = Tensor::of<float>({2, 4}, {0.1F, 1.7F, -2.8F, 1.2F, -3.3F, 2.4F, 0, 3});
  const std::string folder = folder_with(x, "octet_exact_mode_zero_point");
  std::map<std::string, bool> fails;
  for (const ZeroPointLayer& layer : kZeroPointLayers)
    for (const bool full : {true, false})
      for (const bool several : {true, false}) {
        const std::string text = fmt::format(
            "const c: i8[{}] = [1, {}, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7]\n"
            "const v: u8[] = [128]\nconst shape: i64[4] = [1, 4, 2, 1]\n"
            "q = QuantizeLinear(x, s, v)\ne = DequantizeLinear(q, s, v)\n"
            "d = DequantizeLinear(c, {}) {{axis={}}}\n{}{}",
            layer.weight_shape, full ? 65 : 64, several ? "s4" : "s", layer.axis, layer.body,
            std::string_view(layer.body).find("\nm = ") == std::string_view::npos &&
                    !std::string_view(layer.body).starts_with("m = ")
                ? ""
                : kBehind);
        Graph graph = test::parse_bad_file({layer.name, text.c_str(), "", ""});
        ASSERT_TRUE(infer_types(graph).ok());
        const std::string name =
            fmt::format("{}_{}_{}", layer.name, full ? "full" : "narrow", several ? 4 : 1);
        SCOPED_TRACE(name);
        const bool expected = layer.fails && full && several;
        const auto found = check(graph, "onnxruntime").value();
        EXPECT_EQ(test::has_rule(found, "exact-mode-zero-point"), expected);
        EXPECT_FALSE(
            test::has_rule(check(graph, "onnxruntime-cuda").value(), "exact-mode-zero-point"));
        fails[name] = expected;
        ASSERT_TRUE(save_onnx(graph, folder + "/" + name + ".onnx").ok());
        if (!expected) continue;
        const Repaired repaired = repair(graph, "onnxruntime").value();
        for (const Change& change : repaired.changes)
          EXPECT_TRUE(change.exact) << change.rule;
        EXPECT_FALSE(test::has_rule(repaired.left, "exact-mode-zero-point"));
        const auto run = [&](const Graph& g) {
          return make_reference_executor(g).value()->run(std::vector{x}).value().at(0);
        };
        const Tensor was = run(graph), is = run(repaired.graph);
        EXPECT_TRUE(std::ranges::equal(was.bytes(), is.bytes()));
        fails[name + "_repaired"] = false;
        ASSERT_TRUE(save_onnx(repaired.graph, folder + "/" + name + "_repaired.onnx").ok());
      }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const auto& [name, expected] : fails) {
    const std::string reason = results.at(name).value("error", "");
    EXPECT_EQ(reason.find("zero_point must be null") != std::string::npos, expected)
        << name << ": " << reason;
    EXPECT_TRUE(expected || reason.empty()) << name << ": " << reason;
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet
