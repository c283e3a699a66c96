// SPDX-License-Identifier: Apache-2.0
// Weights that several bodies capture: repair rewrites them in each body, and keeps them once.
#include <filesystem>

#include "graph/sizes.h"
#include "graph/verify.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/repair.h"

namespace octet {
namespace {

constexpr int kWeightRows = 4, kWeightColumns = 400; ///< of the weights: above 1 KiB

std::string shared_weights(const std::string& name, int seed) {
  std::string out = "const " + name + ": u8[4, 400] = [";
  for (int i = 0; i < kWeightRows * kWeightColumns; ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(1 + (i * 37 + seed) % 255);
  return out + "]\n";
}

/// A body that captures weights with a zero point, which TensorRT does not take.
std::string shared_product(const std::string& name, const std::string& result) {
  return "  capture x: f32[2, 4]\n  capture " + name +
         ": u8[4, 400]\n  capture ws: f32[]\n  capture wz: u8[]\n  wd" + result +
         " = DequantizeLinear(" + name + ", ws, wz)\n  " + result + " = MatMul(x, wd" + result +
         ")\n";
}

Graph shared_model(const std::string& nodes, const std::string& output, double threshold) {
  return parse_graph("graph g opset(\"\"=17)\ninput x: f32[2, 4]\n" + shared_weights("w", 11) +
                     shared_weights("v", 5) +
                     "const ws: f32[] = [0.01]\nconst wz: u8[] = [128]\n"
                     "const threshold: f32[] = [" +
                     std::to_string(threshold) +
                     "]\nm = ReduceMax(x) {keepdims=0}\npick = Greater(m, threshold)\n" + nodes +
                     "output " + output + "\n")
      .value();
}

std::string shared_choice(const std::string& name, const std::string& a, const std::string& b) {
  return name + " = If(pick) {then_branch={ graph a\n" + a + "  output " + name +
         "t: f32[2, 400]\n}, else_branch={ graph e\n" + b + "  output " + name +
         "u: f32[2, 400]\n}} \"" + name + "\"\n";
}

std::vector<double> shared_result(const Graph& graph) {
  const std::vector<Tensor> x = {
      Tensor::of<float>({2, 4}, {0.12F, 12.73F, -12.84F, 1.23F, -6.33F, 5.44F, 0.04F, -3.01F})};
  return make_reference_executor(graph).value()->run(x).value().at(0).to_doubles().value();
}

void expect_once(const std::string& nodes, const std::string& output, int64_t copies) {
  for (const double threshold : {0.0, 100.0}) {
    const Graph graph = shared_model(nodes, output, threshold);
    const Repaired repaired = repair(graph, "tensorrt-10").value();
    EXPECT_TRUE(accepted(repaired.left));
    ASSERT_FALSE(repaired.changes.empty());
    EXPECT_TRUE(verify(repaired.graph).ok());
    const int64_t bytes = constant_bytes(repaired.graph);
    EXPECT_GE(bytes, copies * kWeightRows * kWeightColumns);
    EXPECT_LT(bytes, (copies + 1) * kWeightRows * kWeightColumns);
    const std::vector<double> was = shared_result(graph);
    EXPECT_EQ(was, shared_result(repaired.graph));
    // As a file, which knows captures by their names only.
    const std::string path = ::testing::TempDir() + "octet_share_constants.onnx";
    std::filesystem::remove(path);
    ASSERT_TRUE(save_onnx(repaired.graph, path).ok());
    EXPECT_EQ(was, shared_result(load_onnx(path).value()));
  }
}

TEST(ShareConstants, OfTwoBranches) {
  expect_once(shared_choice("y", shared_product("w", "yt"), shared_product("w", "yu")),
              "y: f32[2, 400]", 1);
}

TEST(ShareConstants, NotOfDifferentWeights) {
  expect_once(shared_choice("y", shared_product("w", "yt"), shared_product("v", "yu")),
              "y: f32[2, 400]", 2);
}

TEST(ShareConstants, OfTwoNodesAndOfTheGraphAround) {
  expect_once(shared_choice("a", shared_product("w", "at"), shared_product("w", "au")) +
                  shared_choice("b", shared_product("w", "bt"), shared_product("v", "bu")) +
                  "d = DequantizeLinear(w, ws, wz)\nc = MatMul(x, d)\ns = Add(a, b)\n"
                  "y = Add(s, c)\n",
              "y: f32[2, 400]", 2);
}

TEST(ShareConstants, OfABodyInABody) {
  const std::string outer = "  capture pick: bool[]\n  capture x: f32[2, 4]\n"
                            "  capture w: u8[4, 400]\n  capture ws: f32[]\n  capture wz: u8[]\n"
                            "  yt = If(pick) {then_branch={ graph aa\n" +
                            shared_product("w", "tt") +
                            "  output tt: f32[2, 400]\n}, else_branch={ graph ae\n" +
                            shared_product("w", "te") + "  output te: f32[2, 400]\n}} \"inner\"\n";
  expect_once(shared_choice("y", outer, shared_product("w", "yu")), "y: f32[2, 400]", 1);
}

} // namespace
} // namespace octet
