// SPDX-License-Identifier: Apache-2.0
// ONNX's checker and ONNX Runtime take what convert_opset and convert_precision write, and ONNX
// Runtime computes what octet's reference does.
#include <filesystem>

#include "ops/infer.h"
#include "quant/support.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/export.h"
#include "octet/onnx.h"

namespace octet {
namespace {

using test::random_tensor;

Tensor exported_input() {
  return random_tensor({2, 4}, 9, -2, 2);
}

Graph transformer() {
  Graph g = parse_graph(R"(graph g opset(""=20)
input x: f32[2, 4]
const gain: f32[4] = [1.5, 0.5, -1, 2]
const bias: f32[4] = [0.1, 0.2, -0.3, 0]
const w: f32[4, 4] = [1, 2, 3, 4, 5, 6, -7, 8, 9, -1, 2, 3, 4, 5, 6, 7]
const mask: f32[4] = [0, 0, -3.4e38, 0]
const axes: i64[1] = [-1]
a = LayerNormalization(x, gain, bias) {axis=-1, epsilon=1e-5} "norm"
p = MatMul(a, w) {} "product"
q = Add(p, mask) {} "masked"
r = Softmax(q) {axis=-1} "softmax"
b = Gelu(r) {} "gelu"
c = Gelu(b) {approximate="tanh"} "gelu_new"
e = Mish(c) "mish"
f = HardSwish(e) "swish"
m = ReduceMean(f, axes) {keepdims=1} "mean"
y = Sub(f, m) "centered"
output y: f32[2, 4]
)")
                .value();
  g.info.ir_version = 9;
  EXPECT_TRUE(infer_types(g).ok());
  return g;
}

struct File {
  std::string name;
  Graph graph;
  double tolerance;
};

std::vector<File> files() {
  std::vector<File> out;
  for (int64_t version = 13; version <= 23; ++version) {
    Graph g = transformer();
    EXPECT_TRUE(convert_opset(g, version).ok());
    out.push_back({"opset" + std::to_string(version), g, 1e-5});
  }
  for (const int64_t version : {17, 20}) {
    Graph g = transformer();
    EXPECT_TRUE(convert_opset(g, version).ok());
    EXPECT_TRUE(convert_precision(g, {}).ok());
    out.push_back({"half" + std::to_string(version), g, 4e-3});
  }
  return out;
}

TEST(ExportPeer, OnnxRuntimeRunsWhatIsWritten) {
  const std::string folder = ::testing::TempDir() + "octet_export";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_tensor_proto({"x", exported_input()}, folder + "/x.pb").ok());
  const std::vector<File> all = files();
  for (const File& file : all)
    ASSERT_TRUE(save_onnx(file.graph, folder + "/" + file.name + ".onnx").ok());
  const Tensor want = test::run_reference(transformer(), exported_input());
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const File& file : all) {
    SCOPED_TRACE(file.name);
    const nlohmann::json& result = results.at(file.name);
    ASSERT_FALSE(result.contains("error")) << result.value("error", "");
    const auto y = result.at("output").get<std::vector<double>>();
    ASSERT_EQ(static_cast<int64_t>(y.size()), want.count());
    for (int64_t i = 0; i < want.count(); ++i)
      EXPECT_NEAR(y[static_cast<size_t>(i)], want.at(i), file.tolerance) << "element " << i;
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet
