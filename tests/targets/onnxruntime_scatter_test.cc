// SPDX-License-Identifier: Apache-2.0
// ScatterElements and ScatterND by type and reduction: check says what ONNX Runtime says when it
// runs the file.
#include <filesystem>
#include <map>

#include "core/format.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/target.h"

namespace octet {
namespace {

constexpr DType kTypes[] = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                            DType::kBfloat16, DType::kInt8,    DType::kUint16,
                            DType::kInt64,    DType::kBool,    DType::kString};

/// By name.
std::map<std::string, Graph> scatters() {
  std::map<std::string, Graph> out;
  for (const char* op : {"ScatterElements", "ScatterND"})
    for (const char* reduction : {"none", "add", "mul", "max", "min"})
      for (const DType type : kTypes) {
        const int to = static_cast<int>(type);
        const std::string text = fmt::format(
            "graph g opset(\"\"=18)\ninput x: f32[2, 4]\nconst at: i64[1, 1] = [1]\n"
            "const rows: i64[1, 4] = [0, 1, 0, 1]\nconst head: i64[1] = [0]\n"
            "const tail: i64[1] = [1]\nrow = Slice(x, head, tail, head)\na = Cast(x) {{to={}}}\n"
            "u = Cast(row) {{to={}}}\nr = {}(a, {}, u) {{reduction=\"{}\"}}\n"
            "y = Cast(r) {{to=1}}\noutput y: f32[2, 4]\n",
            to, to, op, std::string_view(op) == "ScatterND" ? "at" : "rows", reduction);
        out.emplace(fmt::format("{}_{}_{}", op, reduction, name(type)), parse_graph(text).value());
      }
  return out;
}

TEST(OnnxRuntimeScatter, CheckGivesItsVerdictOnReductions) {
  const std::string folder = ::testing::TempDir() + "octet_scatter_reductions";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Tensor x = Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(write_tensor_proto({"x", x}, folder + "/x.pb").ok());
  const std::map<std::string, Graph> files = scatters();
  for (const auto& [name, graph] : files) {
    const Status saved = save_onnx(graph, folder + "/" + name + ".onnx");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  int refused = 0;
  for (const auto& [name, graph] : files) {
    const nlohmann::json& result = results.at(name);
    refused += result.contains("error") ? 1 : 0;
    EXPECT_EQ(accepted(check(graph, "onnxruntime").value()), !result.contains("error"))
        << name << ": " << result.value("error", "runs");
  }
  EXPECT_EQ(refused, 24);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet
