// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime runs every bad file before and after its repair: what it computes changes by no more
// than the repair states.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "ops/infer.h"
#include "targets/bad_files.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"
#include "octet/repair.h"

namespace octet {
namespace {

using test::bad_files;
using test::BadFile;

Tensor peer_input() {
  return Tensor::of<float>({2, 4}, {0.1F, 12.75F, -12.85F, 1.23F, -6.35F, 25.4F, 0.05F, -1000});
}

std::function<CalibrationSource()> one_example() {
  return [] {
    auto done = std::make_shared<bool>(false);
    return [done]() -> Result<std::optional<std::vector<Tensor>>> {
      if (*done) return std::optional<std::vector<Tensor>>();
      *done = true;
      return std::optional(std::vector<Tensor>{peer_input()});
    };
  };
}

/// ONNX wants the outputs' shapes.
void save(Graph graph, const std::string& path) {
  ASSERT_TRUE(infer_types(graph).ok());
  const Status saved = save_onnx(graph, path);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
}

/// Files that ONNX Runtime does not take as they came: types that ONNX forbids, or a file whose
/// output is no number.
bool loads_before(const BadFile& file) {
  return file.valid_before && file.error >= 0;
}

/// Files that are sound ONNX and that it refuses all the same: it wants as many zero points as
/// scales, its ConvInteger one zero point, its own step from int8 to uint8 forgets output_dtype,
/// and the operators on orders of cublasLt run on CUDA only.
bool refused_there(const BadFile& file) {
  const std::string name = file.name;
  return name.starts_with("ordered_") || name == "zero_points_fewer_than_scales" ||
         name == "conv_integer_zero_point_per_channel" || name == "output_dtype";
}

double largest(const std::vector<double>& values) {
  double out = 0;
  for (const double v : values)
    out = std::max(out, std::abs(v));
  return out;
}

TEST(RepairPeer, OnnxRuntimeComputesTheSameBeforeAndAfter) {
  const std::string folder = ::testing::TempDir() + "octet_repair";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_tensor_proto({"x", peer_input()}, folder + "/x.pb").ok());
  for (const BadFile& file : bad_files()) {
    SCOPED_TRACE(file.name);
    if (*file.repair == 0) continue; // no model that could be repaired
    const Graph graph = test::parse_bad_file(file);
    RepairOptions options;
    options.zero_points = file.zero_points;
    if (file.needs_data) options.data = one_example();
    const Repaired repaired = repair(graph, file.target, options).value();
    if (loads_before(file)) save(graph, folder + "/" + file.name + ".before.onnx");
    save(repaired.graph, folder + "/" + file.name + ".after.onnx");
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const BadFile& file : bad_files()) {
    SCOPED_TRACE(file.name);
    if (*file.repair == 0) continue;
    const nlohmann::json& after = results.at(std::string(file.name) + ".after");
    EXPECT_FALSE(after.contains("error")) << after.value("error", "");
    if (!loads_before(file)) continue;
    const nlohmann::json& before = results.at(std::string(file.name) + ".before");
    EXPECT_EQ(before.contains("error"), refused_there(file)) << before.value("error", "");
    if (before.contains("error") || after.contains("error")) continue;
    const auto was = before.at("output").get<std::vector<double>>();
    const auto is = after.at("output").get<std::vector<double>>();
    ASSERT_EQ(was.size(), is.size());
    // Its kernels sum in another order in float than in integers.
    const double rounding = 1e-5 * (1 + largest(was));
    for (size_t i = 0; i < was.size(); ++i)
      EXPECT_NEAR(was[i], is[i], file.error + rounding) << "element " << i;
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet
