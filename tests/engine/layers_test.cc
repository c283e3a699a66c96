// SPDX-License-Identifier: Apache-2.0
// Layers and times of engines as TensorRT 8.4 to 11 write them, and texts that are neither.
#include <string>

#include <gtest/gtest.h>

#include "octet/engine_layers.h"

namespace octet {
namespace {

using Names = std::vector<std::string>;

std::vector<EngineLayer> parse(std::string_view json) {
  Result<std::vector<EngineLayer>> layers = parse_engine_layers(json);
  EXPECT_TRUE(layers.ok()) << layers.error().text();
  return layers.ok() ? *layers : std::vector<EngineLayer>{};
}

/// A layer of one input and one output of these formats.
std::string layer(const std::string& name, const std::string& rest) {
  return R"({"Layers": [{"Name": ")" + name + "\", " + rest + "}], \"Bindings\": [\"x\", \"y\"]}";
}

std::string tensors(const std::string& in, const std::string& out) {
  return R"("Inputs": [{"Name": "a", "Location": "Device", "Dimensions": [1, 8], "Format/Datatype": ")" +
         in + R"("}], "Outputs": [{"Name": "b", "Location": "Device", "Dimensions": [1, 8], )" +
         R"("Format/Datatype": ")" + out + "\"}]";
}

TEST(EngineLayers, NodesStandInTheNameBefore86) {
  const auto layers = parse(
      layer("conv1.weight + QuantizeLinear_7 + Conv_9 + PWN(PWN(Clip_16), Mul_17) || Conv_18",
            R"("LayerType": "CaskConvolution", "ParameterType": "Convolution", )" +
                tensors("Four wide channel vectorized row major Int8 format",
                        "Thirty-two wide channel vectorized row major FP16 format") +
                R"(, "Weights": {"Type": "Int8", "Count": 9408}, "TacticName": "sm80_i8i8")"));
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].origin,
            (Names{"conv1.weight", "QuantizeLinear_7", "Conv_9", "Clip_16", "Mul_17", "Conv_18"}));
  EXPECT_EQ(layers[0].precision, "int8");
  EXPECT_EQ(layers[0].outputs.at(0).type, "fp16");
  EXPECT_EQ(layers[0].type, "CaskConvolution");
  EXPECT_EQ(layers[0].tactic, "sm80_i8i8");
  EXPECT_EQ(layers[0].work, EngineWork::kComputes);
}

TEST(EngineLayers, ReformatsMoveAndRegionsTellTheirEnds) {
  const auto copy = parse(layer("Reformatting CopyNode for Input Tensor 0 to Conv_9",
                                R"("LayerType": "Reformat", "Origin": "REFORMAT", )" +
                                    tensors("Row major linear FP32", "Row major Int8 format")));
  EXPECT_EQ(copy.at(0).work, EngineWork::kMoves);
  EXPECT_TRUE(copy.at(0).origin.empty());
  const auto region = parse(layer("{ForeignNode[embed.weight...MatMul_40]}",
                                  R"("LayerType": "Myelin", )" +
                                      tensors("Row major linear FP32", "Row major linear FP32")));
  EXPECT_EQ(region.at(0).work, EngineWork::kRegion);
  EXPECT_EQ(region.at(0).origin, (Names{"embed.weight", "MatMul_40"}));
  EXPECT_TRUE(region.at(0).precision.empty()); // its inside may be in any
}

TEST(EngineLayers, MetadataNamesNodesFrom86On) {
  // The separators are control characters, raw as TensorRT writes them or escaped.
  for (const std::string separator : {"\x1e", "\x1f", "\\u001e", "\\u001F"}) {
    const auto layers = parse(
        layer("__myl_FcCastAddErf_myl0_5",
              R"("LayerType": "fusion", "Metadata": "[ONNX Layer: /a/fc[0]/MatMul])" + separator +
                  R"([ONNX Layer: gelu | call_2 (Gelu_fn) | main (Block)]", "StreamId": 0, )" +
                  tensors("Int8", "Half")));
    ASSERT_EQ(layers.size(), 1U) << separator;
    EXPECT_EQ(layers[0].origin, (Names{"/a/fc[0]/MatMul", "gelu"}));
    EXPECT_EQ(layers[0].precision, "int8");
  }
}

TEST(EngineLayers, TypesStandApartFrom11On) {
  const auto layers = parse(R"json({"Layers": [{"Name": "k", "LayerType": "gemm",
      "Inputs": [{"Name": "mask", "Datatype": "Bool", "Format": "Row major linear"},
                 {"Name": "x", "Datatype": "FP8", "Format": "Row major linear FP32 (kLINEAR)"}],
      "Outputs": [{"Name": "y", "Datatype": "BFloat16", "Format": "Row major linear"}],
      "Metadata": "[ONNX Layer: fc]"}],
      "I/O Tensors": [{"Name": "x", "IOMode": "Input", "DataType": "Float"}]})json");
  EXPECT_EQ(layers.at(0).inputs.at(0).type, "bool");
  EXPECT_EQ(layers.at(0).precision, "fp8"); // of the first input that holds values
  EXPECT_EQ(layers.at(0).outputs.at(0).type, "bf16");
}

TEST(EngineLayers, EveryTypeThatTensorRtNames) {
  const std::pair<const char*, const char*> types[] = {
      {"Row major linear FP32", "fp32"},
      {"Float", "fp32"},
      {"Channel major FP16 format where channel % 8 == 0", "fp16"},
      {"Half", "fp16"},
      {"Row major linear BFloat16 format", "bf16"},
      {"Channel major INT8 format where column stride % 32 == 0", "int8"},
      {"Row major linear UInt8 format", "uint8"},
      {"Row major linear FP8 format", "fp8"},
      {"Row major linear FP4 format (kLINEAR)", "fp4"},
      {"Int4", "int4"},
      {"Row major linear Int32", "int32"},
      {"Row major linear Int64 format", "int64"},
      {"Row major linear BOOL", "bool"},
      {"N/A due to dynamic shapes", ""}};
  for (const auto& [words, type] : types)
    EXPECT_EQ(parse(layer("l", tensors(words, words))).at(0).inputs.at(0).type, type) << words;
  // A layer that computes with integers only is in none of the precisions that are predicted.
  EXPECT_EQ(parse(layer("l", tensors("Int64", "Bool"))).at(0).precision, "int64");
}

TEST(EngineLayers, NamesAloneWithoutDetails) {
  const auto layers = parse(R"({"Layers": ["Conv_0 + Relu_1", "Conv_0 + Relu_1 [profile 1]"]})");
  ASSERT_EQ(layers.size(), 1U); // a later profile repeats the first one
  EXPECT_EQ(layers[0].origin, (Names{"Conv_0", "Relu_1"}));
  EXPECT_TRUE(layers[0].precision.empty());
}

TEST(EngineLayers, WhatIsNoListOfLayersIsOneClearError) {
  const std::pair<const char*, const char*> bad[] = {
      {"", "not valid JSON"},
      {"{\"Layers\": [", "not valid JSON"},
      {"{\"Layers\": [\"\xff\"]}", "not valid JSON"},
      {"7", "without a list \"Layers\""},
      {"{}", "without a list \"Layers\""},
      {R"({"Layers": {}})", "without a list \"Layers\""},
      {R"({"Layers": ["a", 7]})", "layer 1 of the engine's layers is neither an object nor a name"},
      {R"({"Layers": [{"Name": 3}]})", "layer 0 of the engine's layers has no \"Name\""},
      {R"([{"LayerType": "gemm"}])", "layer 0 of the engine's layers has no \"Name\""}};
  for (const auto& [text, message] : bad) {
    const auto layers = parse_engine_layers(text);
    ASSERT_FALSE(layers.ok()) << text;
    EXPECT_NE(layers.error().text().find(message), std::string::npos) << layers.error().text();
    EXPECT_EQ(layers.error().text().find('\n'), std::string::npos);
  }
}

TEST(EngineLayers, TimesOfTrtexec) {
  const auto times = parse_engine_profile(R"([
    { "count" : 200 }
  , { "name" : "Conv_0 + Relu_1", "timeMs" : 12, "averageMs" : 0.06, "medianMs" : 0.05, "percentage" : 60 }
  , { "name" : "fc", "timeMs" : 8, "averageMs" : 0.04, "medianMs" : 0.04, "percentage" : 40 }
  ])");
  ASSERT_TRUE(times.ok()) << times.error().text();
  ASSERT_EQ(times->size(), 2U);
  EXPECT_EQ((*times)[0].layer, "Conv_0 + Relu_1");
  EXPECT_DOUBLE_EQ((*times)[1].ms, 0.04);
  for (const char* bad :
       {"", "{}", "[7]", R"([{"name": "a"}])", R"([{"averageMs": 1}])",
        R"([{"name": "a", "averageMs": "1"}])", R"([{"name": "a", "averageMs": -1}])"})
    EXPECT_FALSE(parse_engine_profile(bad).ok()) << bad;
}

} // namespace
} // namespace octet
