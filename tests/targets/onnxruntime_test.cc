// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime itself: written files load and run there, compute what octet's reference does, and
// every layer takes the form that explain predicts.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "quant/support.h"
#include "support/paths.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "octet/onnx.h"
#include "octet/target.h"

namespace octet {
namespace {

using test::cnn;
using test::cnn_data;

struct Model {
  std::string name;
  Graph graph;
  bool all_integer = false; ///< every product must be
};

Graph quantized(const Graph& graph, const QuantizeOptions& options) {
  return quantize(graph, plan_quantization(graph, cnn_data(), options).value()).value();
}

std::vector<Model> models() {
  std::vector<Model> out;
  const auto add = [&](const std::string& name, const CnnOptions& shape,
                       const QuantizeOptions& options) {
    const bool own = options.target == "onnxruntime" && options.mode == QuantMode::kStatic;
    out.push_back({name, quantized(cnn(shape), options), own});
  };
  for (const char* target : {"onnxruntime", "octet", "tensorrt-10", "tensorrt-8.6"}) {
    const std::string t = target;
    add(t + "_plain", {}, {.target = t});
    add(t + "_relu", {.hidden_relu = true, .batch_norm = true}, {.target = t});
    add(t + "_softmax", {}, {.target = t, .softmax = true});
    add(t + "_logits", {.softmax = false}, {.target = t, .per_channel = false});
    add(t + "_weights", {}, {.target = t, .mode = QuantMode::kWeightOnly});
  }
  add("symmetric", {.hidden_relu = true}, {.target = "onnxruntime", .symmetric = true});
  add("percentile", {}, {.target = "onnxruntime", .calibrator = Percentile{99.9}});
  add("dynamic", {}, {.target = "onnxruntime", .mode = QuantMode::kDynamic});
  add("dynamic_conv", {},
      {.target = "onnxruntime", .mode = QuantMode::kDynamic, .include = {"Conv", "Gemm"}});
  return out;
}

/// The last line that the script prints, as JSON.
nlohmann::json run_script(const std::string& folder) {
  const std::string command = std::string(test::source_dir()) + "/tools/setup-peers --run " +
                              test::source_dir() + "/tests/support/onnxruntime_forms.py " + folder;
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t n = 0; pipe != nullptr && (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, n);
  EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0) << "run tools/setup-peers once";
  return nlohmann::json::parse(text, nullptr, false);
}

/// How often each form is predicted, layers that only move codes and fused ones left out.
std::map<std::string, int> predicted(const Graph& graph) {
  std::map<std::string, int> out;
  const std::vector<LayerForm> layers = explain(graph, "onnxruntime").value();
  for (const LayerForm& layer : layers)
    if (layer.precision != "fused" && layer.precision != "codes") ++out[layer.form];
  return out;
}

const std::vector<std::string> kForms = {"QLinearConv",
                                         "FusedConv",
                                         "Conv",
                                         "QGemm",
                                         "FusedGemm",
                                         "Gemm",
                                         "QLinearMatMul",
                                         "MatMul",
                                         "MatMulIntegerToFloat",
                                         "QLinearAveragePool",
                                         "AveragePool",
                                         "QLinearSoftmax",
                                         "Softmax",
                                         "Relu"};

TEST(OnnxRuntime, RunsEveryFileInTheFormsThatExplainPredicts) {
  const std::string folder = ::testing::TempDir() + "octet_onnxruntime_forms";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Tensor x = test::random_tensor({64, 1, 28, 28}, 5, -0.8F, 2.0F);
  ASSERT_TRUE(write_tensor_proto({"x", x}, folder + "/x.pb").ok());
  const std::vector<Model> all = models();
  for (const Model& model : all) {
    const Status saved = save_onnx(model.graph, folder + "/" + model.name + ".onnx");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
  }
  const nlohmann::json results = run_script(folder);
  ASSERT_TRUE(results.is_object());
  for (const Model& model : all) {
    SCOPED_TRACE(model.name);
    const nlohmann::json& result = results.at(model.name);
    ASSERT_FALSE(result.contains("error")) << result.at("error");

    const Tensor y = test::run_reference(model.graph, x);
    const std::vector<float> theirs = result.at("output").get<std::vector<float>>();
    ASSERT_EQ(static_cast<int64_t>(theirs.size()), y.count());
    EXPECT_GT(test::sqnr(y, Tensor::of<float>(y.shape(), std::span<const float>(theirs))), 35);

    if (model.name.find("dynamic") != std::string::npos) continue; // forms of Q/DQ only
    std::map<std::string, int> expected = predicted(model.graph);
    for (const std::string& form : kForms)
      EXPECT_EQ(result.at("ops").value(form, 0), expected[form]) << form;
    if (!model.all_integer) continue;
    for (const char* form : {"Conv", "FusedConv", "Gemm", "FusedGemm", "AveragePool"})
      EXPECT_EQ(result.at("ops").value(form, 0), 0) << form;
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet
